/* check.h - what hogring verify checks: one claim a file.
 *
 * A *check* is a claim, and a function that tries one *case* of it. Cases have numbers; all that a
 * case draws follows from the seed, the check and its number, so that one that failed comes again.
 * Each case runs in a process of its own (trial.c): it may crash, hang, start threads or fork, and
 * begins as the first did.
 *
 * A claim that does not hold is HR_E_FAILED, with both sides in the message. HR_E_NOMEM, HR_E_SHM,
 * HR_E_IO and HR_E_KERNELS say that it cannot be tried here; anything else is a failure, too.
 *
 * Threads: a trial belongs to the thread that runs the case.
 */
#ifndef HR_VERIFY_CHECK_H
#define HR_VERIFY_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hogring/train.h"
#include "base/error.h"

struct hr_trial;

struct hr_check {
    const char *name;
    const char *claim; /* at most 29 characters, as a table has it */
    const char *story; /* and in a sentence or two */
    const char *what;  /* is compared: "runs", "sums" */
    enum hr_status (*run)(struct hr_trial *trial);
};

struct hr_trial {
    const struct hr_check *check;
    uint64_t seed, number;
    uint64_t draws;                   /* so far */
    const struct hr_dataset *dataset; /* the digits */
    char folder[512];                 /* there once hr_trial_folder was called */

    uint64_t compared; /* of check->what */
    double worst; /* largest error of what is equal to rounding; NaN: all is equal to the bit */

    struct hr_train_options base, first; /* hr_trial_options; the run that others must equal */
    char want[33];                       /* its digest; "" before */
};

/* --- draws --- */

/* 0 .. n - 1 */
size_t hr_trial_draw(struct hr_trial *trial, size_t n);
/* One of the names of a list that NULL ends. */
const char *hr_trial_pick(struct hr_trial *trial, const char *const *names);

/* --- runs --- */

/* A run of milliseconds under these: model, optimizer, rate, batch size and seed are drawn, the
 * same for all of a case. */
struct hr_train_options hr_trial_options(struct hr_trial *trial, const char *strategy,
                                         size_t workers);
/* Which strategies a claim is of, by what the table says of them:
 *   IN_STEP   all workers know beforehand what comes next: no order of events decides anything
 *   TOGETHER  all share a batch: as above, where nobody is left out (--backups 0)
 *   ORDERED   the order in which inputs are taken decides bits
 *   PLAIN     it keeps weights and optimizers' states alone: with one worker it is serial */
enum hr_trial_of { HR_TRIAL_IN_STEP, HR_TRIAL_TOGETHER, HR_TRIAL_ORDERED, HR_TRIAL_PLAIN };
/* The i-th of them; NULL: behind the last. One of them, drawn. */
const char *hr_trial_strategy(enum hr_trial_of of, size_t i);
const char *hr_trial_pick_strategy(struct hr_trial *trial, enum hr_trial_of of);
/* Has the strategy servers, of which there may be several? Does it obey an option of its own? */
bool hr_trial_served(const char *strategy);
bool hr_trial_obeys(const char *strategy, const char *option);
/* Put text into a field of options that is an array. */
#define HR_SAY(field, ...) ((void)snprintf(field, sizeof(field), __VA_ARGS__))

/* Train; the digest is that of the first run of this case, or HR_E_FAILED names the options in
 * which the two differ. */
HR_CHECKED enum hr_status hr_trial_same(struct hr_trial *trial,
                                        const struct hr_train_options *options);
/* The same of a run that is over, which was made `how` beside its options. */
HR_CHECKED enum hr_status hr_trial_same_digest(struct hr_trial *trial,
                                               const struct hr_train_options *options,
                                               const char *how, const char *digest);
/* Forget the first run: another begins. */
void hr_trial_anew(struct hr_trial *trial);

/* A folder for files of this case, made when it is first asked for. HR_E_IO. */
HR_CHECKED enum hr_status hr_trial_folder(struct hr_trial *trial);

/* --- the checks, as they are listed --- */

#define HR_CHECKS(X)                                                                               \
    X(one_worker)                                                                                  \
    X(synchronous)                                                                                 \
    X(repro)                                                                                       \
    X(processes)                                                                                   \
    X(virtual_time)                                                                                \
    X(any_order)                                                                                   \
    X(buckets)                                                                                     \
    X(pipelines)                                                                                   \
    X(tensor)                                                                                      \
    X(resume)                                                                                      \
    X(replay)                                                                                      \
    X(rounding)                                                                                    \
    X(collectives) X(products) X(rows_alone) X(instructions) X(rings) X(parking) X(memory)

#define HR_CHECK_DECLARE(name) extern const struct hr_check hr_check_##name;
HR_CHECKS(HR_CHECK_DECLARE)
#undef HR_CHECK_DECLARE

#endif
