/* save.h - the state at a cut as a checkpoint, and where a run goes on from one.
 *
 * How an engine plugs in: it fills a struct hr_saver. hr_save asks it for its tensors and metadata
 * and adds what all runs have; the position in the data is kept in samples, so that a run with
 * other workers or batches can go on from it. To go on:
 *
 *     hr_resume_position      before the segment exists: compares data, seed, model; the position
 *     hr_past_restore         when it exists: the curve (past.h); the engine loads its tensors
 *     hr_save_prepare         the folder is this run's, and has room
 *     hr_kept_check           other kernels than before? (kept.h)
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_SESSION_SAVE_H
#define HR_SESSION_SAVE_H

#include "checkpoint/claim.h"
#include "session/cut.h"

struct hr_saver {
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
    struct hr_cuts *cuts;
    struct hr_batch_schedule *schedule; /* where it goes on: `first` */
    const char *model;                  /* layers or name, as hogring.model has it */
    const char *strategy, *optimizer;
    size_t workers, batch_size;
    struct hr_claim claim; /* of options->checkpoint_dir; drop it at the end */
    struct {
        bool any;
        uint64_t step; /* that `best` points at (--keep-best) */
    } best;
    /* The engine's own, which lives until hr_save returns: */
    size_t tensors;  /* at most, in either file */
    size_t metadata; /* at most, in either file */
    size_t bytes;    /* of all its tensors */
    void (*describe)(void *engine, struct hr_tensor_file *model, struct hr_tensor_file *trainer);
    void *engine;
};

/* Claim options->checkpoint_dir, if set, for the run that begins, or goes on from `from`; check
 * that there is room. */
HR_CHECKED enum hr_status hr_save_prepare(struct hr_saver *saver, const struct hr_checkpoint *from);

/* Save to options->checkpoint_dir; path (size bytes) out, untouched on error. */
HR_CHECKED enum hr_status hr_save(struct hr_saver *saver, char *path, size_t size);

/* Sets schedule->first, cuts->past and room for its curve. HR_E_USAGE: of another model, data or
 * seed; or in the middle of one of this run's batches. */
HR_CHECKED enum hr_status hr_resume_position(struct hr_saver *saver,
                                             const struct hr_checkpoint *checkpoint);

#endif
