#include "netsim/inject.h"

#include <math.h>

#include "base/philox.h"

static bool is_of(const struct hr_inject_entry *entry, enum hr_inject_kind kind, size_t rank)
{
    return entry->kind == kind && (entry->rank == HR_INJECT_ALL || entry->rank == rank);
}

/* Whether entry `number` slows this step: 32 bits are fine enough for a percentage. */
static bool strikes(const struct hr_inject_entry *entry, size_t number, uint64_t seed, size_t rank,
                    uint64_t step)
{
    if (entry->probability >= 1)
        return true;
    /* Ranks are below 2^24, entries below 2^8: no two share numbers. */
    const uint32_t sequence = (uint32_t)rank << 8 | (uint32_t)number;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_INJECT, step, sequence);
    return block.v[0] * 0x1p-32 < entry->probability;
}

int64_t hr_inject_ps(const struct hr_inject *inject, uint64_t seed, size_t rank, uint64_t step,
                     int64_t base_ps)
{
    double factor = 1;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (is_of(entry, HR_INJECT_SLOW, rank) && strikes(entry, i, seed, rank, step))
            factor *= entry->factor;
    }
    if (factor == 1)
        return base_ps;
    const double slowed = (double)base_ps * factor;
    return slowed < (double)HR_PS_NEVER ? (int64_t)floor(slowed + 0.5) : HR_PS_NEVER;
}

double hr_inject_stage_factor(const struct hr_inject *inject, uint64_t seed, size_t rank,
                              size_t stage, uint64_t step)
{
    double factor = 1;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        const bool of_stage = entry->stage == HR_INJECT_ALL || entry->stage == stage;
        if (of_stage && is_of(entry, HR_INJECT_SLOW_STAGE, rank) &&
            strikes(entry, i, seed, rank, step))
            factor *= entry->factor;
    }
    return factor;
}

int64_t hr_inject_stall_ps(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    int64_t ps = 0;
    for (size_t i = 0; i < inject->n; i++)
        if (is_of(&inject->entry[i], HR_INJECT_STALL, rank) && inject->entry[i].step == step)
            ps = hr_ps_add(ps, inject->entry[i].ps);
    return ps;
}

int64_t hr_inject_load_ps(const struct hr_inject *inject, size_t rank)
{
    int64_t ps = 0;
    for (size_t i = 0; i < inject->n; i++)
        if (is_of(&inject->entry[i], HR_INJECT_LOAD, rank))
            ps = hr_ps_add(ps, inject->entry[i].ps);
    return ps;
}

/* --- who dies, what is lost, what goes wrong */

bool hr_inject_has(const struct hr_inject *inject, enum hr_inject_kind kind)
{
    for (size_t i = 0; i < inject->n; i++)
        if (inject->entry[i].kind == kind)
            return true;
    return false;
}

static bool happens(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                    uint64_t step)
{
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (is_of(entry, kind, rank) && !entry->timed && entry->step == step)
            return true;
    }
    return false;
}

static int64_t next_ps(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                       int64_t after_ps)
{
    int64_t ps = HR_PS_NEVER;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        if (is_of(entry, kind, rank) && entry->timed && entry->ps > after_ps && entry->ps < ps)
            ps = entry->ps;
    }
    return ps;
}

bool hr_inject_kills(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    return happens(inject, HR_INJECT_KILL, rank, step);
}

int64_t hr_inject_kill_ps(const struct hr_inject *inject, size_t rank, int64_t after_ps)
{
    return next_ps(inject, HR_INJECT_KILL, rank, after_ps);
}

bool hr_inject_kills_server(const struct hr_inject *inject, size_t server, uint64_t input)
{
    return happens(inject, HR_INJECT_KILL_SERVER, server, input);
}

int64_t hr_inject_kill_server_ps(const struct hr_inject *inject, size_t server, int64_t after_ps)
{
    return next_ps(inject, HR_INJECT_KILL_SERVER, server, after_ps);
}

/* The only entry of that kind, or NULL. */
static const struct hr_inject_entry *only(const struct hr_inject *inject, enum hr_inject_kind kind)
{
    for (size_t i = 0; i < inject->n; i++)
        if (inject->entry[i].kind == kind)
            return &inject->entry[i];
    return NULL;
}

/* May what the entry says be drawn once more? Most runs draw nothing. */
static bool may_be_drawn(const struct hr_inject_entry *entry, size_t times)
{
    return entry && times < entry->step;
}

bool hr_inject_dies(const struct hr_inject *inject, uint64_t seed, enum hr_mortal kind,
                    uint64_t event, size_t deaths, struct hr_inject_death *death)
{
    const struct hr_inject_entry *entry =
        only(inject, kind == HR_MORTAL_WORKER ? HR_INJECT_KILL_ANY : HR_INJECT_KILL_ANY_SERVER);
    if (!may_be_drawn(entry, deaths))
        return false;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DEATH, event, (uint32_t)kind);
    *death = (struct hr_inject_death){block.v[1], block.v[2] & 1};
    return block.v[0] * 0x1p-32 < entry->probability;
}

bool hr_inject_stalls(const struct hr_inject *inject, uint64_t seed, uint64_t event, size_t stalls,
                      struct hr_inject_pause *pause)
{
    const struct hr_inject_entry *entry = only(inject, HR_INJECT_STALL_ANY);
    if (!may_be_drawn(entry, stalls))
        return false;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DEATH, event, HR_MORTAL);
    *pause = (struct hr_inject_pause){block.v[1], 1 + block.v[2] % HR_INJECT_LONGEST_STALL};
    return block.v[0] * 0x1p-32 < entry->probability;
}

enum hr_inject_loss hr_inject_drop(const struct hr_inject *inject, uint64_t seed,
                                   const struct hr_inject_push *push)
{
    const struct hr_inject_entry *entry = only(inject, HR_INJECT_DROP_PUSH);
    if (!entry || push->attempt >= HR_INJECT_MOST_DROPS)
        return HR_LOSS_NONE;
    /* Ranks and servers are below 2^12, attempts below 2^6: no two share numbers. */
    const uint32_t sequence =
        (uint32_t)push->rank << 18 | (uint32_t)push->server << 6 | push->attempt;
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_DROP, push->step, sequence);
    if (block.v[0] * 0x1p-32 >= entry->probability)
        return HR_LOSS_NONE;
    return block.v[1] & 1 ? HR_LOSS_MESSAGE : HR_LOSS_ANSWER;
}

int64_t hr_inject_deadline_ps(const struct hr_inject *inject)
{
    const struct hr_inject_entry *entry = only(inject, HR_INJECT_DROP_PUSH);
    return entry ? entry->ps : HR_PS_NEVER;
}

bool hr_inject_nan(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    return happens(inject, HR_INJECT_NAN, rank, step);
}

bool hr_inject_flip(const struct hr_inject *inject, size_t rank, uint64_t step)
{
    return happens(inject, HR_INJECT_FLIP_BIT, rank, step);
}

uint64_t hr_inject_place(uint64_t seed, size_t rank, uint64_t step, uint64_t count)
{
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_WRONG, step, (uint32_t)rank);
    return ((uint64_t)block.v[0] << 32 | block.v[1]) % count;
}

size_t hr_inject_kills_due(const struct hr_inject *inject, enum hr_inject_kind kind, size_t rank,
                           uint64_t step, int64_t now_ps)
{
    size_t due = 0;
    for (size_t i = 0; i < inject->n; i++) {
        const struct hr_inject_entry *entry = &inject->entry[i];
        due +=
            is_of(entry, kind, rank) && (entry->timed ? entry->ps <= now_ps : entry->step <= step);
    }
    return due;
}
