/* Packets of a push, cut wherever servers cut it: put together they are what the worker's gradient
 * became when it was compressed, and no byte more than was counted. */
#include "strategy/compression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/size.h"
#include "strategy/shared.h"
#include "support/check.h"

enum { PARAMS = 300 + 40 + 700 + 5 + 513 + 9, GUARD = 0x5a, FULL = 8 };

/* Trained tensors that blocks do not fit, statistics and what is frozen between them. */
static struct hr_param_segment segments[] = {
    {0, 300, HR_SEGMENT_TRAINED},    {300, 40, HR_SEGMENT_FROZEN},
    {340, 700, HR_SEGMENT_TRAINED},  {1040, 5, HR_SEGMENT_STATISTIC},
    {1045, 513, HR_SEGMENT_TRAINED}, {1558, 9, HR_SEGMENT_STATISTIC}};
static const struct hr_strategy served = {.name = "ps-sync", .rows = {.weights = HR_KEPT_SERVED}};
static const struct hr_rule plain = {.name = "sgd"};
static struct hr_train_options options;
static struct hr_shared_state shared;
static struct hr_compression compression;
static struct hr_worker worker;
static struct hr_worker_stats stats;
static float grads[PARAMS], apart[PARAMS];

static void begin(const char *how, size_t servers)
{
    hr_train_defaults(&options);
    snprintf(options.compress, sizeof options.compress, "%s", how);
    shared = (struct hr_shared_state){
        .strategy = &served,
        .options = &options,
        .optimizer = {.rule = &plain, .segments = segments, .nsegments = 6, .params = PARAMS},
        .schedule =
            {.samples = FULL, .pass = FULL, .batch = FULL, .batches_per_epoch = 1, .end = 8},
        .workers = 2,
        .servers = servers,
        .params = PARAMS,
    };
    CHECK_OK(hr_compression_begin(&shared, &compression));
    worker = (struct hr_worker){.shared = &shared, .stats = &stats, .grads = grads};
    CHECK_OK(hr_compression_start(&worker));
}

static void end(void)
{
    hr_compression_stop(&worker);
    hr_compression_fini(&compression);
}

/* Values of all sizes, and some that no format has; all of them but what is frozen are drawn. */
static void draw(uint64_t step)
{
    for (size_t i = 0; i < PARAMS; i++) {
        const uint32_t v = hr_random_block(step, HR_STREAM_TEST, i, 3).v[0];
        grads[i] = (hr_random_unit(v) - 0.5f) * (v % 7 ? 1 : 1e-6f);
    }
    grads[350 + step % 100] = 1e38f;
    memset(grads + 300, 0, 40 * sizeof *grads);
}

/* A slice through its packet, into `apart`; its bytes. */
static size_t send(size_t from, size_t to)
{
    const size_t most = hr_push_slice_most(&shared, from, to);
    unsigned char *packet = malloc(most + 8);
    assert_non_null(packet);
    memset(packet, GUARD, most + 8);
    const size_t bytes = hr_push_slice_pack(&worker, from, to, packet);
    assert_int_equal(bytes, hr_push_slice_bytes(&worker, from, to));
    assert_true(bytes <= most);
    for (size_t i = bytes; i < most + 8; i++)
        assert_int_equal(packet[i], GUARD);
    hr_push_slice_unpack(&shared, from, to, packet, bytes, apart);
    free(packet);
    return bytes;
}

static void all_packets_together_are_the_push(void **state)
{
    static const char *const hows[] = {"bf16", "fp16", "int8", "topk:3%", "topk:100%"};
    (void)state;
    for (size_t h = 0; h < sizeof hows / sizeof *hows; h++)
        for (size_t servers = 1; servers <= 9; servers++) {
            begin(hows[h], servers);
            for (uint64_t step = 0; step < 4; step++) {
                size_t bytes = 0;
                draw(step);
                memset(apart, GUARD, sizeof apart);
                memset(apart + 300, 0, 40 * sizeof *apart);
                hr_compression_push(&worker, step);
                for (size_t s = 0; s < servers; s++)
                    bytes += send(hr_stripe_begin(PARAMS, servers, s),
                                  hr_stripe_begin(PARAMS, servers, s + 1));
                assert_memory_equal(apart, grads, sizeof grads);
                assert_int_equal(bytes, hr_push_bytes(&shared));
            }
            end();
        }
}

/* A cut at every parameter, also within a tensor that does not travel. */
static void a_slice_may_begin_anywhere(void **state)
{
    static const char *const hows[] = {"int8", "bf16", "topk:3%"};
    (void)state;
    for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
        begin(hows[h], 1);
        draw(1);
        hr_compression_push(&worker, 1);
        for (size_t cut = 0; cut <= PARAMS; cut++) {
            memset(apart, GUARD, sizeof apart);
            memset(apart + 300, 0, 40 * sizeof *apart);
            send(0, cut);
            send(cut, PARAMS);
            assert_memory_equal(apart, grads, sizeof grads);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_packets_together_are_the_push),
        cmocka_unit_test(a_slice_may_begin_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
