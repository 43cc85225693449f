/* outcome.h - outputs, checked before a command begins; and what train and compare do with finished
 * runs: JSON, plot, expectations. */
#ifndef HR_WATCH_OUTCOME_H
#define HR_WATCH_OUTCOME_H

#include "options/command_line.h"
#include "json/documents.h"

/* Of every command, before it begins: refuse what could only fail after hours, an accuracy
 * above 1, an unknown picture format or an output that cannot be written. (--record, --calibrate
 * and --checkpoint-dir are taken by training when it starts.) */
HR_CHECKED enum hr_status hr_outcome_check(const struct hr_cli *cli);
/* HR_E_USAGE: two outputs are one file, by whatever names; or an output is what the command has
 * read, or will, and would be gone (base/inputs.h). What is no regular file, as /dev/null, is not
 * looked at. Once when all options are known, and again when the data are: a checkpoint, a trace or
 * a configuration may have named them. */
HR_CHECKED enum hr_status hr_apart_check(const struct hr_cli *cli);
/* When the data are there: refuse to expect an accuracy of values, or an rmse of classes. */
HR_CHECKED enum hr_status hr_outcome_check_task(const struct hr_cli *cli,
                                                const struct hr_dataset *dataset);

/* Does a path have the ending of a page of HTML? */
bool hr_outcome_is_page(const char *path);

/* Is there anything that would show what each test sample was answered with? */
bool hr_outcome_wants_answers(const struct hr_cli *cli);

/* When training begins: what an earlier run wrote to --json, --plot and --report goes; whatever is
 * there in the end is of this one. */
HR_CHECKED enum hr_status hr_outcome_forget(const struct hr_cli *cli);

/* What a command has found out, for programs, as a page and as a picture: makes the document of
 * `rest` (json/value.h), which is released, with a title (NULL: none), and writes it to --json, its
 * page to --report and its picture to --plot; "": not asked for. Files are replaced as a whole.
 * HR_E_IO, HR_E_NOMEM; HR_E_USAGE: there is nothing to draw. */
HR_CHECKED enum hr_status hr_publish(const struct hr_cli *cli, const char *title, json_t *rest);

/* The same of runs; where no run ended well, there is no picture. */
HR_CHECKED enum hr_status hr_outcome_write(const struct hr_cli *cli,
                                           const struct hr_dataset *dataset,
                                           const struct hr_endings *endings);

/* Which files were written: "report          run.html", a line each; and where the rest is. */
void hr_outcome_say(const struct hr_cli *cli, FILE *out);

/* HR_E_EXPECTATION when a run missed --expect-accuracy or --expect-digest. */
HR_CHECKED enum hr_status hr_outcome_expect(const struct hr_cli *cli,
                                            const struct hr_run_result *runs, size_t n);

/* A run failed. If it had begun, --json says so: no run ended well, and why this one failed.
 * Returns `status` with its message. */
HR_CHECKED enum hr_status hr_outcome_failed(const struct hr_cli *cli,
                                            const struct hr_dataset *dataset, bool begun,
                                            enum hr_status status);

/* Where the table goes: stdout, or stderr when stdout carries JSON. */
FILE *hr_outcome_stream(const struct hr_cli *cli);

#endif
