/* order_trial.h - one order of the events of a small run after the other: which comes next.
 *
 * A run chooses (an hr_chooser) what has not been tried. Where it can go back (rewind.h), it leaves
 * a mark at each choice and goes back there; else it leaves a list of what led there.
 */
#ifndef HR_TESTS_PLAY_ORDER_TRIAL_H
#define HR_TESTS_PLAY_ORDER_TRIAL_H

#include <string.h>

#include "support/check.h"
#include "support/rewind_heap.h"
#include "support/run_state.h"
#include "support/served_reference.h"
#include "support/state_graph.h"
#include "train/run.h"

enum { MOST_LIST = 160, MOST_LISTS = 2048, MOST_EVENTS = 64 };

/* What a run has done, or is to do. */
struct list {
    size_t n;
    unsigned char event[MOST_LIST];
};

enum how { MEETS, MEETS_WITH_HEAP, ONE_BY_ONE };

struct kind {
    const char *strategy, *on_loss; /* NULL: nobody dies */
    size_t workers, batches, backups;
    enum how how;
};

struct trial {
    const struct kind *kind;
    const struct hr_strategy *strategy;
    bool rewinds; /* else runs are repeated along lists */
    bool refers;  /* a reference goes beside each */
    struct state_graph graph;
    struct list list[MOST_LISTS]; /* (lists) still to be repeated */
    size_t lists;
    /* At each mark: ways on that are still to be tried. */
    unsigned char left[MOST_LIST][MOST_EVENTS];
    XXH3_state_t *hash;
    uint64_t ends;   /* that were come to */
    struct run *run; /* under way */
};

/* One run: what goes back with it. */
struct run {
    struct trial *trial;
    struct list list; /* what it has done, and before that is to do */
    size_t at;        /* events so far */
    size_t from;      /* the state before the last of them; 0: not known */
    bool begun, met;
    struct hr_serial *serial;
    struct served_reference reference;
};

static inline void add(void *hash, const void *piece, size_t bytes)
{
    XXH3_128bits_update(hash, piece, bytes);
}

static inline XXH128_hash_t id_of(const struct run *run)
{
    XXH3_state_t *hash = run->trial->hash;
    XXH3_128bits_reset(hash);
    run_state(run->serial, run->trial->rewinds, run->trial->kind->how == MEETS_WITH_HEAP, add,
              hash);
    if (run->trial->refers)
        served_reference_state(&run->reference, add, hash);
    return XXH3_128bits_digest(hash);
}

static inline bool may_die(const struct run *run)
{
    const struct hr_serial *serial = run->serial;
    const size_t ranks = serial->shared->workers + serial->shared->servers;
    for (size_t r = 0; r < ranks; r++)
        if (serial->state[r] == HR_DEAD)
            return false;
    return run->trial->kind->on_loss && serial->drive->losses.n == 0;
}

/* What would change nothing is left out: a look at an answer that is not there. */
static inline void leave_out(const struct run *run, unsigned char *possible, size_t n)
{
    const struct hr_serial *serial = run->serial;
    const size_t workers = serial->shared->workers, inputs = workers * serial->shared->servers;
    const bool dies = may_die(run);
    for (size_t w = 0; w < workers; w++)
        if (serial->shared->servers && serial->state[w] == HR_ASKED &&
            !serial->life[w].rank.ready(serial->life[w].rank.arg))
            possible[w] = 0;
    for (size_t e = workers + inputs; e < n; e++) {
        const size_t what = (e - workers - inputs) % HR_RANK_EVENTS;
        if ((what == HR_RANK_DIE || what == HR_RANK_DIE_LATE) && !dies)
            possible[e] = 0;
    }
}

static inline void push_list(struct run *run, size_t event)
{
    assert_true(run->trial->lists < MOST_LISTS);
    struct list *more = &run->trial->list[run->trial->lists++];
    *more = run->list;
    more->event[more->n++] = (unsigned char)event;
}

/* The first event; the others are lists of their own. n: there is none. */
static inline size_t first_of(struct run *run, const unsigned char *possible, size_t n)
{
    size_t first = n;
    for (size_t e = n; e-- > 0;) {
        if (!possible[e])
            continue;
        if (first < n)
            push_list(run, first);
        first = e;
    }
    return first;
}

/* Where the list has ended: has nobody been here? */
static inline bool is_new_ground(struct run *run, bool listed)
{
    struct state_graph *graph = &run->trial->graph;
    bool is_new = true;
    if (run->trial->kind->how == ONE_BY_ONE)
        return true;
    const size_t state = state_graph_at(graph, id_of(run), &is_new);
    if (run->from && !listed)
        state_graph_join(graph, run->from, state);
    run->from = state;
    return is_new || listed;
}

/* As the list says, and behind its end the first event. */
static inline size_t follow(struct run *run, const unsigned char *possible, size_t n)
{
    const bool listed = run->at < run->list.n;
    if (run->at + 1 >= run->list.n && !is_new_ground(run, listed)) {
        run->met = true;
        return n;
    }
    const size_t event = listed ? run->list.event[run->at] : first_of(run, possible, n);
    return event;
}

static inline size_t count(const unsigned char *events, size_t n)
{
    size_t sum = 0;
    for (size_t e = 0; e < n; e++)
        sum += events[e];
    return sum;
}

/* One event after the other: who comes to known ground, or to the end, comes back here. */
static inline size_t try_each(struct run *run, const unsigned char *possible, size_t n)
{
    unsigned char *left = run->trial->left[rewind_marks()];
    if (!is_new_ground(run, false))
        rewind_back();
    const bool many = count(possible, n) > 1;
    memcpy(left, possible, n);
    if (many)
        rewind_mark();
    size_t event = 0;
    while (!left[event])
        event++;
    left[event] = 0;
    if (many && count(left, n) == 0)
        rewind_forget();
    return event;
}

/* The reference hears of the event that comes next; SIZE_MAX: that the one before is over. */
static inline void tell(struct run *run, size_t event)
{
    if (run->trial->refers && (run->begun || event != SIZE_MAX))
        served_reference_next(&run->reference, event);
}

static inline size_t choose(void *arg, const unsigned char *enabled, size_t n)
{
    struct run *run = arg;
    unsigned char possible[MOST_EVENTS];
    assert_true(n <= sizeof possible && run->at < MOST_LIST);
    rewind_aside(true);
    for (size_t e = 0; e < n; e++)
        possible[e] = enabled[e] != 0;
    for (size_t w = 0; w < run->trial->kind->workers; w++)
        run->serial->worker[w].worker.member.polls = 0; /* it says only when to look for mistakes */
    leave_out(run, possible, n);
    tell(run, SIZE_MAX);
    run->begun = true;
    const size_t event =
        run->trial->rewinds ? try_each(run, possible, n) : follow(run, possible, n);
    assert_true(run->met || (event < n && possible[event]));
    run->list.event[run->at++] = (unsigned char)event;
    run->list.n = run->at > run->list.n ? run->at : run->list.n;
    if (!run->met)
        tell(run, event);
    rewind_aside(false);
    return event;
}

#endif
