/* parts.h - one dense run: all of its parts, and who uses which.
 *
 *   job          constants, and what all ranks share          job.h
 *   leader       decides at cuts                              leader.h
 *   launcher     shows, saves, passes on requests             session/launcher.h
 *   drive        decides whose turn it is                     driver.h
 *   saver        how the state is written and read            session/save.h, state.h
 *   final_test   the test set, where a validation split is held out
 *
 * Threads: the launcher's; ranks use only the parts listed above.
 */
#ifndef HR_STATE_PARTS_H
#define HR_STATE_PARTS_H

#include "base/memory.h"
#include "data/held_out.h"
#include "options/budget.h"
#include "session/machine_bits.h"
#include "session/save.h"
#include "strategy/compression.h"
#include "drive/driver.h"
#include "session/carve.h"

/* The test set of a run that holds out a validation split: read once, after training. */
struct hr_final_test {
    struct hr_held_out held_out;      /* its dataset is job.dataset */
    const struct hr_dataset *dataset; /* whose test split it is; NULL: no samples are held out */
    struct hr_tested tested;
    struct hr_train_job job; /* of the rank that reads it: the run's, but for these */
};

struct hr_machines;
struct hr_multinode;

struct hr_run {
    struct hr_train_options options; /* resolved: job.options */
    struct hr_run_length length;
    struct hr_train_job job;
    struct hr_shared_state shared; /* job.shared */
    struct hr_leader leader;
    struct hr_launcher launcher;
    struct hr_drive drive;
    struct hr_saver saver;
    struct hr_run_result *result;
    struct hr_machines *machines;      /* borrowed; NULL: there is one, and then nothing of: */
    struct hr_multinode *multinode;    /* owned: what joins it to the others (multinode.h) */
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

#endif
