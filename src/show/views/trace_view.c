#include "views/trace_view.h"

#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "options/train_options.h"
#include "strategies/find.h"

const char *hr_trace_view_kind(const struct hr_trace_view *view, size_t kind)
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
    for (; part->event < view->roll.n && part->to == UINT64_MAX; part->event++) {
        const struct hr_roll_event *it = &view->roll.event[part->event];
        for (size_t i = 0; i < it->n; i++) {
            if (it->at[i].rank != view->nworkers + server)
                continue;
            if (it->kind == HR_ROLL_CUT)
                at_cut = it->at[i].value;
            if (it->kind == HR_ROLL_TERM) {
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

/* Traces of runs that one process played have none, nor have older ones. */
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
    for (size_t e = 0; e < view->roll.n; e++)
        if (view->roll.event[e].kind == HR_ROLL_LOST)
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
    const enum hr_status status = hr_roll_read(&view->trace, &view->roll);
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

enum hr_status hr_trace_view_open(struct hr_trace_view *view, const char *path)
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

void hr_trace_view_close(struct hr_trace_view *view)
{
    for (size_t w = 0; view->worker && w < view->nworkers; w++)
        free(view->worker[w].staleness);
    free(view->worker);
    free(view->kinds);
    hr_roll_free(&view->roll);
    json_decref(view->trailer);
    hr_trace_fini(&view->trace);
    hr_replay_close(view->replay);
    *view = (struct hr_trace_view){0};
}
