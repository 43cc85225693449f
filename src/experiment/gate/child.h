/* child.h - a hogring that is run by another: its JSON, and how it ended.
 *
 *     struct hr_gate_child child = {.binary = path, .folder = temporary, .quiet = true};
 *     HR_TRY(hr_gate_child_run(&child, &words, "new.json", &document));
 *
 * Threads: none; forks. What is interrupted here is there, too: its group of processes has a second
 * to end itself.
 * Test: tests/unit/gate/test_child.c, tests/cli/gate.bats
 */
#ifndef HR_GATE_CHILD_H
#define HR_GATE_CHILD_H

#include <stdbool.h>

#include "base/path.h"
#include "gate/document.h"

struct hr_gate_child {
    const char *binary; /* a path, or a name in PATH */
    const char *folder; /* for its files */
    bool quiet;         /* it shows no progress on stderr */
    double most_s;      /* seconds until it is ended, and all that it started; 0: any number */
};

/* A folder of its own for files in between; hr_gate_folder_remove it. HR_E_IO. */
HR_CHECKED enum hr_status hr_gate_folder_make(char folder[HR_PATH_MAX]);
void hr_gate_folder_remove(const char *folder);

/* HR_E_USAGE: there is no such program, or nobody may run it. */
HR_CHECKED enum hr_status hr_gate_child_check(const char *option, const char *binary);

/* Run it, and read the JSON that it writes: of runs that failed, too (exit 1, 4). HR_E_USAGE: it
 * refused the command line, with its last line on stderr; HR_E_IO: there is no such program, or it
 * left no JSON, or took too long; HR_E_INTERRUPTED; HR_E_FORMAT as hr_gate_read. */
HR_CHECKED enum hr_status hr_gate_child_run(const struct hr_gate_child *child,
                                            const struct hr_gate_words *words, const char *name,
                                            struct hr_gate_document *out);

#endif
