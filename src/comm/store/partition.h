/* partition.h - which shard has which elements of which key.
 *
 *   All keys are laid end to end and cut into nshards stripes at multiples of a line (HR_LINE). A
 *   cut inside a key of at most HR_STORE_SMALL elements moves to that key's nearer end. What is
 *   left of a key in one stripe is a *part*:
 *
 *     keys    |----- 0 -----|-1-|2|------ 3 ------|
 *     shards  |     0     |    1    |      2      |
 *     parts   |     0     |1| 2 |3|4|     5       |
 *
 *   Parts are numbered as they lie, so those of a key follow each other, and those of a shard too.
 *   The largest stripe has at most HR_STORE_SMALL + a line more than an equal share.
 *
 * Memory: owned; make, then fini.
 * Test: tests/unit/store/test_partition.c
 */
#ifndef HR_STORE_PARTITION_H
#define HR_STORE_PARTITION_H

#include <stddef.h>

#include "base/error.h"
#include "hogring/store.h"

struct hr_part {
    size_t key, shard;
    size_t first, count; /* elements of the key; count > 0 */
};

struct hr_partition {
    size_t nkeys, nshards, nparts;
    struct hr_part *part; /* (nparts) */
    size_t *of_key;       /* (nkeys + 1) parts [of_key[k], of_key[k + 1]) are key k's, at least 1 */
    size_t *of_shard;     /* (nshards + 1) likewise, perhaps none */
};

/* keys[k].count > 0 elements each, together at most SIZE_MAX / 8. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_partition_make(struct hr_partition *partition,
                                            const struct hr_store_key *keys, size_t nkeys,
                                            size_t nshards);
void hr_partition_fini(struct hr_partition *partition);

/* Elements of a shard. */
size_t hr_partition_elems(const struct hr_partition *partition, size_t shard);

/* As hr_store_balance. */
void hr_partition_balance(const struct hr_partition *partition, char *text, size_t size);

#endif
