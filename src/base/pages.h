/* pages.h - larger pages for memory that is read here and there, or all of it in turn.
 *
 * Every touch of another 4 KiB page asks for an address; of 2 MiB pages the processor keeps so many
 * at hand that a data set of 47 MB needs none looked up.
 */
#ifndef HR_BASE_PAGES_H
#define HR_BASE_PAGES_H

#include <stddef.h>

/* Have the kernel give large pages to this memory, new and not yet touched, as it is filled. A
 * request: where the kernel forbids it or has none free, pages are small. Costs nothing. Private
 * memory only, not a file's. */
void hr_pages_ask_large(const void *memory, size_t bytes);

/* The same for memory that is already filled, which is copied. Where the kernel is older than Linux
 * 6.1, nothing happens. Contents stay; nobody may write meanwhile. */
void hr_pages_enlarge(const void *memory, size_t bytes);

#endif
