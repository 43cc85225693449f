/* The driver in which a seed is a schedule: it lists all possible next events, draws one, and
 * completes it. So a strategy can run in many orders, and each run can be repeated bit for bit.
 * What a loss brings with it are events, too: that it is noticed, that a rank is back. */
#include <string.h>

#include "serial/serial.h"

struct explorer {
    struct hr_serial serial;
    struct hr_picker picker;
    size_t idle;              /* looks in a row that changed nothing */
    size_t deaths[HR_MORTAL]; /* that were drawn (--inject kill:any) */
    size_t stalls;            /* the same (stall:any) */
    uint64_t
        until[HR_MAX_RANKS]; /* (workers, then servers) the event up to which it stands still */
};

/* --- what may happen next --- */

enum { MOST_EVENTS = HR_MAX_RANKS * (1 + HR_MAX_RANKS + HR_RANK_EVENTS) };

static bool stands_still(const struct explorer *explorer, size_t rank)
{
    return explorer->picker.taken < explorer->until[rank];
}

static size_t list_events(struct explorer *explorer, unsigned char *enabled)
{
    struct hr_serial *serial = &explorer->serial;
    const struct hr_shared_state *shared = serial->shared;
    size_t n = 0;
    for (size_t r = 0; r < shared->workers; r++)
        enabled[n++] = hr_serial_may_act(serial, r) && !stands_still(explorer, r);
    for (size_t s = 0; s < shared->servers; s++, n += shared->workers) {
        const bool takes =
            hr_serial_may_take(serial, s) && !stands_still(explorer, shared->workers + s);
        memset(enabled + n, takes, shared->workers);
        if (takes)
            shared->strategy->enabled(&serial->shard[s], enabled + n);
    }
    for (size_t r = 0; shared->outlives && r < hr_serial_ranks(serial); r++, n += HR_RANK_EVENTS) {
        enabled[n + HR_RANK_NOTICE] = serial->state[r] == HR_DEAD;
        enabled[n + HR_RANK_COME_BACK] = hr_serial_may_come_back(serial, r);
        enabled[n + HR_RANK_DIE] =
            explorer->picker.kind == HR_PICK_ASKED && hr_serial_lives(serial, r);
        enabled[n + HR_RANK_DIE_LATE] = enabled[n + HR_RANK_DIE] && serial->state[r] == HR_HAS;
    }
    return n;
}

/* Where only those who stand still can do anything, they do. */
static size_t pick_event(struct explorer *explorer, size_t *n)
{
    unsigned char enabled[MOST_EVENTS];
    *n = list_events(explorer, enabled);
    size_t event = hr_pick(&explorer->picker, enabled, *n);
    if (event < *n || !explorer->stalls)
        return event;
    memset(explorer->until, 0, sizeof explorer->until);
    *n = list_events(explorer, enabled);
    return hr_pick(&explorer->picker, enabled, *n);
}

/* --- what happens --- */

static enum hr_status die_as_injected(struct hr_serial *serial, size_t rank)
{
    hr_conditions_killed(serial->drive->job, rank);
    return hr_serial_die(serial, rank);
}

static enum hr_status act(struct explorer *explorer, size_t rank)
{
    struct hr_serial *serial = &explorer->serial;
    bool idle;
    if (serial->state[rank] == HR_HAS && hr_serial_is_killed(serial, rank))
        return die_as_injected(serial, rank);
    HR_TRY(hr_serial_act(serial, rank, &idle));
    explorer->idle = idle ? explorer->idle + 1 : 0;
    return HR_OK;
}

static enum hr_status take(struct explorer *explorer, size_t shard, size_t worker)
{
    struct hr_serial *serial = &explorer->serial;
    explorer->idle = 0;
    if (hr_serial_is_killed(serial, serial->shared->workers + shard))
        return die_as_injected(serial, serial->shared->workers + shard);
    hr_serial_take(serial, shard, worker);
    return hr_control_failure(serial->shared->control);
}

/* late: its gradient is computed, and not handed in. */
static enum hr_status die(struct hr_serial *serial, size_t rank, bool late)
{
    if (late)
        HR_TRY(hr_serial_finish_gradient(serial, rank));
    return hr_serial_die(serial, rank);
}

static enum hr_status of_rank(struct explorer *explorer, size_t rank, size_t event)
{
    struct hr_serial *serial = &explorer->serial;
    explorer->idle = 0;
    if (event == HR_RANK_NOTICE)
        return hr_serial_notice(serial, rank);
    if (event == HR_RANK_COME_BACK)
        return hr_serial_come_back(serial, rank);
    return die(serial, rank, event == HR_RANK_DIE_LATE);
}

static enum hr_status one_event(struct explorer *explorer)
{
    struct hr_serial *serial = &explorer->serial;
    const size_t workers = serial->shared->workers, inputs = workers * serial->shared->servers;
    size_t n, event = pick_event(explorer, &n);
    if (event == n || explorer->idle > HR_SERIAL_IDLE_LOOKS * workers)
        return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
    if (event < workers)
        return act(explorer, event);
    event -= workers;
    if (event < inputs)
        return take(explorer, event / workers, event % workers);
    event -= inputs;
    return of_rank(explorer, event / HR_RANK_EVENTS, event % HR_RANK_EVENTS);
}

/* --- deaths and stalls --- */

/* The `number`th of the workers, or of the servers, who live; there is one. */
static size_t nth_who_lives(const struct hr_serial *serial, enum hr_mortal kind, uint64_t number)
{
    size_t rank = kind == HR_MORTAL_WORKER ? 0 : serial->shared->workers;
    for (; !hr_serial_lives(serial, rank) || number > 0; rank++)
        number -= hr_serial_lives(serial, rank);
    return rank;
}

static size_t count_who_live(const struct hr_serial *serial, enum hr_mortal kind)
{
    const size_t first = kind == HR_MORTAL_WORKER ? 0 : serial->shared->workers;
    const size_t end = kind == HR_MORTAL_WORKER ? serial->shared->workers : hr_serial_ranks(serial);
    size_t n = 0;
    for (size_t r = first; r < end; r++)
        n += hr_serial_lives(serial, r);
    return n;
}

/* Somebody may die wherever something may happen. */
static enum hr_status draw_death(struct explorer *explorer, enum hr_mortal kind)
{
    struct hr_serial *serial = &explorer->serial;
    const struct hr_drive *drive = serial->drive;
    const size_t n = count_who_live(serial, kind);
    struct hr_inject_death death;
    if (n == 0 || !hr_inject_dies(&drive->job->conditions.inject, drive->explore_seed, kind,
                                  explorer->picker.taken, explorer->deaths[kind], &death))
        return HR_OK;
    const size_t rank = nth_who_lives(serial, kind, death.who % n);
    explorer->deaths[kind]++;
    return die(serial, rank,
               kind == HR_MORTAL_WORKER && serial->state[rank] == HR_HAS && death.late);
}

static void draw_stall(struct explorer *explorer)
{
    const struct hr_serial *serial = &explorer->serial;
    const struct hr_drive *drive = serial->drive;
    struct hr_inject_pause pause;
    if (!hr_inject_stalls(&drive->job->conditions.inject, drive->explore_seed,
                          explorer->picker.taken, explorer->stalls, &pause))
        return;
    explorer->until[pause.who % hr_serial_ranks(serial)] = explorer->picker.taken + pause.events;
    explorer->stalls++;
    explorer->idle = 0;
}

static enum hr_status play_all(struct explorer *explorer)
{
    struct hr_serial *serial = &explorer->serial;
    for (;;) {
        if (hr_serial_term_is_over(serial))
            HR_TRY(hr_serial_begin_term(serial));
        if (hr_serial_at_cut(serial)) {
            HR_TRY(hr_serial_cut(serial));
            if (serial->drive->leader->cuts.cut->halt)
                return HR_OK;
            continue;
        }
        for (enum hr_mortal kind = 0; kind < HR_MORTAL; kind++)
            HR_TRY(draw_death(explorer, kind));
        draw_stall(explorer);
        HR_TRY(one_event(explorer));
        HR_TRY(hr_serial_pause(serial));
        HR_TRY(hr_serial_tick(serial));
    }
}

static enum hr_status drive_explore(struct hr_drive *drive)
{
    const struct hr_chooser *chooser = drive->chooser;
    struct explorer explorer = {
        .picker = {.kind = HR_PICK_EXPLORE, .seed = drive->explore_seed},
    };
    if (chooser)
        explorer.picker = (struct hr_picker){
            .kind = HR_PICK_ASKED, .choose = chooser->choose, .arg = chooser->arg};
    enum hr_status status = hr_serial_start(&explorer.serial, drive);
    if (chooser && status == HR_OK)
        chooser->begin(chooser->arg, &explorer.serial);
    if (status == HR_OK)
        status = play_all(&explorer);
    hr_serial_stop(&explorer.serial);
    return status;
}

static size_t one_thread(const struct hr_train_options *options)
{
    (void)options;
    return 1;
}

const struct hr_driver hr_driver_explore = {.title = "one thread runs all ranks",
                                            .serial = true,
                                            .threads = one_thread,
                                            .now_ns = hr_driver_real_ns,
                                            .bytes = hr_serial_bytes,
                                            .run = drive_explore};
