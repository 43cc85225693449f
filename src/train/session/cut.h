/* cut.h - a cut: all workers are quiescent, and the leader, one of them, decides how they go on.
 *
 *   all      hr_cut_may_arrive, until it is true                           barrier
 *   leader   hr_cut_decide      the time so far; stop, evaluate, save?
 *   all      hand over their part of the state                             barrier
 *   all      if cut->evaluate: their part of an evaluation                 barrier
 *   leader   if cut->evaluate: hr_cut_add_point, which may stop the run;   barrier
 *            hr_cut_conclude
 *   all      go on, unless cut->halt
 *
 * How an engine plugs in: it lays out a struct hr_cut and the curve in its segment (carve.h), and
 * says in a batch schedule what an index stands for; for one that rests at the ends of epochs
 * alone, an index may be an epoch. Its leader makes the calls above; launcher.h shows the curve
 * and saves, save.h writes and reads what is in struct hr_history.
 *
 * Threads: struct hr_cuts is constant while ranks run, and every rank has it; what writes through
 *          it is the leader's. Barriers order all accesses to the plain fields of struct hr_cut.
 * Test:    tests/unit/session/test_cut.c
 */
#ifndef HR_SESSION_CUT_H
#define HR_SESSION_CUT_H

#include "hogring/run_result.h"
#include "hogring/train.h"
#include "options/metric.h"
#include "shm/atom.h"
#include "shm/control.h"
#include "strategy/batch_schedule.h"

/* Requests to stop: written by the launcher, read by workers before a batch. */
enum hr_stop { HR_STOP_NOT, HR_STOP_DONE, HR_STOP_INTERRUPTED };

/* What the workers of this run have done, summed by the leader at a cut. */
struct hr_trained {
    uint64_t samples, updates;
    uint64_t epoch_samples; /* of the current epoch */
    double epoch_loss;      /* sum over them */
};

/* What the leader tells all others, and the launcher; in the segment. */
struct hr_cut {
    /* Writer: the leader, between the first and the second barrier. */
    alignas(HR_LINE) uint64_t index;        /* at which all stand */
    bool evaluate, save, halt, interrupted; /* the last three also between the third and the fourth,
                                               by hr_cut_add_point */
    bool again; /* not a cut yet: all go back for batches that are handed out again, and return,
                   even where the run is asked to stop: each sample is accounted for */
    /* Writer: the leader, between the third and the fourth. */
    alignas(HR_LINE) struct hr_atom64 ncurve; /* points written; partner: the launcher */
    struct hr_atom64 saves_asked;             /* the cut, from 1, that asked last; partner: the
                                                 launcher */
    int64_t train_ns;                         /* of training so far */
    /* The driver's: of this span. Where ranks that are lost come back, the launcher's, before it
     * lets all go on: one who is back may write down when it came while others look. */
    int64_t span_began_ns, span_ended_ns;
    uint32_t serves, copies; /* the last requests to save, and for a cut alone, that it has seen */
    bool asked;              /* it was not served before */
    uint64_t concluded;      /* cuts; stored last of all that a cut changes; */
    uint64_t counted;        /* and those whose counts were taken: as many, or one more */
    uint64_t begins;         /* the index of the last one to which a run may go back */
    int64_t before_ns;       /* train_ns at the last: a cut may be repeated until then */
    bool rests;              /* the last cut was for a save alone, */
    int64_t ended_ns;        /* and all had come to it; */
    int64_t rest_ns, rested_ns; /* at such cuts, so far; rest_ns at the last */
    uint64_t points;            /* of the curve at the last: a cut adds one at most */
    uint64_t measured;          /* 1 + the index of the last point of this run; 0: none */
    uint64_t pauses;            /* so far, where one process runs all ranks */
    struct hr_trained trained;
    /* Writer: the launcher. */
    alignas(HR_LINE) struct hr_atom64 saves_done; /* partner: workers before they arrive at a cut */
};

/* --- which evaluation was the best? ---
 *
 * Functions of the curve alone: so a resumed run, which has the whole curve, decides as one that
 * was never stopped, and a replay as the run that was recorded.
 *
 * Evaluations at the ends of epochs are compared. One inside of an epoch, where a run ended that
 * was told to (--max-steps, a budget), is none that it would have had, had it gone on at once.
 *
 * What is compared was measured on the validation split, or without one on the test set.
 * Test: tests/unit/session/test_best.c */
struct hr_best {
    bool any;     /* none was a number: there is no best */
    size_t point; /* of the curve */
    double value; /* what the metric was there */
    double mark;  /* what it was at the last improvement by more than min_delta, */
    size_t since; /* and evaluations behind that which were compared; without a best all */
};

/* The best of n evaluations, the first of those that are equal. An improvement is by more than
 * rule->min_delta on the last improvement: many small ones are one in the end. */
struct hr_best hr_best_of(const struct hr_early_stop *rule, const struct hr_curve_point *curve,
                          size_t n);

/* Are there as many evaluations behind it as the patience bears? */
static inline bool hr_best_is_over(const struct hr_early_stop *rule, const struct hr_best *best)
{
    return rule->asked && best->since >= rule->patience;
}

/* A copy of the weights of the best evaluation, for runs that end with them (--early-stop).
 *
 * Two places in the segment, written by turns: the leader may be lost while it copies, and then the
 * copy before stands.
 *
 * Threads: keep: the leader, at a cut; last: the launcher, who saves before the next cut, and after
 *          the run. Test: tests/unit/train/test_early_stop.c */
struct hr_best_weights {
    struct hr_atom64 *kept; /* how many copies were made: the last one is place[kept % 2]. NULL: no
                               run ends with them. Writer: the leader, or before it whoever loads a
                               checkpoint */
    float *place[2];        /* (params) */
    size_t params;
};

/* For whoever writes them by himself: (params) where the next ones go, then that they are there. */
float *hr_best_weights_next(const struct hr_best_weights *best);
void hr_best_weights_done(const struct hr_best_weights *best);
/* Nothing, where `kept` is NULL. */
void hr_best_weights_keep(const struct hr_best_weights *best, const float *weights);
/* NULL: there is none yet. */
float *hr_best_weights_last(const struct hr_best_weights *best);

/* --- cuts --- */

/* What was done before this run, where it goes on from a checkpoint; else all 0. */
struct hr_history {
    uint64_t samples, updates;
    double seconds; /* of training */
    size_t points;  /* of the curve */
    uint64_t steps; /* steps since the first run began = index + this, mod 2^64 */
    bool in_epoch;  /* it broke off in the middle of an epoch of this run's size */
};

struct hr_cuts {
    struct hr_cut *cut;
    struct hr_curve_point *curve; /* (curve_room) in the segment */
    size_t curve_room;
    const struct hr_batch_schedule *schedule;
    struct hr_save_request *request; /* in the segment; NULL: nobody asks */
    struct hr_control *control;      /* its launcher hears of every cut */
    bool saves;                      /* checkpoints are wanted */
    struct hr_early_stop early_stop, keep_best;
    bool validates; /* what is measured is of a validation split (data/held_out.h) */
    bool values;    /* the model predicts values, and no classes */
    bool text;      /* or tokens */
    struct hr_history history;
};

/* Has the launcher copied the previous snapshot, so that it may be overwritten? (hr_ready_fn) */
bool hr_cut_may_arrive(void *cut);

/* All workers are at `index`; stop: the request seen so far. The caller has set cut->again and when
 * the span ended. Once is as good as twice, here too. */
void hr_cut_decide(const struct hr_cuts *cuts, uint64_t index, enum hr_stop stop);

/* What was measured, as the test split's, is the validation split's where there is one. Once is as
 * good as twice. */
struct hr_curve_point hr_cut_measured(const struct hr_cuts *cuts, struct hr_curve_point point);

/* Losses, accuracy and epoch are the engine's; samples and seconds are filled in here, and whose
 * the measures are. The leader has written cut->trained before. A point that is the best so far is
 * saved (--keep best=); when too many are not, the run ends here (--early-stop). Once is as good as
 * twice at one cut: its leader may have died on the way. */
void hr_cut_add_point(const struct hr_cuts *cuts, struct hr_curve_point point);

/* Would this point, as hr_cut_measured gives it, be the best by --early-stop? */
bool hr_cut_improves(const struct hr_cuts *cuts, const struct hr_curve_point *point);
/* The best so far by one of the two rules; does the current cut have it? */
struct hr_best hr_cut_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule);
bool hr_cut_is_best(const struct hr_cuts *cuts, const struct hr_early_stop *rule);

/* A pause (strategy/pause.h) is no cut: as if all stood at `index`, having trained that much, ask
 * the launcher to save. What was there before is returned, to be put back when it has. */
struct hr_cut_words {
    uint64_t index;
    int64_t train_ns;
    struct hr_trained trained;
    bool evaluate;
};
struct hr_cut_words hr_cut_pause(const struct hr_cuts *cuts, uint64_t index,
                                 const struct hr_trained *trained, int64_t now_ns);
void hr_cut_end_pause(const struct hr_cuts *cuts, const struct hr_cut_words *had);

/* Ask the launcher to save, if that was decided, and wake it. Where the leader dies in it, and the
 * cut is not among the concluded ones, it is done once more by another. */
void hr_cut_conclude(const struct hr_cuts *cuts);

/* Steps since the first run began, at the current cut: the index, unless an earlier run had steps
 * of another size. They only grow, so the newest checkpoint has the most. */
uint64_t hr_cut_step(const struct hr_cuts *cuts);

#endif
