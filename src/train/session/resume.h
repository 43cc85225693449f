/* resume.h - reads the checkpoint that a run goes on from, and tells whether the run has already
 * ended. Between the two comes hr_resume_position (save.h).
 *
 * Threads: before the ranks start.
 */
#ifndef HR_SESSION_RESUME_H
#define HR_SESSION_RESUME_H

#include "session/class_names.h"
#include "session/save.h"

struct hr_resume {
    struct hr_checkpoint *checkpoint; /* owned; NULL: the run begins anew */
    struct hr_class_view classes;
};

/* Load options->resume, if set. A folder there is replaced by the path of the checkpoint chosen,
 * and *dataset by a view that numbers classes as the checkpoint does. Close it even on error. */
HR_CHECKED enum hr_status hr_resume_open(struct hr_train_options *options,
                                         const struct hr_dataset **dataset, struct hr_resume *out);
/* Harmless on a zeroed struct. */
void hr_resume_close(struct hr_resume *resume);

/* Has the run already ended? Then HR_E_USAGE, or with options->finished_ok a line that says so, and
 * a result of no steps that names the checkpoint. */
HR_CHECKED enum hr_status hr_resume_finished(const struct hr_saver *saver,
                                             const struct hr_checkpoint *checkpoint,
                                             struct hr_run_result *result, bool *finished);

#endif
