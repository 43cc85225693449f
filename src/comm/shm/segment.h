/* segment.h - shared memory of a fixed size, taken for sure or not at all.
 *
 * A *named* segment stands in /dev/shm until hr_segment_destroy, so that another process can
 * attach; an *unnamed* one is unlinked as soon as it is mapped, and lives on in this process, its
 * threads and the children it forks: nothing can be left behind, whatever kills them.
 *
 * Names are /hogring.<pid>.<start time of pid>.<random>, mode 0600, O_EXCL; what a dead process
 * leaves is removed by the next run (launch/runs.h). Every page is allocated
 * before it is mapped (posix_fallocate): too small a /dev/shm is an answer, never a SIGBUS. Then
 * memory that has no such limit is taken instead (memfd), and one line says so.
 *
 * Threads: create and destroy by one thread.
 */
#ifndef HR_SHM_SEGMENT_H
#define HR_SHM_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hr_segment {
    void *base; /* zeroed, page-aligned */
    size_t bytes;
    char name[64];  /* "/hogring...."; "" when there is none to unlink */
    uint64_t inode; /* of the file: names come back, files do not */
};

/* HR_E_SHM says bytes needed and free; HR_E_NOMEM when base/memory.h says beforehand that they are
 * not there. */
HR_CHECKED enum hr_status hr_segment_create(size_t bytes, bool named, struct hr_segment *out);

/* Unmap and unlink. Harmless on a zeroed struct. */
void hr_segment_destroy(struct hr_segment *segment);

/* Give a named segment another name, known to others; *exists: that name is taken. From then on
 * hr_segment_destroy unlinks no name. Others see it whole, as it is now. */
HR_CHECKED enum hr_status hr_segment_publish(struct hr_segment *segment, const char *name,
                                             bool *exists);

/* Map the segment that another process of this user gave this name. HR_E_SHM; *exists is false when
 * there is no such name. */
HR_CHECKED enum hr_status hr_segment_attach(const char *name, struct hr_segment *out, bool *exists);

/* Unlink `name` if it still stands for the file `inode`, whoever else does the same or puts another
 * file in its place. False: somebody else does it, or has done it. */
bool hr_segment_remove(const char *name, uint64_t inode);

/* Unlink the name of a named segment; the memory stays. */
void hr_segment_unlink(struct hr_segment *segment);

#endif
