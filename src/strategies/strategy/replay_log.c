#include "strategy/replay_log.h"

#include <stddef.h>

#include "strategy/strategy.h"
#include "trace/trace_log.h"

const char *hr_noted_name(uint32_t kind)
{
    static const char *const names[] = {"batch", "skew", "pull", "staleness", "push", "cut"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

void hr_note(struct hr_worker *worker, enum hr_noted kind, uint64_t value)
{
    if (!worker->replay.log)
        return;
    const struct hr_trace_entry entry = {
        .kind = kind,
        .rank = (uint32_t)worker->rank,
        .step = worker->steps,
        .value = value,
        .duration_ns = kind == HR_NOTED_STALENESS ? (uint64_t)worker->took_ns : 0,
    };
    hr_trace_append(worker->replay.log, &entry);
}

bool hr_follow(struct hr_worker *worker, enum hr_noted kind, uint64_t *value)
{
    struct hr_replay_log *replay = &worker->replay;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    if (replay->misses)
        return false;
    if (!entry || entry->kind != kind || entry->step != worker->steps) {
        replay->misses = hr_noted_name(kind);
        return false;
    }
    *value = entry->value;
    hr_trace_next(replay->recorded);
    return true;
}

bool hr_follow_draw(struct hr_worker *worker, uint64_t cut, uint64_t *index)
{
    struct hr_replay_log *replay = &worker->replay;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    const bool ends = entry && entry->kind == HR_NOTED_CUT;
    if (!hr_follow(worker, ends ? HR_NOTED_CUT : HR_NOTED_BATCH, index))
        return false;
    replay->beyond = replay->beyond || (!ends && *index >= cut);
    return !ends && *index < cut;
}

uint64_t hr_observe(struct hr_worker *worker, enum hr_noted kind, uint64_t seen)
{
    if (worker->replay.recorded)
        hr_follow(worker, kind, &seen);
    hr_note(worker, kind, seen);
    return seen;
}

enum hr_status hr_replay_log_fits(const struct hr_worker *worker)
{
    const struct hr_replay_log *replay = &worker->replay;
    if (!replay->misses)
        return HR_OK;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    return hr_fail(HR_E_FORMAT,
                   "the trace does not fit the run that it describes: worker %zu at step %llu "
                   "wants %s, its log has %s %llu",
                   worker->rank, (unsigned long long)worker->steps, replay->misses,
                   entry ? hr_noted_name(entry->kind) : "nothing more",
                   (unsigned long long)(entry ? entry->value : 0));
}
