/* A language model goes on with a text: greedily as whole forward passes over the window of the
 * stated rule do, past the context too; and drawn, the same again, with the frequencies of p. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "nn/model.h"
#include "sample/sample.h"
#include "session/target_scale.h"
#include "state/model_file.h"
#include "support/runs.h"
#include "support/scratch.h"

enum { T = 7, LONG = 60 };

/* A model of a text, at scratch("run"). */
static void train_on(const char *text, const char *vocabulary, const char *layers)
{
    struct hr_data_options reading;
    struct hr_dataset dataset;
    scratch_write("text.txt", text, strlen(text));
    hr_data_defaults(&reading);
    reading.context = T;
    snprintf(reading.vocabulary, sizeof reading.vocabulary, "%s", vocabulary);
    CHECK_OK(hr_dataset_open_with(scratch("text.txt"), &reading, &dataset));
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.model, sizeof options.model, "%s", layers);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", scratch("run"));
    options.epochs = 3;
    options.batch_size = 2;
    options.lr = 0.05;
    run_on(&dataset);
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    hr_dataset_close(&dataset);
}

static const char words[] = "the cat sat on the mat, and the dog sat on the log; the cat ran off "
                            "to the dam, and the dog ran off to the hut. so it goes, on and on.";
static const char layers[] = "embedding 12, position, residual (layernorm, attention 3), "
                             "residual (layernorm, dense 20, gelu, dense 12), layernorm, tied";

/* The same model, for forward passes of the test's own. */
struct twin {
    struct hr_checkpoint checkpoint;
    struct hr_dataset like;
    struct hr_model *model;
    struct hr_workspace *workspace;
    float *params;
};

static void twin_open(struct twin *twin, size_t tokens)
{
    const struct hr_target_scale none = {0};
    CHECK_OK(hr_checkpoint_load(scratch("run"), &twin->checkpoint));
    twin->like = (struct hr_dataset){.shape = {1, 1, T}, .classes = tokens, .tokens.context = T};
    CHECK_OK(hr_saved_model(&twin->checkpoint, NULL, &twin->like, &none, &twin->model));
    CHECK_OK(hr_workspace_create(twin->model, 1, NULL, &twin->workspace));
    twin->params = malloc(hr_model_param_count(twin->model) * sizeof *twin->params);
    CHECK_OK(hr_load_weights(&twin->checkpoint, twin->model, twin->params));
}

static void twin_close(struct twin *twin)
{
    hr_workspace_destroy(twin->workspace);
    hr_model_destroy(twin->model);
    hr_checkpoint_free(&twin->checkpoint);
    free(twin->params);
}

/* Behind its tokens there may stand others, which no place before them sees. */
struct window {
    float tokens[T];
    size_t n;
};

/* What follows them: a whole pass. */
static const float *twin_outputs(struct twin *twin, const struct window *window, size_t V)
{
    memcpy(hr_workspace_input(twin->workspace), window->tokens, sizeof window->tokens);
    return hr_model_forward(twin->model, twin->workspace, twin->params, 1, false) +
           (window->n - 1) * V;
}

/* The rule: of a full window the last half stays. */
static void slide(struct window *window, uint32_t token)
{
    if (window->n == T) {
        memmove(window->tokens, window->tokens + T - T / 2, (T / 2) * sizeof *window->tokens);
        window->n = T / 2;
    }
    window->tokens[window->n++] = (float)token;
}

static void greedy_text_is_that_of_whole_passes(void **state)
{
    (void)state;
    static const char *const prompts[] = {"t", "the c", "the cat", "the dog sat on the log"};
    const struct hr_sampling greedy = {0};
    struct twin *twin = calloc(1, sizeof *twin);
    struct hr_generator *g;
    train_on(words, "bytes", "embedding 12, position, attention 3, gelu, layernorm, dense 256");
    twin_open(twin, 256);
    CHECK_OK(hr_generator_open(scratch("run"), &g));
    for (size_t p = 0; p < sizeof prompts / sizeof *prompts; p++) {
        struct window window = {0};
        for (const char *c = prompts[p]; *c; c++)
            slide(&window, (unsigned char)*c);
        CHECK_OK(hr_generator_prompt(g, "prompt", prompts[p], strlen(prompts[p])));
        for (size_t i = 0; i < LONG; i++) {
            const float *outputs = twin_outputs(twin, &window, 256);
            uint32_t largest = 0, token;
            for (uint32_t v = 1; v < 256; v++)
                largest = outputs[v] > outputs[largest] ? v : largest;
            CHECK_OK(hr_generator_next(g, &greedy, &token));
            assert_int_equal(token, largest);
            slide(&window, token);
        }
    }
    hr_generator_close(g);
    twin_close(twin);
    free(twin);
}

/* How often each token comes first behind a prompt, of so many samples. */
static void count_first(struct hr_generator *g, struct hr_sampling rule, size_t samples,
                        size_t counts[256])
{
    memset(counts, 0, 256 * sizeof *counts);
    for (size_t i = 0; i < samples; i++) {
        uint32_t token;
        rule.sample = (uint32_t)i;
        CHECK_OK(hr_generator_prompt(g, "prompt", "the", 3));
        CHECK_OK(hr_generator_next(g, &rule, &token));
        counts[token]++;
    }
}

/* Of as many draws as here a count is off by five deviations once in two million. */
static void tokens_come_as_often_as_they_should(void **state)
{
    (void)state;
    enum { SAMPLES = 4000, K = 3 };
    struct twin *twin = calloc(1, sizeof *twin);
    struct window window = {{'t', 'h', 'e'}, 3};
    struct hr_generator *g;
    size_t all[256], few[256], kinds = 0;
    double p[256], sum = 0;
    train_on(words, "bytes", layers);
    twin_open(twin, 256);
    CHECK_OK(hr_generator_open(scratch("run"), &g));
    const float *outputs = twin_outputs(twin, &window, 256);
    for (size_t v = 0; v < 256; v++)
        sum += p[v] = exp((double)outputs[v] / 0.7);
    count_first(g, (struct hr_sampling){.temperature = 0.7, .seed = 5}, SAMPLES, all);
    count_first(g, (struct hr_sampling){.temperature = 0.7, .top_k = K, .seed = 5}, SAMPLES, few);
    for (size_t v = 0; v < 256; v++) {
        const double want = SAMPLES * p[v] / sum;
        CHECK_NEAR(all[v], want, 0, 5 * sqrt(want) + 5);
        size_t larger = 0;
        for (size_t w = 0; w < 256; w++)
            larger += outputs[w] > outputs[v];
        kinds += few[v] > 0;
        assert_true(!few[v] || larger < K);
    }
    assert_int_equal(kinds, K);
    hr_generator_close(g);
    twin_close(twin);
    free(twin);
}

static void one_text(struct hr_generator *g, uint64_t seed, uint32_t sample, uint32_t text[LONG])
{
    const struct hr_sampling rule = {.temperature = 1, .top_k = 9, .seed = seed, .sample = sample};
    CHECK_OK(hr_generator_prompt(g, "prompt", "on", 2));
    for (size_t i = 0; i < LONG; i++)
        CHECK_OK(hr_generator_next(g, &rule, &text[i]));
}

static void a_text_is_a_function_of_its_seed(void **state)
{
    (void)state;
    uint32_t one[LONG], again[LONG], other[LONG];
    struct hr_generator *g;
    train_on(words, "chars", layers);
    CHECK_OK(hr_generator_open(scratch("run"), &g));
    one_text(g, 1, 0, one);
    one_text(g, 1, 1, other);
    assert_memory_not_equal(one, other, sizeof one);
    one_text(g, 2, 0, other);
    assert_memory_not_equal(one, other, sizeof one);
    one_text(g, 1, 0, again);
    assert_memory_equal(one, again, sizeof one);
    hr_generator_close(g);
}

/* No place is needed, nor attention; and no more than a token of context. */
static void other_models_and_prompts(void **state)
{
    (void)state;
    const struct hr_sampling greedy = {0};
    char text[HR_TOKEN_TEXT];
    struct hr_generator *g;
    uint32_t token;
    train_on("äöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäöäö", "chars",
             "embedding 8, dense 2");
    CHECK_OK(hr_generator_open(scratch("run"), &g));
    assert_int_equal(hr_generator_about(g).tokens, 2);
    assert_int_equal(hr_generator_about(g).context, T);
    CHECK_OK(hr_generator_prompt(g, "prompt", "ä", strlen("ä")));
    for (size_t i = 0; i < 3 * T; i++) {
        CHECK_OK(hr_generator_next(g, &greedy, &token));
        const size_t bytes = hr_generator_text(g, token, text);
        assert_memory_equal(text, i % 2 ? "ä" : "ö", bytes);
    }
    assert_int_equal(hr_generator_prompt(g, "prompt", "x", 1), HR_E_FORMAT);
    assert_non_null(strstr(hr_error_message(), "\"x\""));
    assert_int_equal(hr_generator_prompt(g, "prompt", "", 0), HR_E_USAGE);
    hr_generator_close(g);
    assert_int_equal(hr_generator_open("/there/is/none", &g), HR_E_IO);
    assert_null(g);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(greedy_text_is_that_of_whole_passes),
        IN_FOLDER(tokens_come_as_often_as_they_should),
        IN_FOLDER(a_text_is_a_function_of_its_seed),
        IN_FOLDER(other_models_and_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
