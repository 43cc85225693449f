/* device.h - what computes: the memory in which a gradient is made, and who decodes its batch.
 *
 * In real time every worker has a device of its own. Where one process plays many workers
 * (drive_virtual.c) there are as many devices as processors, and a worker borrows one for as long
 * as a gradient takes: activations exist once a core, not once a worker. A gradient is a pure
 * function of weights and batch, so which device computed it decides no bit.
 *
 * Threads: a device belongs to one thread at a time.
 */
#ifndef HR_TRAIN_DEVICE_H
#define HR_TRAIN_DEVICE_H

#include "nn/model.h"
#include "train/input.h"

enum { HR_REPRO_MAX_LEVELS = 6, HR_REPRO_MAX_SHARDS = 1 << HR_REPRO_MAX_LEVELS };

/* Memory for adding up a worker's micro-shards. */
struct hr_repro {
    size_t shards;                    /* of a worker; 0: reduce sum */
    float *sums[HR_REPRO_MAX_LEVELS]; /* (params) each, owned: level l holds 2^l shards */
};

struct hr_trainee;
struct hr_run;

struct hr_device {
    struct hr_trainee *borrower;    /* whose gradient is being computed */
    struct hr_workspace *workspace; /* owned */
    struct hr_input input;
    struct hr_repro repro;
};

/* Bytes that one takes: of its own, and how many of them are there for evaluation alone. */
size_t hr_device_bytes(const struct hr_run *run, size_t *for_evaluation);
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_device_start(struct hr_device *device, const struct hr_run *run);
/* Harmless on a zeroed one. */
void hr_device_stop(struct hr_device *device);

#endif
