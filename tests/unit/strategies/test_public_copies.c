/* Gossip with --compress: a naive twin of the whole step, formats and all, has the same weights,
 * public copies and bytes, to the bit; what is not a number is not hidden. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategies/gossip_weights.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/script.h"

enum { MOST = 5, STEPS = 5, BLOCK = 256 };

/* Trained, statistics, frozen, trained. */
static const size_t begins[] = {0, 300, 307, 312};
static const enum hr_segment_role roles[] = {HR_SEGMENT_TRAINED, HR_SEGMENT_STATISTIC,
                                             HR_SEGMENT_FROZEN, HR_SEGMENT_TRAINED};
enum { PARAMS = 613, TRAINED = PARAMS - 12, STATISTICS = 7, VALUES = TRAINED + STATISTICS };

static struct script script;
static float gradient[MOST][PARAMS];

static void open_run(const char *how, double step, const char *graph, size_t workers)
{
    struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.gossip_graph, sizeof options.gossip_graph, "%s", graph);
    snprintf(options.compress, sizeof options.compress, "%s", how);
    options.consensus_step = step;
    script_open(&script, &hr_strategy_gossip,
                (struct script_plan){.workers = workers,
                                     .batches = 99,
                                     .options = &options,
                                     .params = PARAMS,
                                     .nkeys = sizeof begins / sizeof *begins,
                                     .begins = begins,
                                     .roles = roles});
    for (size_t w = 0; w < workers; w++)
        script_read(&script, w);
}

static void give(size_t w)
{
    script_compute(&script, w, 0);
    memcpy(script.worker[w].grads, gradient[w], sizeof gradient[w]);
    script_offer(&script, w);
}

/* Of many sizes and both signs; now and then what outgrows a half. */
static void draw_gradients(size_t workers)
{
    for (size_t w = 0; w < workers; w++)
        for (size_t i = 0; i < PARAMS; i++)
            gradient[w][i] = ldexpf((float)(rand() % 2001 - 1000), rand() % 24 - 16);
}

/* --- the twin: formats --- */

static float nearest(float x, int digits, int least_exponent)
{
    int exponent;
    frexp((double)x, &exponent);
    exponent = exponent > least_exponent ? exponent : least_exponent;
    return (float)ldexp(nearbyint(ldexp((double)x, digits - exponent)), exponent - digits);
}

/* To the largest half: 65504. */
static float to_half(float x)
{
    const float half = nearest(x, 11, -13);
    return half > 65504 ? 65504 : half < -65504 ? -65504 : half;
}

static void to_bytes(size_t n, float *x)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    const float scale = largest / 127;
    for (size_t i = 0; i < n; i++)
        x[i] = largest > 0 ? fminf(fmaxf(nearbyintf(x[i] / scale), -127), 127) * scale : 0;
}

static size_t largest_of(const char *how)
{
    return (size_t)ceil(TRAINED * atof(how + 5) / 100 - 1e-9);
}

static float q[TRAINED]; /* x - h, of whoever tells */

static int by_size(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const float x = fabsf(q[i]), y = fabsf(q[j]);
    return x > y ? -1 : x < y ? 1 : i < j ? -1 : i > j;
}

/* h (TRAINED) learns of x what the format lets through. */
static void tell(const char *how, const float *x, float *h)
{
    size_t order[TRAINED];
    for (size_t i = 0; i < TRAINED; i++) {
        q[i] = x[i] - h[i];
        order[i] = i;
    }
    if (!strncmp(how, "topk:", 5)) {
        qsort(order, TRAINED, sizeof *order, by_size);
        for (size_t i = 0; i < largest_of(how); i++)
            h[order[i]] = x[order[i]];
        return;
    }
    for (size_t at = 0; !strcmp(how, "int8") && at < TRAINED; at += BLOCK)
        to_bytes(TRAINED - at < BLOCK ? TRAINED - at : BLOCK, q + at);
    for (size_t i = 0; strcmp(how, "int8") != 0 && i < TRAINED; i++)
        q[i] = strcmp(how, "bf16") ? to_half(q[i]) : nearest(q[i], 8, -125);
    for (size_t i = 0; i < TRAINED; i++)
        h[i] = h[i] + q[i];
}

static size_t bytes_of(const char *how)
{
    const size_t body = !strcmp(how, "int8")        ? TRAINED + 4 * ((TRAINED + BLOCK - 1) / BLOCK)
                        : !strncmp(how, "topk:", 5) ? 8 * largest_of(how)
                                                    : 2 * TRAINED;
    return body + 4 * STATISTICS;
}

/* --- the twin: a step --- */

struct twin {
    const char *how;
    size_t n;
    bool complete;
    double step;
    float x[MOST][VALUES], h[MOST][VALUES];
};

static bool is_link(const struct twin *twin, size_t i, size_t j)
{
    const size_t apart = i > j ? i - j : j - i;
    return i != j && (twin->complete || apart == 1 || apart == twin->n - 1);
}

static size_t degree(const struct twin *twin, size_t i)
{
    size_t links = 0;
    for (size_t j = 0; j < twin->n; j++)
        links += is_link(twin, i, j);
    return links;
}

/* Of all these graphs each worker has as many neighbours. */
static float weight(const struct twin *twin, size_t i, size_t j)
{
    const double link = twin->step / (double)(1 + degree(twin, i));
    double rest = 1;
    for (size_t k = 0; k < degree(twin, i); k++)
        rest -= link;
    return i == j ? (float)rest : is_link(twin, i, j) ? (float)link : 0;
}

static float average(const struct twin *twin, size_t w, size_t i)
{
    float sum = 0;
    bool first = true;
    for (size_t j = 0; j < twin->n; j++) {
        const float product = weight(twin, w, j) * twin->h[j][i];
        if (w != j && !is_link(twin, w, j))
            continue;
        sum = first ? product : sum + product;
        first = false;
    }
    return sum;
}

static size_t parameter(size_t value)
{
    return value < 300 ? value : value < TRAINED ? value + 12 : value - TRAINED + 300;
}

static void twin_step(struct twin *twin)
{
    for (size_t w = 0; w < twin->n; w++) {
        for (size_t i = 0; i < VALUES; i++) {
            const float g = gradient[w][parameter(i)];
            twin->x[w][i] -= i < TRAINED ? g : 0.1f * (g + twin->x[w][i]);
        }
        tell(twin->how, twin->x[w], twin->h[w]);
        for (size_t i = TRAINED; i < VALUES; i++)
            twin->h[w][i] = twin->x[w][i];
    }
    for (size_t w = 0; w < twin->n; w++)
        for (size_t i = 0; i < VALUES; i++)
            twin->x[w][i] = (twin->x[w][i] - twin->h[w][i]) + average(twin, w, i);
}

static void check_like(const struct twin *twin)
{
    for (size_t w = 0; w < twin->n; w++) {
        float x[VALUES];
        for (size_t i = 0; i < VALUES; i++)
            x[i] = script.worker[w].weights[parameter(i)];
        CHECK_SAME_FLOATS(x, twin->x[w], VALUES);
        CHECK_SAME_FLOATS(script.worker[w].compressing->state, twin->h[w], VALUES);
        for (size_t i = 307; i < 312; i++)
            assert_true(script.worker[w].weights[i] == 0);
    }
}

static void check_against_twin(const char *how, double step, const char *graph, size_t n)
{
    static struct twin twin;
    struct hr_compress compress;
    open_run(how, step, graph, n);
    CHECK_OK(hr_compress_parse(how, &compress));
    twin = (struct twin){.how = how,
                         .n = n,
                         .complete = !strcmp(graph, "complete"),
                         .step = hr_consensus_step(&script.options, &compress)};
    for (size_t t = 0; t < STEPS; t++) {
        draw_gradients(n);
        for (size_t w = 0; w < n; w++)
            give(w);
        twin_step(&twin);
        for (size_t w = 0; w < n; w++)
            assert_int_equal(script_read(&script, w).index, t + 1);
        check_like(&twin);
    }
    for (size_t w = 0; w < n; w++) {
        const struct hr_worker_stats *stats = &script.shared.stats[w];
        assert_int_equal(stats->bytes_sent, STEPS * degree(&twin, w) * bytes_of(how));
        assert_int_equal(stats->bytes_received, stats->bytes_sent);
        assert_int_equal(stats->bytes_plain, STEPS * degree(&twin, w) * 4 * PARAMS);
    }
    script_close(&script);
}

static const char *const all[] = {"bf16", "fp16", "int8", "topk:3%", "topk:100%"};
enum { ALL = sizeof all / sizeof *all };

static void weights_copies_and_bytes_are_those_of_a_naive_twin(void **state)
{
    (void)state;
    srand((unsigned)check_seed());
    for (size_t i = 0; i < ALL; i++)
        for (size_t n = 2; n <= MOST; n++) {
            check_against_twin(all[i], 0, "ring", n);
            check_against_twin(all[i], 0.3, "complete", n);
        }
}

static void the_step_is_one_or_the_root_of_what_is_sent(void **state)
{
    (void)state;
    static const double want[] = {1, 1, 1, 0.17320508075688773, 1};
    struct hr_train_options options;
    hr_train_defaults(&options);
    for (size_t i = 0; i < ALL; i++) {
        struct hr_compress how;
        CHECK_OK(hr_compress_parse(all[i], &how));
        CHECK_NEAR(hr_consensus_step(&options, &how), want[i], 1e-15, 0);
        options.consensus_step = 0.25;
        assert_true(hr_consensus_step(&options, &how) == 0.25);
        options.consensus_step = 0;
    }
}

/* The mean of the replicas is that of plain gossip's: each moves by its gradients alone. */
static void the_mean_stays_where_it_is(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL; k++) {
        double want[PARAMS] = {0};
        open_run(all[k], 0, "ring", MOST);
        for (size_t t = 0; t < STEPS; t++) {
            for (size_t w = 0; w < MOST; w++)
                for (size_t i = 0; i < PARAMS; i++) {
                    gradient[w][i] = (float)(rand() % 2001 - 1000) / 256;
                    want[i] -= (double)gradient[w][i] / MOST;
                }
            for (size_t w = 0; w < MOST; w++)
                give(w);
            for (size_t w = 0; w < MOST; w++)
                script_read(&script, w);
        }
        script_cut(&script);
        for (size_t i = 0; i < 300; i++)
            CHECK_NEAR((double)script.shared.snapshot.weights[i], want[i], 0, 1e-5);
        script_close(&script);
    }
}

static void what_is_not_a_number_reaches_every_neighbour(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < ALL * 3; k++) {
        open_run(all[k / 3], 0, "ring", MOST);
        for (size_t t = 0; t < 2; t++) {
            memset(gradient, 0, sizeof gradient);
            gradient[1][40] = t ? 0 : bad[k % 3];
            for (size_t w = 0; w < MOST; w++)
                give(w);
            for (size_t w = 0; w < MOST; w++)
                script_read(&script, w);
        }
        for (size_t w = 0; w < MOST; w++)
            assert_false(isfinite(script.worker[w].weights[40]));
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_copies_and_bytes_are_those_of_a_naive_twin),
        cmocka_unit_test(the_step_is_one_or_the_root_of_what_is_sent),
        cmocka_unit_test(the_mean_stays_where_it_is),
        cmocka_unit_test(what_is_not_a_number_reaches_every_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
