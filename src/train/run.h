/* run.h - one dense run: all of its parts, and who uses which.
 *
 *   job          constants, and what all ranks share          job.h
 *   leader       decides at cuts                              cut_counts.h
 *   launcher     shows, saves, passes on requests             session/launcher.h
 *   drive        decides whose turn it is                     driver.h
 *   saver        how the state is written and read            session/save.h, state.h
 *   final_test   the test set, where a validation split is held out
 *
 *   run.c        prepare.c -> needs.c -> shared_memory.c -> initial state -> driver -> result.c
 *   prepare.c    options -> constants, with optimizer_setup.h and links_setup.h
 *
 * Threads: the launcher's; ranks use only the parts listed above.
 */
#ifndef HR_TRAIN_RUN_H
#define HR_TRAIN_RUN_H

#include "base/needs.h"
#include "data/held_out.h"
#include "options/budget.h"
#include "session/machine_bits.h"
#include "session/resume.h"
#include "session/save.h"
#include "strategy/compression.h"
#include "drive/driver.h"
#include "session/carve.h"

/* The test set of a run that holds out a validation split: read once, after training. */
struct hr_final_test {
    struct hr_held_out held_out;      /* its dataset is job.dataset */
    const struct hr_dataset *dataset; /* whose test split it is; NULL: no samples are held out */
    struct hr_eval_cell *cells;       /* its blocks, in the segment */
    double *errors;                   /* as job.errors */
    uint32_t *answers;                /* in the segment, where they are wanted; else NULL */
    struct hr_train_job job;          /* of the rank that reads it: the run's, but for these */
};

struct hr_machines;
struct hr_several;

struct hr_run {
    struct hr_train_options options; /* settled: job.options */
    struct hr_run_length length;
    struct hr_train_job job;
    struct hr_shared_state shared; /* job.shared */
    struct hr_leader leader;
    struct hr_launcher launcher;
    struct hr_drive drive;
    struct hr_saver saver;
    struct hr_run_result *result;
    struct hr_machines *machines;      /* borrowed; NULL: there is one, and then nothing of: */
    struct hr_several *several;        /* owned: what joins it to the others (several.h) */
    struct hr_areas areas;             /* of the segment: what is alike on all machines */
    void *meet_words;                  /* in the segment */
    struct hr_needs needs;             /* what it takes */
    struct hr_param_segment *tensors;  /* (tensors) owned: what the optimizer knows of the model */
    struct hr_compression compression; /* shared.compression */
    struct hr_rule own_rule;           /* of options.update_rule; else unused */
    struct hr_segment control_segment, segment;
    struct hr_resume resume;
    struct hr_final_test final_test;
    int64_t batches_saved; /* batchnorm's counter in a checkpoint */
    int64_t wall_began_ns; /* by the machine's clock */
    int64_t cpu_began_ns;  /* hr_clock_cpu_ns */
    uint64_t applied;      /* updates ever made to the first copy of the state before this run */
};

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
/* Give all of it back, the run, too; but for its files nothing, if a thread that did not end still
 * uses it (drive.stuck). */
void hr_run_finish(struct hr_run *run);

/* --- shared_memory.c: what the ranks share, and its bytes, by name */
HR_CHECKED enum hr_status hr_memory_needs(struct hr_run *run, struct hr_needs *needs);
HR_CHECKED enum hr_status hr_memory_take(struct hr_run *run);

/* --- links_setup.c: the group's options, and the links' words in the segment */
HR_CHECKED enum hr_status hr_links_setup(struct hr_run *run);

/* --- final_test.c */
/* With --validation-fraction part job.dataset. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_final_test_prepare(struct hr_run *run);
/* Of its cells in the segment. */
size_t hr_final_test_bytes(const struct hr_run *run);
size_t hr_final_test_errors(const struct hr_run *run);
size_t hr_final_test_answers(const struct hr_run *run);
/* Behind hr_result_fill: what the final weights come to on the test set, where it has not been read
 * yet, and the answers, where they are wanted. An interrupted run leaves it to the one that goes
 * on. */
HR_CHECKED enum hr_status hr_final_test(struct hr_run *run);

/* --- announce.c */
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_announce(const struct hr_run *run);
/* What multiplies: "OpenBLAS 0.3.21 Zen, tiles v3", "bf16, tiles v4bf16"; static storage. */
const char *hr_run_kernels(const struct hr_run *run);

/* --- result.c */
HR_CHECKED enum hr_status hr_result_fill(struct hr_run *run);

#endif
