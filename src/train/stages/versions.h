/* versions.h - the weights that the stages of a replica read where a pipeline never drains: a
 * gradient is put together of parts, each of weights that its stage had some updates ago.
 *
 *   Version   n is the weights with which gradient n is begun, counted from where the pipeline was
 *             empty last. Gradient n is that of version n - s in each stage, s as its schedule says
 *             (pipeline/schedule.h), and no version before the first.
 *   Memory    of each stage the last s + 1 versions of its slice, in a ring; of a stage that reads
 *             the newest alone none.
 *
 * For one thread that does the work of all stages. Stages that are ranks have no need of it: there
 * older weights are those that a stage has not updated yet, or has stashed.
 *
 * Threads: belong to who trains the replica; read by the thread that computes its gradient.
 * Test:    tests/unit/train/test_stale_pipeline.c
 */
#ifndef HR_STAGES_VERSIONS_H
#define HR_STAGES_VERSIONS_H

#include "stages/pipeline.h"

struct hr_versions {
    const struct hr_pipeline *pipeline;
    float *ring;    /* of all stages, one after another; owned */
    uint64_t count; /* versions since the pipeline was empty */
};

/* Bytes of the rings. */
size_t hr_versions_bytes(const struct hr_pipeline *pipeline);
/* Of a pipeline that is not synchronous. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_versions_start(struct hr_versions *it,
                                            const struct hr_pipeline *pipeline);
/* Harmless on a zeroed one. */
void hr_versions_stop(struct hr_versions *it);

/* The pipeline is empty: what follows reads no version before the next. */
void hr_versions_drain(struct hr_versions *it);
/* The next gradient is begun with these (params). */
void hr_versions_add(struct hr_versions *it, const float *weights);

/* How many versions older than the newest what stage k reads for that work is. */
uint64_t hr_versions_age(const struct hr_versions *it, size_t k, enum hr_stage_work work);
/* Its slice of that version; NULL: of the newest, which hr_versions_add was given. */
const float *hr_versions_read(const struct hr_versions *it, size_t k, enum hr_stage_work work);
/* Is some stage's age not yet what its schedule says? */
bool hr_versions_fill(const struct hr_versions *it);

#endif
