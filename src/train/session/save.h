/* save.h - the state at a cut as a checkpoint, and where a run goes on from one.
 *
 * How an engine plugs in: it fills a struct hr_saver, and lays out its copy. hr_save_take asks it
 * for its tensors and metadata, copies them, and adds what all runs have; hr_save_write writes that
 * while the run goes on (launcher.h makes both calls). The position in the data is kept in samples,
 * so that a run with other workers or batches can go on from it. To go on:
 *
 *     hr_resume_position      before the segment exists: compares data, seed, model; the position
 *     hr_saved_check          other kernels than before? (saved.h)
 *     hr_save_prepare         the folder is this run's, and has room
 *     hr_history_restore      when it exists: the curve; the engine loads its tensors
 *
 * Threads: before the ranks start, or the launcher's; but for hr_save_write, which shares nothing
 *          with the run.
 */
#ifndef HR_SESSION_SAVE_H
#define HR_SESSION_SAVE_H

#include "base/error.h"
#include "checkpoint/claim.h"
#include "hogring/checkpoint.h"
#include "hogring/run_result.h"
#include "session/cut.h"
#include "session/model_input.h"
#include "session/saved.h"

/* --json FILE,digests=N: of each save the digests of its tensors are kept, and no file is written.
 * What a save copies is what all ranks hold at a cut, or between two events, and a save is a pure
 * read: so the digests change no bit, and where two runs part they say in what first.
 *
 *     "0.weight"                   weights, and what else the model's file has
 *     "0.weight.momentum_buffer"   the optimizer's
 *     "worker.3.0.weight"          where each worker has its own
 *     "worker.3.loss"              samples and losses of worker 3 in this epoch: a row of the table
 *
 * One behind the other, by step. Test: tests/cli/digests.bats */
struct hr_step_digests {
    struct hr_step_digest *list; /* (n, room) owned: free() it */
    size_t n, room;
};

struct hr_saver {
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
    const struct hr_target_scale *targets; /* of models that predict values; or NULL */
    struct hr_cuts *cuts;
    struct hr_batch_schedule *schedule; /* where it goes on: `first` */
    const char *model;                  /* layers or name, as hogring.model has it */
    const char *optimizer;
    size_t batch_size;
    struct hr_claim claim; /* of options->checkpoint_dir; drop it at the end */
    struct {
        bool any;
        uint64_t step; /* that `best` points at (--keep best=METRIC) */
    } best;
    /* The engine's own; its tensors are copied as soon as they are described: */
    size_t tensors;  /* at most, in either file */
    size_t metadata; /* at most, in either file */
    size_t bytes;    /* of all its tensors, at most */
    void (*describe)(void *engine, struct hr_tensor_file *model, struct hr_tensor_file *trainer);
    void *engine;
    unsigned char *copy;     /* (hr_save_copy_bytes) of those tensors */
    struct hr_saving *taken; /* owned: what is being written; NULL: nothing */
    const char *losses;      /* the table of each worker's losses, a row a worker; NULL: none */
    struct hr_step_digests digests; /* owned: without a checkpoint_dir, of what was taken */
};

/* Claim options->checkpoint_dir, if set, for the run that begins, or goes on from `from`; check
 * that there is room. */
HR_CHECKED enum hr_status hr_save_prepare(struct hr_saver *saver, const struct hr_checkpoint *from);

/* Copy the state at the current cut: from then on the run may change it. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_save_take(struct hr_saver *saver);
/* Write what was taken to options->checkpoint_dir, or without one keep its digests; arg: a struct
 * hr_saver. In any thread. */
HR_CHECKED enum hr_status hr_save_write(void *saver);
/* Where to; of what is taken. */
const char *hr_save_path(const struct hr_saver *saver);
/* Forget what was taken. Harmless where nothing is. */
void hr_save_drop(struct hr_saver *saver);

/* Bytes that a copy of the state takes: the engine lays them out as `copy`. 0: nothing is saved. */
size_t hr_save_copy_bytes(const struct hr_saver *saver);

/* --- going on --- */

/* The checkpoint that a run goes on from; stays where it is opened. */
struct hr_resume {
    struct hr_checkpoint loaded;            /* owned */
    const struct hr_checkpoint *checkpoint; /* it; NULL: the run begins anew */
    struct hr_class_view classes;
};

/* Load options->resume, if set. A folder there is replaced by the path of the checkpoint chosen,
 * and *dataset by a view that numbers classes as the checkpoint does. Close it even on error. */
HR_CHECKED enum hr_status hr_resume_open(struct hr_train_options *options,
                                         const struct hr_dataset **dataset, struct hr_resume *out);
/* Harmless on a zeroed struct. */
void hr_resume_close(struct hr_resume *resume);

/* Sets schedule->first, cuts->history and room for its curve. HR_E_USAGE: of another model, data or
 * seed; or in the middle of one of this run's batches. */
HR_CHECKED enum hr_status hr_resume_position(struct hr_saver *saver,
                                             const struct hr_checkpoint *checkpoint);

/* Has the run already ended? Then HR_E_USAGE, or with options->finished_ok a line that says so, and
 * a result of no steps that names the checkpoint. */
HR_CHECKED enum hr_status hr_resume_finished(const struct hr_saver *saver,
                                             const struct hr_checkpoint *checkpoint,
                                             struct hr_run_result *result, bool *finished);

/* The segment exists: read the points of the curve, which continues as if training had never
 * stopped. Test: tests/unit/train/test_past.c */
HR_CHECKED enum hr_status hr_history_restore(const struct hr_checkpoint *checkpoint,
                                             const struct hr_cuts *cuts);
/* HR_E_USAGE: it has not the best weights by this run's rules. */
HR_CHECKED enum hr_status hr_history_check_best(const struct hr_checkpoint *checkpoint,
                                                const struct hr_cuts *cuts,
                                                const struct hr_train_options *options);

#endif
