/* multinode.h - a dense run on several machines: what they agree upon, and what joins them.
 *
 *   Workers  are dealt out to machines in equal contiguous runs. All lay out the same segment, and
 *            each starts its own ranks.
 *   Servers  are ranks behind the workers, or live with the workers that they are in; the first one
 *            with worker 0, on machine 0.
 *   Joined   by what goes through rings (machines/bridge.h), and at cuts by barriers
 *            (machines/gather_barrier.h), behind which each has what others wrote (areas.h).
 *   First    machine 0 has worker 0, who leads; it alone shows, saves, and has the result. The
 *            others' launchers follow (session/launcher.h).
 *   Agreed   before anything is trained: version, options, data, what decides bits, the layout of
 *            memory, the weights that the run begins with.
 *
 * Threads: the launcher's. Test: tests/unit/train/test_multinode.c
 */
#ifndef HR_TRAIN_MULTINODE_H
#define HR_TRAIN_MULTINODE_H

#include "base/error.h"
#include "hogring/train.h"
#include "train/run.h"

/* Where ranks live; nothing where there is one machine. workers, servers and nranks are counted.
 * HR_E_USAGE: cannot be dealt out; or does not work on several machines, with what does. */
HR_CHECKED enum hr_status hr_multinode_deal(struct hr_run *run);

/* What each machine is and has, into machine 0's result. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_multinode_describe(struct hr_run *run);

/* `status` is what has come of preparing: do all machines want the same? HR_E_USAGE. */
HR_CHECKED enum hr_status hr_multinode_agree(struct hr_run *run, enum hr_status status);
/* Of getting ready: has any failed, have all laid out the same? Joins this machine to the others.
 */
HR_CHECKED enum hr_status hr_multinode_join(struct hr_run *run, enum hr_status status);
/* The launcher's part: it leads those of other machines, or follows. */
void hr_multinode_lead(struct hr_run *run);
/* All ranks here have ended; returns how the run has. */
HR_CHECKED enum hr_status hr_multinode_end(struct hr_run *run, enum hr_status status);
/* Harmless where nothing was joined. */
void hr_multinode_free(struct hr_run *run);

/* Is this the machine whose output is the run's? */
bool hr_multinode_is_first(const struct hr_run *run);
/* The name of machine m, of several. */
const char *hr_multinode_host(const struct hr_run *run, size_t m);

/* Hr_train on several machines (multinode.h): what whoever has the wire needs of it.
 *
 * Test: tests/unit/train/test_multinode.c
 */
struct hr_machines;

/* On each machine with the same options and data; only machine 0 has a result. machines NULL: on
 * this one alone, as hr_train; else dense models. But where the run itself ended, and only a file
 * could not be written at the end (the last checkpoint, a trace), the result is whole beside the
 * error: it has its weights_digest, and is to be freed. */
HR_CHECKED enum hr_status hr_train_on(struct hr_machines *machines,
                                      const struct hr_train_options *options,
                                      const struct hr_dataset *dataset,
                                      const struct hr_observer *observer,
                                      struct hr_run_result *result);

#endif
