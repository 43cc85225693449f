/* What a trace holds: who took what, how stale updates were, what workers did with their time. All
 * of it is worked out from the logs; header and trailer are shown as they are. */
#include "cli/inspect_trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/printable.h"
#include "checkpoint/safetensors.h"
#include "hogring/replay.h"
#include "report/json_value.h"
#include "schedule/trace.h"
#include "strategy/hogwild_recorded.h"
#include "strategy/server.h"

enum { KINDS = 8 };

struct worker_view {
    uint64_t steps, clock;      /* gradients; pushes in the log at hand */
    uint64_t read;              /* version that it read last, of the shard at hand */
    double gradients_s;         /* they took, loading their batches included; from the logs */
    struct hr_worker_time time; /* all it did with the run's time; from the trailer */
    uint64_t stale_sum, stale_max;
    uint64_t *staleness; /* (room) of each push, the largest over the shards; owned */
    size_t room;
};

struct view {
    const char *path;
    struct hr_trace trace;
    struct hr_replay *replay;
    json_t *trailer;
    bool hogwild;
    bool counts; /* each push is an update: staleness can be worked out */
    size_t nworkers;
    struct worker_view *worker; /* (nworkers) owned */
    uint64_t (*kinds)[KINDS];   /* (owners) entries by kind; owned */
    uint64_t pushes, differ;    /* in all; whose recorded staleness is another */
    uint64_t histogram[HR_RESULT_STALENESS_BUCKETS];
    double seconds; /* of the recorded run */
    bool timed;     /* the trailer has the workers' times */
};

bool hr_is_trace(const char *path)
{
    char magic[8] = "";
    size_t bytes;
    int fd;
    if (hr_file_open(path, &fd, &bytes) != HR_OK) /* a FIFO for one, which would block */
        return false;
    const bool is = bytes >= sizeof magic &&
                    hr_file_read_at(fd, path, 0, magic, sizeof magic) == HR_OK &&
                    !memcmp(magic, "HOGTRACE", sizeof magic);
    close(fd);
    return is;
}

/* --- from the logs --- */

static const char *kind_name(const struct view *view, size_t kind)
{
    return view->hogwild ? hr_hogwild_input_name((uint32_t)kind)
                         : hr_server_request_name((uint32_t)(HR_PULL + kind));
}

static size_t kind_of(const struct view *view, const struct hr_trace_entry *entry)
{
    const size_t kind = view->hogwild ? entry->kind : entry->kind - HR_PULL;
    return kind < KINDS ? kind : KINDS - 1;
}

static enum hr_status add_push(struct worker_view *worker, uint64_t staleness)
{
    if (worker->clock == worker->room) {
        const size_t room = 2 * worker->room + 64;
        uint64_t *more = realloc(worker->staleness, room * sizeof *more);
        if (!more)
            return hr_fail(HR_E_NOMEM, "no memory for the staleness of %zu updates", room);
        memset(more + worker->room, 0, (room - worker->room) * sizeof *more);
        worker->staleness = more;
        worker->room = room;
    }
    uint64_t *largest = &worker->staleness[worker->clock++];
    *largest = staleness > *largest ? staleness : *largest;
    return HR_OK;
}

/* A shard's input. Its version grows with each push, and a pull reads it. */
static enum hr_status walk_request(struct view *view, const struct hr_trace_entry *entry,
                                   uint64_t *version, bool first)
{
    struct worker_view *worker = &view->worker[entry->rank];
    if (entry->kind == HR_PULL)
        worker->read = *version;
    if (entry->kind != HR_PUSH && entry->kind != HR_PUSHPULL)
        return HR_OK;
    const uint64_t staleness = view->counts ? *version - worker->read : entry->value;
    view->differ += staleness != entry->value;
    ++*version;
    if (first) {
        worker->steps++;
        worker->gradients_s += (double)entry->duration_ns / 1e9;
    }
    return add_push(worker, staleness);
}

static enum hr_status walk_hogwild(struct view *view, const struct hr_trace_entry *entry)
{
    struct worker_view *worker = &view->worker[entry->rank];
    if (entry->kind != HR_HOGWILD_STALENESS)
        return HR_OK;
    worker->steps++;
    worker->gradients_s += (double)entry->duration_ns / 1e9;
    return add_push(worker, entry->value);
}

static enum hr_status walk_owner(struct view *view, size_t owner)
{
    struct hr_trace_cursor cursor;
    enum hr_status status = hr_trace_cursor_open(&cursor, &view->trace, owner);
    uint64_t version = 0;
    for (size_t w = 0; w < view->nworkers && !view->hogwild; w++)
        view->worker[w].clock = view->worker[w].read = 0;
    const struct hr_trace_entry *entry;
    while (status == HR_OK && (entry = hr_trace_peek(&cursor))) {
        view->kinds[owner][kind_of(view, entry)]++;
        status = view->hogwild ? walk_hogwild(view, entry)
                               : walk_request(view, entry, &version, owner == 0);
        hr_trace_next(&cursor);
    }
    hr_trace_cursor_close(&cursor);
    return status;
}

static void sum_up(struct view *view)
{
    for (size_t w = 0; w < view->nworkers; w++) {
        struct worker_view *worker = &view->worker[w];
        for (size_t i = 0; i < worker->clock; i++) {
            const uint64_t staleness = worker->staleness[i], last = HR_RESULT_STALENESS_BUCKETS - 1;
            worker->stale_sum += staleness;
            worker->stale_max = staleness > worker->stale_max ? staleness : worker->stale_max;
            view->histogram[staleness < last ? staleness : last]++;
            view->pushes++;
        }
    }
}

/* Traces of runs that one process played have none, nor have older ones. */
static void take_times(struct view *view)
{
    const json_t *times = json_object_get(view->trailer, "time");
    view->timed = view->nworkers > 0 && json_array_size(times) == view->nworkers;
    for (size_t w = 0; view->timed && w < view->nworkers; w++) {
        const json_t *time = json_array_get(times, w);
        view->worker[w].time = (struct hr_worker_time){
            .load_s = json_number_value(json_object_get(time, "load")),
            .compute_s = json_number_value(json_object_get(time, "compute")),
            .communicate_s = json_number_value(json_object_get(time, "communicate")),
            .wait_s = json_number_value(json_object_get(time, "wait"))};
    }
}

static enum hr_status look(struct view *view, const char *path)
{
    view->path = path;
    HR_TRY(hr_replay_open(path, &view->replay));
    HR_TRY(hr_trace_open(path, &view->trace));
    const struct hr_train_options *options = &view->replay->options;
    view->hogwild = !strcmp(options->strategy, "hogwild");
    view->counts = !strcmp(options->strategy, "ps-async") ||
                   (!strcmp(options->strategy, "ssp") && options->staleness > 0);
    view->trailer = json_loads(view->trace.trailer, 0, NULL);
    view->seconds = json_number_value(json_object_get(view->trailer, "seconds"));
    for (size_t i = 0; i < view->trace.nowners; i++)
        if (view->trace.owner[i].nranks > view->nworkers)
            view->nworkers = view->trace.owner[i].nranks;
    view->worker = calloc(view->nworkers, sizeof *view->worker);
    view->kinds = calloc(view->trace.nowners, sizeof *view->kinds);
    if (!view->worker || !view->kinds)
        return hr_fail(HR_E_NOMEM, "no memory to look at %s", path);
    for (size_t i = 0; i < view->trace.nowners; i++)
        HR_TRY(walk_owner(view, i));
    sum_up(view);
    take_times(view);
    return HR_OK;
}

static void forget(struct view *view)
{
    for (size_t w = 0; view->worker && w < view->nworkers; w++)
        free(view->worker[w].staleness);
    free(view->worker);
    free(view->kinds);
    json_decref(view->trailer);
    hr_trace_fini(&view->trace);
    hr_replay_close(view->replay);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* --- for people --- */

static void print_owners(const struct view *view)
{
    for (size_t i = 0; i < view->trace.nowners; i++) {
        printf("  %s %-4zu %10" PRIu64 " entries, %zu bytes:", view->hogwild ? "worker" : "owner",
               i, view->trace.owner[i].entries, view->trace.owner[i].bytes);
        for (size_t k = 0; k < KINDS; k++)
            if (view->kinds[i][k])
                printf(" %" PRIu64 " %s", view->kinds[i][k], kind_name(view, k));
        printf("\n");
    }
}

/* As in the table of a run: load / compute / communicate / wait, in percent of its seconds. */
static void print_time(const struct view *view, const struct hr_worker_time *time)
{
    const double percent = 100 / view->seconds;
    char text[80] = "-";
    if (view->timed && isfinite(percent))
        snprintf(text, sizeof text, "%.0f/%.0f/%.0f/%.0f", percent * time->load_s,
                 percent * time->compute_s, percent * time->communicate_s, percent * time->wait_s);
    printf(" %15s", text);
}

static void print_workers(const struct view *view)
{
    printf("  worker  gradients  ms each  time %% l/c/c/w  staleness mean/max\n");
    for (size_t w = 0; w < view->nworkers; w++) {
        const struct worker_view *worker = &view->worker[w];
        printf("  %6zu %10" PRIu64 " %8.3f", w, worker->steps,
               share(1e3 * worker->gradients_s, (double)worker->steps));
        print_time(view, &worker->time);
        printf(" %15.2f/%" PRIu64 "\n", share((double)worker->stale_sum, (double)worker->clock),
               worker->stale_max);
    }
    printf("  l/c/c/w: load / compute / communicate / wait, of the worker's time\n");
}

static void print_histogram(const struct view *view)
{
    printf("  staleness:");
    for (size_t i = 0; i < HR_RESULT_STALENESS_BUCKETS; i++)
        if (view->histogram[i])
            printf(" %zu: %" PRIu64, i, view->histogram[i]);
    printf("\n");
    if (view->differ)
        printf("  staleness of %" PRIu64 " updates is recorded otherwise than their order says\n",
               view->differ);
}

static void print_view(const struct view *view)
{
    const struct hr_replay *replay = view->replay;
    printf("%s: trace of a run, digest verified\n", view->path);
    printf("  %s, %zu worker%s, model \"%s\", data %s, seed %" PRIu64 ", %s kernels, %s\n",
           hr_printable(replay->options.strategy).text, view->nworkers,
           view->nworkers == 1 ? "" : "s", hr_printable(replay->options.model).text,
           hr_printable(replay->data).text, replay->options.seed,
           hr_printable(replay->options.kernels).text, hr_printable(replay->options.launch).text);
    printf("  ended at step %" PRIu64 " after %.2f s with weights %s\n", replay->end, view->seconds,
           hr_printable(replay->weights_digest).text);
    print_owners(view);
    if (view->pushes == 0)
        return;
    print_workers(view);
    print_histogram(view);
}

/* --- for programs --- */

static json_t *owners_json(const struct view *view)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->trace.nowners; i++) {
        json_t *kinds = json_object();
        for (size_t k = 0; k < KINDS; k++)
            if (view->kinds[i][k])
                json_object_set_new(kinds, kind_name(view, k), hr_json_count(view->kinds[i][k]));
        json_array_append_new(array,
                              json_pack("{so so so so}", "owner", hr_json_count(i), "entries",
                                        hr_json_count(view->trace.owner[i].entries), "bytes",
                                        hr_json_count(view->trace.owner[i].bytes), "kinds", kinds));
    }
    return array;
}

static json_t *seconds_json(const struct view *view, double seconds)
{
    return view->timed ? hr_json_number(seconds) : json_null();
}

static json_t *workers_json(const struct view *view)
{
    json_t *array = json_array();
    for (size_t w = 0; w < view->nworkers; w++) {
        const struct worker_view *worker = &view->worker[w];
        const struct hr_worker_time *time = &worker->time;
        json_array_append_new(
            array,
            json_pack(
                "{so so so so so so so so so so}", "worker", hr_json_count(w), "gradients",
                hr_json_count(worker->steps), "gradients_s", hr_json_number(worker->gradients_s),
                "load_s", seconds_json(view, time->load_s), "compute_s",
                seconds_json(view, time->compute_s), "communicate_s",
                seconds_json(view, time->communicate_s), "wait_s", seconds_json(view, time->wait_s),
                "computing",
                view->timed ? hr_json_number(share(time->compute_s, view->seconds)) : json_null(),
                "staleness_mean",
                hr_json_number(share((double)worker->stale_sum, (double)worker->clock)),
                "staleness_max", hr_json_count(worker->stale_max)));
    }
    return array;
}

static json_t *histogram_json(const struct view *view)
{
    json_t *array = json_array();
    size_t n = HR_RESULT_STALENESS_BUCKETS;
    while (n > 0 && view->histogram[n - 1] == 0)
        n--;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, hr_json_count(view->histogram[i]));
    return array;
}

static json_t *view_json(const struct view *view)
{
    return json_pack("{so so so so so so so so}", "trace", hr_json_text(view->path), "header",
                     json_loads(view->trace.header, 0, NULL), "trailer", json_incref(view->trailer),
                     "owners", owners_json(view), "workers", workers_json(view), "updates",
                     hr_json_count(view->pushes), "staleness", histogram_json(view), "differ",
                     hr_json_count(view->differ));
}

enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path)
{
    struct view view = {0};
    enum hr_status status = look(&view, path);
    if (status == HR_OK && strcmp(cli->json, "-") != 0)
        print_view(&view);
    if (status == HR_OK && cli->json[0])
        status = hr_json_write(cli->json, view_json(&view));
    forget(&view);
    return status;
}
