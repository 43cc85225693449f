/* steps.h - the folder of checkpoints: which steps are there, and how they come and go.
 *
 *     DIR/step-00000500          a checkpoint
 *     DIR/step-00000500.old      one that is being replaced, only where the file system cannot
 *                                exchange two names in one call
 *     DIR/latest, DIR/best       -> step-00000500 (links.h)
 *     DIR/.run                   whose they are (claim.h)
 *     DIR/.tmp-*.<pid>.<random>  being written, or being removed
 *     DIR/step-00000500.aside    what stood where a step came, and was none
 *
 * A name appears and disappears by one rename of a folder that is written and synced: so a crash
 * leaves the old one or the new one, and none half.
 *
 * Threads: one a folder; several processes may use it. Test: tests/unit/checkpoint/test_steps.c
 */
#ifndef HR_CHECKPOINT_STEPS_H
#define HR_CHECKPOINT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"

#define HR_RUN_FILE ".run"

struct hr_step_name {
    char text[32]; /* "step-00000500" */
};
struct hr_step_name hr_step_name(uint64_t step);

struct hr_saved_step {
    uint64_t step;
    bool old; /* the .old one */
    struct hr_step_name name;
};

/* The steps of dir by name, highest first, .old after its twin; not verified. free() them. */
HR_CHECKED enum hr_status hr_steps_list(const char *dir, struct hr_saved_step **steps,
                                        size_t *count);

/* out = a name in dir that nobody else uses: dir/.tmp-<what>.<pid>.<random> */
HR_CHECKED enum hr_status hr_steps_temporary(const char *dir, const char *what,
                                             char out[HR_PATH_MAX]);

/* HR_E_IO by errno: a rename has failed. */
HR_CHECKED enum hr_status hr_steps_fail_rename(const char *from, const char *to);

/* Does hogring give that name to a step? */
bool hr_steps_is_name(const char *name);

/* HR_OK: the folder is a checkpoint of that step, by its manifest, and holds nothing else. Whatever
 * removes or replaces a step asks here: what hogring did not write stays. HR_E_USAGE says what is
 * in the way; HR_E_IO, HR_E_NOMEM: what it holds is not known. */
HR_CHECKED enum hr_status hr_steps_check_ours(const char *folder, uint64_t step);

/* Remove a checkpoint's files, and the folder. HR_E_IO: it holds something else, which stays. */
HR_CHECKED enum hr_status hr_steps_remove(const char *folder);

/* Remove one step, if hr_steps_check_ours is HR_OK. */
HR_CHECKED enum hr_status hr_steps_discard(const char *dir, const struct hr_saved_step *step);

struct hr_publish {
    const char *dir, *temporary; /* `temporary` becomes dir/step-%08llu */
    uint64_t step;
    bool exchange; /* may swap two names at once; false: tests, and file systems that cannot */
};

/* Give a synced temporary folder its name, durably; then remove the folder that had that name.
 *   published   out: true once it has the name, even if the sync after that fails and nothing is
 *               removed */
HR_CHECKED enum hr_status hr_steps_publish(const struct hr_publish *publish, bool *published);

/* Remove this user's .tmp-* of processes that have ended. Failure is only a warning. */
HR_CHECKED enum hr_status hr_steps_remove_leftovers(const char *dir);

#endif
