/* multinode_runs.h - training runs on several machines, which are forked processes joined by
 * sockets.
 *
 *     multinode_begin();                                     once, before all others
 *     const struct said two = multinode_alike(2, &options, dataset), alone = multinode_alone(...);
 *     multinode_check_equal(&two, &alone);
 *
 * Every run, alone or not, is in processes of its own: threads are not forked.
 */
#ifndef HR_TESTS_SUPPORT_MULTINODE_RUNS_H
#define HR_TESTS_SUPPORT_MULTINODE_RUNS_H

#include "hogring/train.h"
#include "support/check.h"

enum { MULTINODE_MOST = 4 };

/* What a machine's process has to say. */
struct said {
    enum hr_status status;
    char message[600];
    char digest[40];
    double accuracy, loss;
    uint64_t updates, samples, dropped_samples, bytes_sent, max_skew;
    uint64_t samples_of_all; /* since the first run began */
    uint64_t stale_updates;  /* whose staleness was counted, and the same of all tensors together */
    uint64_t stale_of_keys, keys;
    uint64_t handed_over; /* bytes between stages */
    size_t ncurve;
    double note[8]; /* the test's own */
    char text[64];
};

/* What a test does in the processes of all runs that follow; any may be NULL. */
struct multinode_hooks {
    void (*begins)(size_t machine);
    const struct hr_observer *observer; /* machine 0's */
    bool may_end; /* a machine that is to be lost may have ended well before */
    void (*ended)(const struct hr_run_result *result, struct said *said);
};
void multinode_hook(const struct multinode_hooks *hooks);
/* In tenths of a second: for how long a machine that is to be lost has run by then (3). */
void multinode_dies_after(int tenths);

void multinode_begin(void);

/* Run, o[m] is what machine m was told; returns what each has said, until the next run. */
const struct said *multinode_run(size_t machines, const struct hr_train_options *const *o,
                                 const struct hr_dataset *dataset);
/* All are told the same, and machine `lost` is killed when it has run for some moments. */
const struct said *multinode_lose(size_t machines, size_t lost, const struct hr_train_options *o,
                                  const struct hr_dataset *dataset);
/* All are told the same, and it goes well: the result, which is machine 0's. */
struct said multinode_alike(size_t machines, const struct hr_train_options *options,
                            const struct hr_dataset *dataset);
/* The same run on one machine. */
struct said multinode_alone(const struct hr_train_options *options,
                            const struct hr_dataset *dataset);

/* Seconds of a step on two processors of each machine: the best of some runs, since others may have
 * the processors, or the first that is no more than `enough`. No hooks are left. */
double multinode_best_step(size_t machines, const struct hr_train_options *options,
                           const struct hr_dataset *dataset, double enough);

/* The same run, to the bit. */
void multinode_check_equal(const struct said *several, const struct said *alone);
/* Two machines fail alike; machine 0 says it in these words. */
void multinode_check_refused(const struct hr_train_options *options, enum hr_status status,
                             const char *message, const struct hr_dataset *dataset);
/* The trace at `path`, replayed in a process of its own, has the digest of the run it is of. */
void multinode_check_replay(const char *path, const struct said *run,
                            const struct hr_dataset *dataset);

#endif
