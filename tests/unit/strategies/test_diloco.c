/* diloco: outer steps against a plain serial twin, what cuts and resuming do to them, and where it
 * is local-sgd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/update_rule.h"
#include "support/runs.h"

static struct hr_train_options options_of(size_t workers, size_t every)
{
    struct hr_train_options options = run_options("diloco", workers);
    options.sync_every = every;
    return options;
}

/* --- a twin, which is told the gradients --- */

enum { WORKERS = 3, STEPS = 40, PARAMS = 1024 };

/* What workers did, by the address of their weights: those of rank 0 come first. One thread plays
 * them all. */
static struct {
    size_t workers;
    struct {
        const float *weights;
        float grads[STEPS][PARAMS];
    } of[WORKERS];
    float first[PARAMS], lr[STEPS];
    size_t params;
} seen;

static size_t worker_at(const float *weights)
{
    for (size_t w = 0; w < seen.workers; w++)
        if (seen.of[w].weights == weights)
            return w;
    assert_true(seen.workers < WORKERS);
    seen.of[seen.workers].weights = weights;
    return seen.workers++;
}

static void plain_step(void *arg, const struct hr_update *what, float *weights, float *const *state,
                       const float *gradient)
{
    (void)arg, (void)state;
    const size_t w = worker_at(weights - what->first), step = what->number - 1;
    assert_true(step < STEPS && what->first + what->count <= PARAMS);
    seen.lr[step] = what->lr;
    for (size_t i = 0; i < what->count; i++) {
        if (step == 0)
            seen.first[what->first + i] = weights[i];
        seen.of[w].grads[step][what->first + i] = gradient[i];
        weights[i] -= what->lr * gradient[i];
    }
    if (what->first + what->count > seen.params)
        seen.params = what->first + what->count;
}

static const struct hr_update_rule plain = {"plain", plain_step, NULL, 0, 0.05};

static int by_address(const void *a, const void *b)
{
    const float *const *x = a, *const *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* One parameter, all its steps: T(3) is (a + b) + c. `ends`: steps of an epoch. */
static float twin(size_t i, size_t steps, size_t every, size_t ends, float rate, float momentum)
{
    float anchor = seen.first[i], velocity = 0, y[WORKERS] = {anchor, anchor, anchor};
    size_t apart = 0;
    for (size_t step = 0; step < steps; step++) {
        for (size_t w = 0; w < WORKERS; w++)
            y[w] -= seen.lr[step] * seen.of[w].grads[step][i];
        if (++apart < every && (step + 1) % ends != 0)
            continue;
        const float sum = ((anchor - y[0]) + (anchor - y[1])) + (anchor - y[2]);
        const float mean = sum * (1.0f / WORKERS);
        velocity = momentum * velocity + mean;
        anchor -= rate * (mean + momentum * velocity);
        y[0] = y[1] = y[2] = anchor;
        apart = 0;
    }
    return apart ? ((y[0] + y[1]) + y[2]) * (1.0f / WORKERS) : anchor;
}

/* 37 steps end in the middle of a period, 38 with one; so does step 30 with an epoch. Only a last
 * batch has unequal shares, of which the rule is told the means. */
static void outer_steps_are_a_serial_twins(void **state)
{
    (void)state;
    static const struct {
        size_t every, steps;
        double rate, momentum;
    } cases[] = {{4, 38, 0.7, 0.9}, {4, 37, 0.7, 0.9}, {1, 9, 0.5, 0.3}, {50, 40, 1.2, 0.8}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct hr_train_options options = options_of(WORKERS, cases[c].every);
        options.outer_lr = cases[c].rate;
        options.outer_momentum = cases[c].momentum;
        options.max_steps = cases[c].steps;
        options.weight_decay = 0;
        options.update_rule = &plain;
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", c);
        memset(&seen, 0, sizeof seen);
        size_t params;
        float *weights = run_weights(options, &params);
        assert_int_equal(params, seen.params);
        qsort(seen.of, WORKERS, sizeof *seen.of, by_address);
        for (size_t i = 0; i < params; i++) {
            const float want = twin(i, cases[c].steps, cases[c].every, 30, (float)cases[c].rate,
                                    (float)cases[c].momentum);
            assert_memory_equal(&weights[i], &want, sizeof want);
        }
        free(weights);
    }
}

/* --- where it is local-sgd --- */

static void at_rate_1_without_momentum_it_is_near_local_sgd(void **state)
{
    (void)state;
    static const char *const models[] = {"flatten, dense 11, relu, dense 10",
                                         "flatten, dense 11, batchnorm, relu, dense 10"};
    for (size_t m = 0; m < 2; m++) {
        struct hr_train_options outer = options_of(3, 7), local = run_options("local-sgd", 3);
        outer.outer_lr = 1;
        outer.outer_momentum = 0;
        local.sync_every = 7;
        outer.max_steps = local.max_steps = 20;
        snprintf(outer.model, sizeof outer.model, "%s", models[m]);
        snprintf(local.model, sizeof local.model, "%s", models[m]);
        run_check_near(local, outer);
    }
}

/* --- cuts --- */

static void timing_decides_nothing(void **state)
{
    (void)state;
    static const char *const compressors[] = {"", "int8", "topk:5%", "powersgd:2"};
    for (size_t c = 0; c < 4; c++) {
        struct hr_train_options options = options_of(3, 4);
        char want[33];
        options.epochs = 1;
        snprintf(options.compress, sizeof options.compress, "%s", compressors[c]);
        run_digest(&options, want);
        for (size_t seed = 0; seed < check_count(5, 100); seed++) {
            snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
            CHECK_DIGEST(&options, want);
        }
    }
}

/* Saved every `every` steps, stopped at step k, and gone on with. */
static void resumed_is_never_stopped(void **state)
{
    (void)state;
    static const uint64_t every[] = {8, 10, 5, 30}, k[] = {16, 1, 33, 60};
    static const char *const compressors[] = {"", "", "bf16", "topk:5%"};
    for (size_t i = 0; i < 4; i++) {
        struct hr_train_options options = options_of(3, 4);
        char want[33];
        options.epochs = 3;
        snprintf(options.optimizer, sizeof options.optimizer, "%s", i % 2 ? "adamw" : "sgd");
        snprintf(options.compress, sizeof options.compress, "%s", compressors[i]);
        run_digest(&options, want); /* and a save changes nothing */
        options.checkpoint_every.steps = every[i];
        run_check_resume(options, k[i], want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outer_steps_are_a_serial_twins),
        cmocka_unit_test(at_rate_1_without_momentum_it_is_near_local_sgd),
        cmocka_unit_test(timing_decides_nothing),
        cmocka_unit_test(resumed_is_never_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
