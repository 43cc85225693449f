/* What a trace tells of its run: who took what, how stale updates were, what the
 * workers did with their time.
 *
 * Source:    the logs; where they are silent, the trailer, which the run itself wrote: the workers'
 *            times, and the number of updates.
 * Losses:    where all begin anew, versions are counted anew, and what they took back does not
 *            count; whose gradients came too late, the log alone does not tell when there are fewer
 *            workers.
 * Logs:      allreduce and local-sgd have none: replicas go in step, no order decides anything. */

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "drive/record.h"
#include "hogring/replay.h"
#include "json/value.h"
#include "options/train_options.h"
#include "server/server.h"
#include "strategies/strategies.h"
#include "terminal/grid.h"
#include "trace/trace.h"

enum { HR_TRACE_KINDS = 13 };

struct hr_worker_view {
    uint64_t gradients;         /* it computed */
    uint64_t dropped;           /* of these, those that came too late */
    uint64_t exchanges;         /* with the center */
    double gradients_s;         /* they took, loading their batches included */
    struct hr_worker_time time; /* all it did with the run's time; from the trailer */
    uint64_t clock;             /* pushes and exchanges that count, in the log at hand */
    uint64_t read, index;       /* the version, and the batch, of its last pull there */
    uint64_t stale_sum, stale_max;
    uint64_t *staleness; /* (room) of each that counts, the largest over the shards; owned */
    size_t room;
};

struct hr_trace_view {
    const char *path;
    struct hr_trace trace;
    struct hr_replay *replay;
    json_t *trailer;
    bool logged;    /* there are logs that say what workers did */
    bool hogwild;   /* they are the workers' own */
    bool exchanges; /* workers update replicas, and exchange with a center */
    bool drops;     /* gradients may come too late */
    bool counts;    /* each push is an update: staleness can be worked out */
    bool timed;     /* the trailer has the workers' times */
    size_t nowners; /* of inputs */
    struct hr_membership
        membership; /* of a run that outlives losses: what its launcher noted; owned */
    size_t nworkers;
    struct hr_worker_view *worker;     /* (nworkers) owned */
    uint64_t (*kinds)[HR_TRACE_KINDS]; /* (owners) entries by kind; owned */
    uint64_t taken_back;               /* pushes, by terms; they count nowhere else */
    uint64_t pushes, differ;           /* that count, in all; whose recorded staleness is another */
    uint64_t step, in; /* backup-workers: the step in hand, gradients of it that are in */
    uint64_t histogram[HR_RESULT_STALENESS_BUCKETS];
    double seconds; /* of the recorded run */
};

static const char *kind_name(const struct hr_trace_view *view, size_t kind)
{
    return view->hogwild ? hr_noted_name((uint32_t)kind)
                         : hr_server_request_name((uint32_t)(HR_PULL + kind));
}

static size_t kind_of(const struct hr_trace_view *view, const struct hr_trace_entry *entry)
{
    const size_t kind = view->hogwild ? entry->kind : entry->kind - HR_PULL;
    return kind < HR_TRACE_KINDS ? kind : HR_TRACE_KINDS - 1;
}

static enum hr_status add_push(struct hr_worker_view *worker, uint64_t staleness)
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

/* As the shard decides: the first n - k gradients of the step in hand are in, all others too late.
 * A pull gives that step's index, which grows. */
static bool is_dropped(struct hr_trace_view *view, uint64_t index)
{
    const struct hr_train_options *options = &view->replay->options;
    if (!view->drops)
        return false;
    if (index != view->step || view->in >= options->workers - options->backups)
        return true;
    view->in++;
    return false;
}

static void walk_pull(struct hr_trace_view *view, struct hr_worker_view *worker, uint64_t index)
{
    worker->index = index;
    if (index <= view->step)
        return;
    view->step = index;
    view->in = 0;
}

/* What a worker computed until it pushed or exchanged: an exchange comes after several gradients,
 * and its entry has the worker's number of them. */
static void add_gradients(const struct hr_trace_view *view, struct hr_worker_view *worker,
                          const struct hr_trace_entry *entry)
{
    worker->gradients = view->exchanges ? entry->step : worker->gradients + 1;
    worker->exchanges += view->exchanges;
    worker->gradients_s += (double)entry->duration_ns / 1e9;
}

/* A shard's input. Its version grows with each push, and a pull reads it. */
static enum hr_status walk_request(struct hr_trace_view *view, const struct hr_trace_entry *entry,
                                   uint64_t *version, bool first, bool back)
{
    struct hr_worker_view *worker = &view->worker[entry->rank];
    if (entry->kind == HR_PULL) {
        worker->read = *version;
        walk_pull(view, worker, entry->value);
    }
    if (entry->kind == HR_JOIN)
        worker->read = *version;
    if (entry->kind != HR_PUSH && entry->kind != HR_PUSHPULL)
        return HR_OK;
    if (first && !back)
        add_gradients(view, worker, entry);
    if (is_dropped(view, worker->index)) {
        worker->dropped++;
        return HR_OK;
    }
    const uint64_t staleness = view->counts ? *version - worker->read : entry->value;
    view->differ += staleness != entry->value;
    ++*version;
    view->taken_back += back && first;
    return back ? HR_OK : add_push(worker, staleness);
}

static enum hr_status walk_hogwild(struct hr_trace_view *view, const struct hr_trace_entry *entry)
{
    struct hr_worker_view *worker = &view->worker[entry->rank];
    if (entry->kind != HR_NOTED_STALENESS)
        return HR_OK;
    add_gradients(view, worker, entry);
    return add_push(worker, entry->value);
}

/* The next part of a server's log that a term takes back: entries [from, to), since the last cut;
 * UINT64_MAX: there is none. */
struct taken_back {
    size_t event; /* of the launcher's log, up to which it is known */
    uint64_t from, to;
};

static void find_taken_back(const struct hr_trace_view *view, size_t server,
                            struct taken_back *part)
{
    uint64_t at_cut = part->to;
    part->from = part->to = UINT64_MAX;
    for (; part->event < view->membership.n && part->to == UINT64_MAX; part->event++) {
        const struct hr_membership_event *it = &view->membership.event[part->event];
        for (size_t i = 0; i < it->n; i++) {
            if (it->at[i].rank != view->nworkers + server)
                continue;
            if (it->kind == HR_MEMBERSHIP_CUT)
                at_cut = it->at[i].value;
            if (it->kind == HR_MEMBERSHIP_TERM) {
                part->from = at_cut;
                part->to = it->at[i].value;
            }
        }
    }
}

/* All of a term's versions are gone with it. */
static void begin_anew(struct hr_trace_view *view, uint64_t *version)
{
    *version = 0;
    for (size_t w = 0; w < view->nworkers; w++)
        view->worker[w].read = 0;
}

static enum hr_status walk_owner(struct hr_trace_view *view, size_t owner)
{
    struct hr_trace_cursor cursor;
    enum hr_status status = hr_trace_cursor_open(&cursor, &view->trace, owner);
    uint64_t version = 0, number = 0;
    struct taken_back part = {0};
    for (size_t w = 0; w < view->nworkers && !view->hogwild; w++)
        view->worker[w].clock = view->worker[w].read = 0;
    const struct hr_trace_entry *entry;
    find_taken_back(view, owner, &part);
    while (status == HR_OK && (entry = hr_trace_peek(&cursor))) {
        for (; part.to <= number; find_taken_back(view, owner, &part))
            begin_anew(view, &version);
        const bool back = number++ >= part.from;
        view->kinds[owner][kind_of(view, entry)]++;
        status = view->hogwild ? walk_hogwild(view, entry)
                               : walk_request(view, entry, &version, owner == 0, back);
        hr_trace_next(&cursor);
    }
    hr_trace_cursor_close(&cursor);
    return status;
}

static void sum_up(struct hr_trace_view *view)
{
    for (size_t w = 0; w < view->nworkers; w++) {
        struct hr_worker_view *worker = &view->worker[w];
        for (size_t i = 0; i < worker->clock; i++) {
            const uint64_t staleness = worker->staleness[i], last = HR_RESULT_STALENESS_BUCKETS - 1;
            worker->stale_sum += staleness;
            worker->stale_max = staleness > worker->stale_max ? staleness : worker->stale_max;
            view->histogram[staleness < last ? staleness : last]++;
            view->pushes++;
        }
    }
}

/* Traces of runs that one process ran have none, nor have older ones. */
static void take_times(struct hr_trace_view *view)
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

static bool has_losses(const struct hr_trace_view *view)
{
    for (size_t e = 0; e < view->membership.n; e++)
        if (view->membership.event[e].kind == HR_MEMBERSHIP_LOST)
            return true;
    return false;
}

/* The launcher's log is the last. */
static enum hr_status take_roll(struct hr_trace_view *view)
{
    const bool outlives = hr_train_outlives(&view->replay->options);
    view->nowners = view->trace.nowners;
    if (!outlives)
        return HR_OK;
    if (view->nowners < 2)
        return hr_fail(HR_E_FORMAT, "%s: has one log, expected the launcher's, too", view->path);
    view->nowners--;
    const enum hr_status status = hr_membership_read(&view->trace, &view->membership);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s", view->path);
}

static enum hr_status take_strategy(struct hr_trace_view *view)
{
    const struct hr_train_options *options = &view->replay->options;
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(options->strategy, options->staleness, &strategy));
    view->hogwild = hr_workers_log(strategy);
    view->logged = view->hogwild || hr_strategy_is_served(strategy);
    view->exchanges = hr_strategy_obeys(strategy, "moving-rate");
    view->drops = hr_strategy_obeys(strategy, "backups") && !has_losses(view);
    view->counts = hr_strategy_is_served(strategy) && !strategy->synchronous && !view->exchanges &&
                   !hr_strategy_obeys(strategy, "backups");
    return HR_OK;
}

/* On failure, too, close it. HR_E_IO, HR_E_FORMAT, HR_E_NOMEM. */
static enum hr_status open_view(struct hr_trace_view *view, const char *path)
{
    *view = (struct hr_trace_view){.path = path};
    HR_TRY(hr_replay_open(path, &view->replay));
    HR_TRY(hr_trace_open(path, &view->trace));
    HR_TRY(take_roll(view));
    HR_TRY(take_strategy(view));
    view->trailer = json_loads(view->trace.trailer, 0, NULL);
    view->seconds = json_number_value(json_object_get(view->trailer, "seconds"));
    for (size_t i = 0; i < view->nowners; i++)
        if (view->trace.owner[i].nranks > view->nworkers)
            view->nworkers = view->trace.owner[i].nranks;
    view->worker = calloc(view->nworkers, sizeof *view->worker);
    view->kinds = calloc(view->nowners, sizeof *view->kinds);
    if (!view->worker || !view->kinds)
        return hr_fail(HR_E_NOMEM, "no memory to look at %s", path);
    for (size_t i = 0; i < view->nowners; i++)
        HR_TRY(walk_owner(view, i));
    sum_up(view);
    take_times(view);
    return HR_OK;
}

/* Harmless on a zeroed one. */
static void close_view(struct hr_trace_view *view)
{
    for (size_t w = 0; view->worker && w < view->nworkers; w++)
        free(view->worker[w].staleness);
    free(view->worker);
    free(view->kinds);
    hr_membership_free(&view->membership);
    json_decref(view->trailer);
    hr_trace_fini(&view->trace);
    hr_replay_close(view->replay);
    *view = (struct hr_trace_view){0};
}

/* What a trace holds, for people and for programs; header and trailer are shown as they are. */

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

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* --- for people --- */

static void print_owners(const struct hr_trace_view *view)
{
    struct hr_grid table;
    hr_grid_begin(&table, "-\t\t-");
    for (size_t i = 0; i < view->nowners; i++) {
        fprintf(table.cells,
                "  %s %zu\t%" PRIu64 " entries\t%zu bytes:", view->hogwild ? "worker" : "owner", i,
                view->trace.owner[i].entries, view->trace.owner[i].bytes);
        for (size_t k = 0; k < HR_TRACE_KINDS; k++)
            if (view->kinds[i][k])
                fprintf(table.cells, " %" PRIu64 " %s", view->kinds[i][k], kind_name(view, k));
        fputc('\n', table.cells);
    }
    hr_grid_end(&table, stdout, 0);
}

/* "worker 2", "server 0". */
static void name_rank(const struct hr_trace_view *view, size_t rank, char *text, size_t size)
{
    const bool server = rank >= view->nworkers;
    snprintf(text, size, "%s %zu", server ? "server" : "worker",
             server ? rank - view->nworkers : rank);
}

/* How it came, and when, the trailer says; what is not there is left out. */
static void print_loss(const struct hr_trace_view *view, const char *who, size_t number)
{
    const json_t *loss = json_array_get(json_object_get(view->trailer, "losses"), number);
    const char *how = json_string_value(json_object_get(loss, "how"));
    printf("    lost   %s at %.3g s: %s\n", who,
           json_number_value(json_object_get(loss, "seconds")), how ? hr_printable(how).text : "?");
}

static void print_launcher(const struct hr_trace_view *view)
{
    size_t losses = 0;
    if (view->membership.n)
        printf("  launcher   %10zu events: cuts, and\n", view->membership.n);
    for (size_t e = 0; e < view->membership.n; e++) {
        const struct hr_membership_event *event = &view->membership.event[e];
        char who[40];
        name_rank(view, event->rank, who, sizeof who);
        if (event->kind == HR_MEMBERSHIP_LOST)
            print_loss(view, who, losses++);
        if (event->kind == HR_MEMBERSHIP_BACK)
            printf("    back   %s\n", who);
        if (event->kind == HR_MEMBERSHIP_TERM)
            printf("    term   of all who are there, from batch %" PRIu64
                   ", back at the last cut\n",
                   event->value);
    }
    if (view->taken_back)
        printf("    these terms took back %" PRIu64 " %s, which are not counted below\n",
               view->taken_back, view->exchanges ? "exchanges" : "gradients");
}

/* As in the table of a run: load / compute / communicate / wait, in percent of its seconds. */
static void write_time(FILE *cells, const struct hr_trace_view *view,
                       const struct hr_worker_time *time)
{
    const double percent = 100 / view->seconds;
    if (view->timed && isfinite(percent))
        fprintf(cells, "\t%.0f/%.0f/%.0f/%.0f", percent * time->load_s, percent * time->compute_s,
                percent * time->communicate_s, percent * time->wait_s);
    else
        fputs("\t-", cells);
}

static void write_count(FILE *cells, bool known, uint64_t count)
{
    if (known)
        fprintf(cells, "\t%" PRIu64, count);
    else
        fputc('\t', cells);
}

static void write_worker(FILE *cells, const struct hr_trace_view *view,
                         const struct hr_worker_view *worker)
{
    write_count(cells, view->logged, worker->gradients);
    write_count(cells, view->drops, worker->dropped);
    write_count(cells, view->exchanges, worker->exchanges);
    fputc('\t', cells);
    if (view->logged)
        fprintf(cells, "%.3f", share(1e3 * worker->gradients_s, (double)worker->gradients));
    write_time(cells, view, &worker->time);
    fputc('\t', cells);
    if (view->logged)
        fprintf(cells, "%.2f/%" PRIu64, share((double)worker->stale_sum, (double)worker->clock),
                worker->stale_max);
    fputc('\n', cells);
}

static void print_workers(const struct hr_trace_view *view)
{
    struct hr_grid table;
    hr_grid_begin(&table, "  worker\tgradients\tdropped\texchanges\tms each\t"
                          "load/compute/comm/wait %\tstaleness mean/max");
    for (size_t w = 0; w < view->nworkers; w++) {
        fprintf(table.cells, "%zu", w);
        write_worker(table.cells, view, &view->worker[w]);
    }
    hr_grid_end(&table, stdout, 0);
    if (view->drops)
        printf("  dropped: gradients that came too late; staleness is that of the others\n");
    if (view->exchanges)
        printf("  staleness is that of exchanges\n");
}

static void print_histogram(const struct hr_trace_view *view)
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

static void print_view(const struct hr_trace_view *view)
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
    print_launcher(view);
    if (view->pushes > 0 || (view->timed && !view->logged))
        print_workers(view);
    if (view->pushes > 0)
        print_histogram(view);
}

/* --- for programs --- */

static json_t *owner_json(const void *of, size_t i)
{
    const struct hr_trace_view *view = of;
    json_t *kinds = json_object();
    for (size_t k = 0; k < HR_TRACE_KINDS; k++)
        if (view->kinds[i][k])
            json_object_set_new(kinds, kind_name(view, k), hr_json_count(view->kinds[i][k]));
    return hr_json_object("owner", HR_JSON(i), HR_OF(&view->trace.owner[i], entries),
                          HR_OF(&view->trace.owner[i], bytes), "kinds", kinds, NULL);
}

static json_t *event_json(const void *of, size_t i)
{
    const struct hr_trace_view *view = of;
    const struct hr_membership_event *event = &view->membership.event[i];
    static const char *const names[] = {"", "lost", "back", "cut", "term"};
    const bool server = event->rank >= view->nworkers;
    const bool of_rank = event->kind == HR_MEMBERSHIP_LOST || event->kind == HR_MEMBERSHIP_BACK;
    if (of_rank)
        return hr_json_object("event", HR_JSON(names[event->kind]), "server", HR_JSON(server),
                              "rank", HR_JSON(server ? event->rank - view->nworkers : event->rank),
                              NULL);
    if (event->kind == HR_MEMBERSHIP_TERM)
        return hr_json_object("event", HR_JSON("term"), "index", HR_JSON(event->value),
                              "back_at_cut", json_true(), NULL);
    return hr_json_object("event", HR_JSON("cut"), "index", HR_JSON(event->value / 2), "ends",
                          json_boolean((int)(event->value & 1)), NULL);
}

/* What the logs say; null where they do not. */
static json_t *count_if(bool said, uint64_t count)
{
    return said ? hr_json_count(count) : json_null();
}

static json_t *number_if(bool said, double number)
{
    return said ? hr_json_number(number) : json_null();
}

static json_t *worker_json(const void *of, size_t w)
{
    const struct hr_trace_view *view = of;
    const struct hr_worker_view *worker = &view->worker[w];
    const struct hr_worker_time *time = &worker->time;
    const double mean = share((double)worker->stale_sum, (double)worker->clock);
    return hr_json_object(
        "worker", HR_JSON(w), "gradients", count_if(view->logged, worker->gradients), "dropped",
        count_if(view->drops, worker->dropped), "exchanges",
        count_if(view->exchanges, worker->exchanges), "gradients_s",
        number_if(view->logged, worker->gradients_s), "load_s",
        number_if(view->timed, time->load_s), "compute_s", number_if(view->timed, time->compute_s),
        "communicate_s", number_if(view->timed, time->communicate_s), "wait_s",
        number_if(view->timed, time->wait_s), "computing",
        number_if(view->timed, share(time->compute_s, view->seconds)), "staleness_mean",
        number_if(view->logged, mean), "staleness_max", count_if(view->logged, worker->stale_max),
        NULL);
}

static uint64_t all_dropped(const struct hr_trace_view *view)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < view->nworkers; w++)
        sum += view->worker[w].dropped;
    return sum;
}

static json_t *view_json(const struct hr_trace_view *view)
{
    json_t *updates = json_object_get(view->trailer, "updates");
    return hr_json_object(
        "trace", HR_JSON(view->path), "header", json_loads(view->trace.header, 0, NULL), "trailer",
        view->trailer ? json_incref(view->trailer) : json_null(), "owners",
        hr_json_list(view->nowners, owner_json, view), "launcher",
        hr_json_list(view->membership.n, event_json, view), "workers",
        hr_json_list(view->nworkers, worker_json, view), "updates",
        updates ? json_incref(updates) : json_null(), "dropped",
        count_if(view->drops, all_dropped(view)), HR_OF(view, taken_back), "staleness",
        hr_json_histogram(view->histogram, HR_RESULT_STALENESS_BUCKETS), HR_OF(view, differ), NULL);
}

enum hr_status hr_inspect_trace(const struct hr_cli *cli, const char *path)
{
    struct hr_trace_view view;
    enum hr_status status = open_view(&view, path);
    if (status == HR_OK && hr_cli_speaks(cli))
        print_view(&view);
    if (status == HR_OK && cli->json[0])
        status = hr_json_write(cli->json, view_json(&view));
    close_view(&view);
    return status;
}
