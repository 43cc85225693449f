/* resume.h - a run that goes on is the run that began: what is not given comes from its checkpoint.
 */
#ifndef HR_WATCH_RESUME_H
#define HR_WATCH_RESUME_H

#include "options/command_line.h"

/* Where --resume names a checkpoint: put its options and data in place of those that were not
 * given, note of each that was given otherwise what it was, and name the checkpoint itself in
 * cli->train.resume. --resume auto: the newest of --checkpoint-dir, or none where there
 * is none. Of checkpoints that do not hold their options a line says so. Without --resume: nothing.
 * HR_E_IO also where another process trains into --checkpoint-dir. */
HR_CHECKED enum hr_status hr_cli_resume(struct hr_cli *cli);

/* Say those notes, one line each: when the run begins, and not before it is refused. */
void hr_cli_resume_say(const struct hr_cli *cli);

#endif
