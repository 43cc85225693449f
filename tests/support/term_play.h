/* term_play.h - a synchronous strategy with its group or its shards, all ranks played by the test,
 * one act at a time, in memory that child processes share (death.h).
 *
 *     play_open(&play, &plan);
 *     while (play_any(&play, &picker)) {}        in some order, until nobody can go on
 *     index = play_settle(&play);                as the launcher does, when all rest;
 *     play_begin_term(&play, index);             and with those who live
 *
 * The gradient of a batch, of one seat of so many, is play_gradient: a function of these.
 */
#ifndef HR_TESTS_SUPPORT_TERM_PLAY_H
#define HR_TESTS_SUPPORT_TERM_PLAY_H

#include "strategy/strategy.h"
#include "trace/pick.h"

enum { PLAY_WORKERS = 4, PLAY_SERVERS = 3, PLAY_KEYS = 2, PLAY_BATCH = 24, PLAY_LINES = 8192 };

struct play_plan {
    const struct hr_strategy *strategy;
    size_t workers, servers, params;
    uint64_t span, batches; /* from cut to cut; in all */
    size_t sync_every;
    const char *optimizer;
    double clip_norm;
    bool overlaps; /* gradients are final in two parts */
    bool forgets;  /* does not outlive losses */
};

/* What a worker does next. */
enum play_state {
    PLAY_WANTS,
    PLAY_ASKED,
    PLAY_HAS,
    PLAY_AT_CUT,
    PLAY_ARRIVING,
    PLAY_EXPORTS,
    PLAY_LEAVES,
    PLAY_RESTS, /* nothing: it was recalled, */
    PLAY_ENDED  /* or the run is over */
};

struct play {
    struct play_plan plan;
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_param_segment segment[PLAY_KEYS];
    struct hr_worker worker[PLAY_WORKERS];
    struct hr_waiter waiter[PLAY_WORKERS];
    enum play_state state[PLAY_WORKERS];
    bool gone[PLAY_WORKERS], halted[PLAY_SERVERS];
    uint64_t index[PLAY_WORKERS]; /* of the task it accepted last */
    uint64_t begins;              /* the index of the last cut */
    struct hr_shard shard[PLAY_SERVERS];
    float *pointers[2 * PLAY_WORKERS];
    unsigned char *arena;
    size_t used; /* lines */
};

float play_gradient(uint64_t index, size_t seat, size_t seats, size_t i);

/* Worker w takes its seat in a term that begins at `index`. (For play_open, play_begin_term.) */
void play_seat(struct play *play, size_t w, uint64_t index);

void play_open(struct play *play, const struct play_plan *plan);
void play_close(struct play *play);

/* Acts are numbered: one of each worker, then of shard s with worker w's message. May this one be
 * tried? Try it; false: it led to nothing. A worker that waits, and is recalled, rests. */
size_t play_acts(const struct play *play);
bool play_can(struct play *play, size_t act);
bool play_act(struct play *play, size_t act);
/* Some act; false: there is none that leads anywhere. */
bool play_any(struct play *play, struct hr_picker *picker);
/* So many of them, or as many as there are. */
void play_on(struct play *play, struct hr_picker *picker, uint64_t acts);

/* Shard s does nothing more. */
void play_halt(struct play *play, size_t s);
/* Worker w does nothing more; the launcher hears of it, and recalls all. Or it recalls all for
 * another reason. */
void play_die(struct play *play, size_t w);
void play_lose(struct play *play, size_t w);
void play_recall(struct play *play);
/* What the launcher does when all rest. take_back: gradients of batches from `index` on. */
uint64_t play_settle(struct play *play);
void play_take_back(struct play *play, uint64_t index);
void play_begin_term(struct play *play, uint64_t index);

/* Copies of all memory, to go back to. */
struct play_copy;
struct play_copy *play_save(const struct play *play);
void play_restore(struct play *play, const struct play_copy *copy);
void play_forget(struct play_copy *copy);

/* In an order drawn from the seed to the end; in each act its worker dies everywhere (death.h), and
 * `look` is told of whom and in which, and may change what it likes. */
struct play_death {
    struct play *play;
    const void *twin; /* the test's */
    size_t act, victim;
};
void play_deaths(struct play *play, uint64_t seed, void (*look)(void *death), const void *twin);

#endif
