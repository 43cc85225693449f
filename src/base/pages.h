/* pages.h - larger pages for memory that is read here and there, or all of it in turn.
 *
 * Every touch of another 4 KiB page asks for an address; of 2 MiB pages the processor keeps so many
 * at hand that a data set of 47 MB needs none looked up.
 */
#ifndef HR_BASE_PAGES_H
#define HR_BASE_PAGES_H

#include <stddef.h>

/* Have the kernel put this memory, already filled, onto large pages. A request: where the kernel is
 * too old (before Linux 6.1), forbids it or has none free, nothing happens. Contents stay; nobody
 * may write meanwhile. Private memory only, not a file's. */
void hr_pages_enlarge(const void *memory, size_t bytes);

#endif
