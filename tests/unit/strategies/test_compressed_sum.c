/* The compressed sum against a twin that packs, adds and rounds one value after the other, with
 * errors of its own. */
#include "strategies/compressed_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/vec.h"
#include "group/local_group.h"
#include "support/check.h"

enum { RANKS = 5, WEIGHTS = 1500, STATISTICS = 7, PARAMS = WEIGHTS + STATISTICS, FULL = 64 };

static struct hr_param_segment segments[] = {{0, WEIGHTS, HR_SEGMENT_TRAINED},
                                             {WEIGHTS, STATISTICS, HR_SEGMENT_STATISTIC}};
static struct hr_train_options options;
static struct hr_shared_state shared;
static struct hr_compression compression;
static struct hr_local_group *local;
static struct hr_worker worker[RANKS];
static struct hr_worker_stats stats[RANKS];
static struct hr_compressed_sum sum[RANKS];
static float grads[RANKS][PARAMS];
static void *memory;

/* What the twin keeps. */
static float error[RANKS][WEIGHTS], owned[8 * 256 * RANKS], given[RANKS][PARAMS], want[PARAMS];

static void begin(const char *how)
{
    hr_train_defaults(&options);
    snprintf(options.compress, sizeof options.compress, "%s", how);
    shared = (struct hr_shared_state){
        .strategy = &(const struct hr_strategy){.name = "allreduce"},
        .options = &options,
        .optimizer = {.segments = segments, .nsegments = 2, .params = PARAMS},
        .schedule = {.samples = FULL + FULL / 4,
                     .pass = FULL + FULL / 4,
                     .batch = FULL,
                     .batches_per_epoch = 2,
                     .end = 8},
        .group_options = {.nranks = RANKS, .algorithm = &hr_allreduce_direct},
        .workers = RANKS,
        .params = PARAMS,
        .local = true,
    };
    CHECK_OK(hr_compression_begin(&shared, &compression));
    memory = calloc(1, hr_compressed_sum_bytes(&shared));
    assert_non_null(memory);
    CHECK_OK(hr_local_group_create(&shared.group_options, &local));
    memset(stats, 0, sizeof stats);
    for (size_t r = 0; r < RANKS; r++) {
        worker[r] = (struct hr_worker){
            .shared = &shared, .rank = r, .group_rank = r, .stats = &stats[r], .grads = grads[r]};
        hr_member_init_local(&worker[r].member, local, r);
        CHECK_OK(hr_compression_start(&worker[r]));
        CHECK_OK(hr_compressed_sum_begin(&sum[r], &worker[r], memory));
    }
    memset(error, 0, sizeof error);
    memset(owned, 0, sizeof owned);
}

static void end(void)
{
    for (size_t r = 0; r < RANKS; r++) {
        hr_compression_stop(&worker[r]);
        hr_member_fini(&worker[r].member);
    }
    hr_local_group_destroy(local);
    free(memory);
    hr_compression_fini(&compression);
}

static void draw(uint64_t step)
{
    for (size_t r = 0; r < RANKS; r++)
        for (size_t i = 0; i < PARAMS; i++)
            grads[r][i] = given[r][i] =
                hr_random_unit(hr_random_block(step * RANKS + r, HR_STREAM_TEST, i, 3).v[0]) - 0.5f;
}

static void add_up(float *out, const float (*in)[PARAMS], size_t begin_at, size_t count)
{
    const float *x[RANKS];
    for (size_t r = 0; r < RANKS; r++)
        x[r] = in[r] + begin_at;
    hr_vec()->tree_sum(&out, 1, x, RANKS, count);
}

/* The last batch of an epoch has a quarter of the samples. */
static void twin(uint64_t index)
{
    static float decoded[RANKS][PARAMS];
    static uint32_t packet[4 * WEIGHTS];
    const struct hr_compressor *how = compression.how.how;
    const float share = index % 2 ? 0.25f : 1;
    for (size_t r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < WEIGHTS; i++)
            error[r][i] *= share;
        how->encode(&compression.how, WEIGHTS, given[r], error[r], packet);
        how->decode(&compression.how, WEIGHTS, packet, decoded[r]);
        for (size_t i = 0; i < WEIGHTS; i++)
            error[r][i] *= 1 / share;
        memcpy(decoded[r] + WEIGHTS, given[r] + WEIGHTS, STATISTICS * sizeof(float));
    }
    add_up(want, (const float(*)[PARAMS])decoded, 0, PARAMS);
    if (hr_compress_is_sparse(&compression.how))
        return;
    for (size_t i = 0; i < WEIGHTS; i++)
        owned[i] *= share;
    how->encode(&compression.how, WEIGHTS, want, owned, packet);
    how->decode(&compression.how, WEIGHTS, packet, want);
    for (size_t i = 0; i < WEIGHTS; i++)
        owned[i] *= 1 / share;
}

static void sum_all(uint64_t index)
{
    bool over = false;
    for (size_t r = 0; r < RANKS; r++)
        hr_compressed_sum_start(&sum[(r + index) % RANKS], index);
    for (size_t round = 0; !over; round++) {
        assert_true(round < 8);
        over = true;
        for (size_t r = 0; r < RANKS; r++)
            over &= hr_compressed_sum_test(&sum[r]);
    }
    for (size_t r = 0; r < RANKS; r++)
        CHECK_OK(sum[r].status);
}

static void the_sum_is_the_twins_and_so_are_the_errors(void **state)
{
    static const char *const all[] = {"bf16", "fp16", "int8", "topk:1%", "topk:30%"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        begin(all[i]);
        for (uint64_t index = 0; index < 8; index++) {
            draw(index);
            twin(index);
            sum_all(index);
            for (size_t r = 0; r < RANKS; r++) {
                CHECK_SAME_FLOATS(grads[r], want, PARAMS);
                CHECK_SAME_FLOATS(worker[r].compressing->error, error[r], WEIGHTS);
            }
        }
        end();
    }
}

/* In all, what was summed and what everybody keeps is the sum of what was given. */
static void nothing_is_lost_over_steps(void **state)
{
    static const char *const all[] = {"bf16", "int8", "topk:1%"};
    static double sent[WEIGHTS], all_given[WEIGHTS];
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        memset(sent, 0, sizeof sent);
        memset(all_given, 0, sizeof all_given);
        begin(all[i]);
        shared.schedule.samples = shared.schedule.pass = 2 * FULL; /* no small batch */
        for (uint64_t index = 0; index < 8; index++) {
            draw(index);
            sum_all(index);
            for (size_t k = 0; k < WEIGHTS; k++) {
                sent[k] += (double)grads[0][k];
                for (size_t r = 0; r < RANKS; r++)
                    all_given[k] += (double)given[r][k];
            }
        }
        const size_t own = hr_compression_own_blocks(&shared) * HR_COMPRESS_BLOCK;
        for (size_t k = 0; k < WEIGHTS; k++) {
            double left = 0;
            for (size_t r = 0; r < RANKS; r++)
                left += (double)worker[r].compressing->error[k];
            if (compression.how.how->block_bytes)
                left += (double)worker[k / own].compressing->more[k % own];
            CHECK_NEAR(sent[k] + left, all_given[k], 0, 1e-4);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_is_the_twins_and_so_are_the_errors),
        cmocka_unit_test(nothing_is_lost_over_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
