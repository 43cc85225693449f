/* links.h - names in a folder of checkpoints that point at one of its steps: `latest` and `best`.
 *
 * A link is replaced by one rename, so it is the old one or the new one. Trouble costs a warning:
 * loading trusts manifests alone.
 *
 * Threads: one a folder.      Test: tests/unit/checkpoint/test_steps.c
 */
#ifndef HR_CHECKPOINT_LINKS_H
#define HR_CHECKPOINT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#define HR_LATEST "latest"
#define HR_BEST "best"

/* Point dir/name at a step. What is there and is no link to a step is the user's, and stays. */
void hr_link_point(const char *dir, const char *name, uint64_t step);
/* Remove it; if it is one. */
void hr_link_remove(const char *dir, const char *name);
/* Does it point there? */
bool hr_link_points(const char *dir, const char *name, uint64_t step);

#endif
