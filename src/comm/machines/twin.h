/* twin.h - which bytes of shared memory this machine has changed since the last meeting.
 *
 *     segment  [....|== area ==|.....|== area ==|...]     what ranks write, at rest now
 *     twin     [== area ==|== area ==]                 as all had it at the last meeting
 *
 *   Find      both are compared; a *run* is bytes that differ, one behind the other. What two
 *             machines have changed does not overlap, since every word has one writer between two
 *             barriers: so all machines' runs can be merged, in any order.
 *   Units     of an area: bytes that are looked at together, and belong to one writer together.
 *             Where one byte of a unit differs the whole unit is in the run. Units of 1 never
 *             carry a byte that was not changed; larger ones make fewer runs of arrays whose
 *             writers have large parts.
 *   Small     runs travel together, packed behind one another: (offset, bytes, the bytes, padded
 *             to 8)...; larger ones from where they are to where they belong.
 *
 * Memory:  a copy of all areas, and lists that grow to what was needed.
 * Threads: one at a time, but for keep and unpack, which may run beside each other and beside
 *          pack for bytes that do not overlap.
 * Source:  twins and diffs, and several writers of a page: Keleher et al., "TreadMarks", USENIX
 *          1994; Carter et al., "Munin", SOSP 1991.
 * Test:    tests/unit/machines/test_twin.c
 */
#ifndef HR_MACHINES_TWIN_H
#define HR_MACHINES_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "shm/alike.h"

enum { HR_RUN_SMALL = 4096 };

/* Bytes that differ. */
struct hr_changed_run {
    size_t offset, bytes; /* of the segment */
    bool for_first;
};

struct hr_twin {
    unsigned char *segment;
    struct hr_area *area; /* (nareas) owned, by offset */
    size_t nareas;
    unsigned char *copy;        /* owned */
    size_t *at;                 /* (nareas) owned: where an area lies in the copy */
    struct hr_changed_run *run; /* (nruns, room) owned: as hr_twin_find left them */
    size_t nruns, room;
};

/* Of areas that do not overlap, and are in order: what a copy of them takes. */
size_t hr_twin_bytes(const struct hr_area *area, size_t nareas);

/* A twin of the areas as they are now. HR_E_NOMEM; close it also then. */
HR_CHECKED enum hr_status hr_twin_open(unsigned char *segment, const struct hr_area *area,
                                       size_t nareas, struct hr_twin *out);
void hr_twin_close(struct hr_twin *twin);

/* What was changed, at a meeting of this stage (0 .. 31). HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_twin_find(struct hr_twin *twin, unsigned stage);

/* In place of that: all of the areas that are compared there, for all machines. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_twin_take(struct hr_twin *twin, unsigned stage);

/* Do these bytes lie in one area? */
bool hr_twin_has(const struct hr_twin *twin, size_t offset, size_t bytes);
/* What stands in the segment is what all machines have. The bytes lie in one area. */
void hr_twin_keep(const struct hr_twin *twin, size_t offset, size_t bytes);

/* --- small runs together --- */

/* Is it large enough to travel alone? */
static inline bool hr_run_is_large(const struct hr_changed_run *run)
{
    return run->bytes >= HR_RUN_SMALL;
}

/* Of the small runs found, with those for machine 0 alone or without: bytes when packed, and
 * packed. */
size_t hr_twin_packed_bytes(const struct hr_twin *twin, bool to_first);
void hr_twin_pack(const struct hr_twin *twin, bool to_first, unsigned char *to);
/* Write them into this segment, aligned to 8 bytes, a word at a time, and keep them. HR_E_FORMAT:
 * they are no runs of these areas; some may have been written. */
HR_CHECKED enum hr_status hr_twin_unpack(const struct hr_twin *twin, const unsigned char *packed,
                                         size_t bytes);

#endif
