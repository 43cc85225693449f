/* disk.h - what a disk may hold after a power cut: the file calls of a program, recorded, and every
 * state they may leave.
 *
 *     disk_record(path)               a folder, empty; from now on its calls are recorded
 *     ... calls, with support/file_calls.h; disk_mark(n) among them ...
 *     disk_stop()
 *     disk_visit(&walk)               each state that a cut after each call may leave
 *
 * The model is that of ALICE (Pillai et al., OSDI 2014; CrashMonkey, Mohan et al., OSDI 2018, looks
 * at the same for real file systems), with the weakest promises that POSIX makes:
 *
 *   data    of what was written to a file since its last fsync, each sector of 512 B is there or
 *           not. A missing one is as it was, 0 in a file that has grown, or behind its end
 *   names   of what was created, renamed, exchanged and removed in a folder since its last fsync,
 *           any subset has happened. A file's fsync says nothing of its name
 *   whole   one rename or exchange, and one symlink with its text
 *
 * States that look the same are visited once.
 *
 * Threads: none; one recording at a time.
 */
#ifndef HR_TESTS_SUPPORT_DISK_H
#define HR_TESTS_SUPPORT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void disk_record(const char *path);
void disk_stop(void);
void disk_free(void);

/* From here on `mark` holds. */
void disk_mark(int mark);

/* From here on all syncs are recorded but number `which`, counted from 0; -1: all. */
void disk_forget_sync(int which);
int disk_syncs(void);        /* how many there were */
size_t disk_forgotten(void); /* the call before which the forgotten one stood */

/* Can the file system exchange two names in one call? True unless a test says no. */
extern bool disk_exchanges;

/* --- what file_calls.h tells, after a call that went well */

void disk_made(const char *path); /* a file, folder or symlink */
void disk_renamed(const char *from, const char *to, bool exchanged);
void disk_removes(int folder, const char *name); /* before the call, as unlinkat */
void disk_writes(int fd, size_t offset, const void *data, size_t bytes);
void disk_resized(int fd, size_t bytes, bool grow_only); /* before the call */
void disk_synced(int fd);

/* --- states */

struct disk_state {
    size_t call; /* cut before this one */
    int mark;    /* the last that was passed */
};

struct disk_walk {
    size_t first;      /* the first call to cut before */
    const char *path;  /* a folder that does not exist: the state is written there, and removed */
    size_t one_in;     /* look at a drawn part of the states only; 1: at all */
    size_t most_names; /* of unsynced names all subsets up to 2^most_names, else so many drawn */
    bool (*visit)(const struct disk_state *state, void *context); /* false: go no further */
    void *context;
    size_t seen, visited; /* out: states that differ (all, with one_in 1), and how many of them */
};
void disk_visit(struct disk_walk *walk);

#endif
