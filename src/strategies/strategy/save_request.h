/* save_request.h - somebody asks for a checkpoint, of a run that is not at a cut: nobody begins
 * another batch, all come to rest, save, and go on. Or for a cut alone, of which a run that
 * outlives losses keeps a copy to go back to (drive/losses.h); any cut will do.
 *
 * Threads: atomics; each word has one writer.
 * Test:    tests/unit/train/test_save_requests.c
 */
#ifndef HR_STRATEGY_SAVE_REQUEST_H
#define HR_STRATEGY_SAVE_REQUEST_H

#include <stdbool.h>

#include "shm/atom.h"

struct hr_save_request {
    alignas(HR_LINE) struct hr_atom32 asked; /* how often. Writer: the launcher */
    struct hr_atom32 served; /* the last that a cut has served. Writer: the leader, at a cut */
    struct hr_atom32 copies_asked, copies_served; /* the same of a cut alone */
};

/* Each partner: the other's writer. */
static inline bool hr_copy_is_asked(const struct hr_save_request *request)
{
    return hr_atom32_load_acquire(&request->copies_asked) !=
           hr_atom32_load_acquire(&request->copies_served);
}

static inline bool hr_save_is_asked(const struct hr_save_request *request)
{
    return hr_atom32_load_acquire(&request->asked) != hr_atom32_load_acquire(&request->served);
}

#endif
