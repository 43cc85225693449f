/* run.h - a dense run (state/parts.h) from options to its result.
 *
 *   run.c        prepare.c -> shared_memory.c -> initial state -> driver -> dense_result.c
 *   prepare.c    options -> constants, with optimizer_setup.h and pipeline_setup.h
 *
 * Threads: the launcher's.
 */
#ifndef HR_TRAIN_RUN_H
#define HR_TRAIN_RUN_H

#include "base/error.h"
#include "hogring/train.h"
#include "state/parts.h"

/* Arguments of hr_train, hr_replay_run and hr_replay_what_if. */
struct hr_train_call {
    const struct hr_train_options *options;
    const struct hr_replay *replay;        /* a trace to be done once more, or NULL */
    const struct hr_recorded_times *times; /* that gradients take in virtual time, or NULL */
    const struct hr_dataset *dataset;
    const struct hr_observer *observer; /* or NULL */
    const struct hr_chooser *chooser;   /* of the events of an explored run, or NULL */
    struct hr_machines *machines;       /* of a run on several, on each with the same; or NULL. Only
                                           machine 0 has a result */
};
HR_CHECKED enum hr_status hr_train_call(const struct hr_train_call *call,
                                        struct hr_run_result *result);

/* --- prepare.c */
/* A run of these options, zeroed before, of malloc. Call hr_run_finish also after an error. */
void hr_run_begin(struct hr_run *run, const struct hr_train_call *call);
/* Set the run's constants from the options. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_run_prepare(struct hr_run *run);
/* Batchnorm measures the values of a channel, of which a share of one sample may have a single
 * one. HR_E_USAGE where no share has more; else `note` (size) out: which shares are left out; "":
 * none. */
enum { HR_BATCHNORM_NOTE = 200 };
HR_CHECKED enum hr_status hr_batchnorm_check(const struct hr_run *run, char *note, size_t size);
/* Give all of it back, the run, too; but for its files nothing, if a thread that did not end still
 * uses it (drive.stuck). */
void hr_run_finish(struct hr_run *run);

/* --- shared_memory.c: what the ranks share, and its bytes, by name */
HR_CHECKED enum hr_status hr_memory_take(struct hr_run *run);

/* --- evaluate.c: the test set, read once, where a validation split was held out */
/* With --validation X part job.dataset. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_final_test_prepare(struct hr_run *run);
/* Behind hr_result_fill: what the final weights come to on the test set, where it has not been read
 * yet, and the answers, where they are wanted. An interrupted run leaves it to the one that goes
 * on. */
HR_CHECKED enum hr_status hr_final_test(struct hr_run *run);

/* --- announce.c */
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_announce(const struct hr_run *run);
/* What multiplies: "OpenBLAS 0.3.21 Zen, tiles v3", "bf16, tiles v4bf16"; static storage. */
const char *hr_run_kernels(const struct hr_run *run);

/* --- dense_result.c */
HR_CHECKED enum hr_status hr_result_fill(struct hr_run *run);

/* --- prepare.c: what is checked and said on the way */

/* --task, and labels that look like values (data/look.h): HR_E_USAGE. Classes that --classes names
 * are not looked at. Test: tests/cli/classes.bats */
HR_CHECKED enum hr_status hr_task_check(const struct hr_train_options *options,
                                        const struct hr_dataset *dataset);
/* --early-stop and --keep best=METRIC by what is measured of such labels. HR_E_USAGE. */
HR_CHECKED enum hr_status hr_task_check_metrics(const struct hr_train_options *options,
                                                const struct hr_dataset *dataset);

/* With --overlap on: in how many parts a push leaves; "": nothing is pushed, or it is off.
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_overlap_text(const struct hr_run *run, char *text, size_t size);

/* "topk:1%: 18.8 KB a worker and step, 1.9 MB without", for people; "" where nothing is. */
void hr_compress_text(const struct hr_run *run, char *text, size_t size);

/* For people: who pushes; "": on one machine, and without servers. */
void hr_aggregate_text(const struct hr_run *run, char *text, size_t size);

#endif
