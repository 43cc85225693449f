/* resume.h - the checkpoint that a run goes on from: read before anything is prepared, and asked
 * whether there is anything left to do. save.h has what stands between: hr_resume_position.
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

/* options->resume, where there is one: the checkpoint; options->resume names it, of a folder's; and
 * *dataset becomes one in which what the checkpoint calls class 1 is class 1. Close it whatever
 * the outcome. */
HR_CHECKED enum hr_status hr_resume_open(struct hr_train_options *options,
                                         const struct hr_dataset **dataset, struct hr_resume *out);
/* Harmless on a zeroed struct. */
void hr_resume_close(struct hr_resume *resume);

/* Does the run stand where it ends? HR_E_USAGE, unless options->finished_ok: then a line says so,
 * and its result, of no steps, names the checkpoint. */
HR_CHECKED enum hr_status hr_resume_finished(const struct hr_saver *saver,
                                             const struct hr_checkpoint *checkpoint,
                                             struct hr_run_result *result, bool *finished);

#endif
