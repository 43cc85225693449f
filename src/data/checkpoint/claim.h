/* claim.h - a folder of checkpoints belongs to one run; nobody else writes into it meanwhile.
 *
 *     DIR/.run    16 hex digits that name the run, as "run" does in its checkpoints; locked by the
 *                 process that trains
 *
 * A run keeps its name when it is resumed, in any process or folder. The lock is fcntl's, not
 * flock's: it tells who holds it, and forked workers do not inherit it, so it ends with the
 * launcher, which alone saves. (It also ends when the process closes any descriptor of the file;
 * nothing else here opens it.) Somebody who may read the file can have a lock for reading on it
 * when a run begins: another file takes its place then.
 *
 * Threads: none. Test: tests/unit/checkpoint/test_claim.c
 */
#ifndef HR_CHECKPOINT_CLAIM_H
#define HR_CHECKPOINT_CLAIM_H

#include <stdbool.h>

#include "base/error.h"
#include "hogring/checkpoint.h"

#define HR_RUN_KEY "run" /* in the trainer's metadata */

struct hr_claim {
    int fd; /* 0: nothing is claimed */
    char run[17];
};

/* A run that asks for the folder. */
struct hr_claimant {
    const char *dir;
    const struct hr_checkpoint *from; /* NULL: the run begins */
    bool overwrite;                   /* remove what is not of this run, or newer than `from` */
};

/* Check that nobody trains into the folder; else HR_E_IO says who. Changes nothing. */
HR_CHECKED enum hr_status hr_claim_check_free(const char *dir);

/* The checkpoint of that name, or the folder of them, and what is beside it in that folder, is
 * read: no output may take the place of any of its files (base/inputs.h). */
void hr_checkpoint_note(const char *path);

/* Would hr_claim_take succeed? Changes nothing. */
HR_CHECKED enum hr_status hr_claim_check(const struct hr_claimant *claimant);

/* Make and lock the folder; name the run. Points `latest` at `from`, which is the newest that
 * verifies.
 *   claim   out: drop it with hr_claim_drop
 * HR_E_USAGE: it holds another run, or newer steps of this one; says the ways out.
 * HR_E_IO: another process trains there (says which), or a file operation failed. */
HR_CHECKED enum hr_status hr_claim_take(const struct hr_claimant *claimant, struct hr_claim *claim);
/* Before each save: the folder may have been removed, renamed, or have lost DIR/.run. Then it is
 * made and locked again, with a warning; HR_E_IO: another run is there now. */
HR_CHECKED enum hr_status hr_claim_keep(struct hr_claim *claim, const char *dir);
void hr_claim_drop(struct hr_claim *claim); /* harmless on a zeroed one */

#endif
