/* tune.h - where the algorithm `auto` changes from one-shot to direct: measured, once a machine.
 *
 * Both add in T(n), so the choice changes no bit, only the time. It is measured when it is first
 * needed (about 10 ms) and kept in a file, a line for each number of ranks:
 *
 *     # hogring: auto reduces buffers up to so many bytes in one shot, larger ones directly
 *     # AMD EPYC 7763 64-Core Processor, 2 processors
 *     ranks 2 one-shot 1024
 *
 * HOGRING_TUNE in the environment names the file, else it is $XDG_CACHE_HOME/hogring/tune or
 * ~/.cache/hogring/tune. Edit it to pin the choice; delete it to measure anew. One of another
 * machine is not believed. What cannot be read or written is measured every time.
 *
 * Threads: call before ranks start.
 */
#ifndef HR_GROUP_TUNE_H
#define HR_GROUP_TUNE_H

#include <stddef.h>

/* The largest buffer, in bytes, that `nranks` ranks reduce faster by one-shot than by direct; 0
 * where they do not have a processor each. */
size_t hr_tune_one_shot_bytes(size_t nranks);

/* Where that is kept; static storage. "" when there is nowhere to keep it. */
const char *hr_tune_file(void);

#endif
