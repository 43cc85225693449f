#include "sample/sample.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "base/philox.h"
#include "data/tokens.h"
#include "nn/model.h"
#include "products/ready.h"
#include "session/model_input.h"
#include "session/saved.h"
#include "session/target_scale.h"
#include "state/model_file.h"
#include "state/state.h"

struct candidate {
    float output;
    uint32_t token;
};

struct hr_generator {
    struct hr_checkpoint checkpoint;
    struct hr_model_input input;
    struct hr_vocabulary vocabulary;
    struct hr_dataset like; /* what it was trained on, without samples */
    struct hr_model *model;
    struct hr_workspace *workspace; /* its input is the window */
    float *params;
    struct candidate *candidates; /* (tokens) */
    double *weights;              /* (tokens) */
    size_t length, computed;      /* tokens of the window, and those whose places are */
    uint64_t drawn;               /* tokens since the prompt */
};

/* --- the model --- */

static enum hr_status check_needs(const struct hr_generator *s)
{
    struct hr_needs needs = {0};
    const size_t bytes = hr_workspace_bytes(s->model, 1, NULL);
    hr_needs_add(&needs, "weights", hr_model_param_count(s->model), sizeof *s->params);
    hr_needs_add(&needs, "a window's layers", 1, bytes ? bytes : SIZE_MAX);
    return hr_needs_check(&needs, "this model needs", "");
}

static enum hr_status take_memory(struct hr_generator *s)
{
    const size_t V = s->vocabulary.count;
    HR_TRY(check_needs(s));
    s->params = malloc(hr_model_param_count(s->model) * sizeof *s->params);
    s->candidates = malloc(V * sizeof *s->candidates);
    s->weights = malloc(V * sizeof *s->weights);
    if (!s->params || !s->candidates || !s->weights)
        return hr_fail(HR_E_NOMEM, "no memory for a model of %zu parameters",
                       hr_model_param_count(s->model));
    return hr_workspace_create(s->model, 1, NULL, &s->workspace);
}

static enum hr_status check_text(const struct hr_generator *s)
{
    if (s->like.tokens.context)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: was not trained on text; hogring predict gives its answers to new data",
                   s->checkpoint.path);
}

static enum hr_status open_model(struct hr_generator *s, const char *path)
{
    const struct hr_target_scale none = {0};
    HR_TRY(hr_saved_read(path, &s->checkpoint));
    HR_TRY(hr_model_input_get(&s->checkpoint, &s->input));
    hr_model_input_like(&s->checkpoint, &s->input, 0, &s->like);
    HR_TRY(check_text(s));
    HR_TRY(hr_vocabulary_read(s->input.recipe, &s->vocabulary));
    HR_TRY(hr_saved_model(&s->checkpoint, NULL, &s->like, &none, &s->model));
    HR_TRY(take_memory(s));
    HR_TRY(hr_load_weights(&s->checkpoint, s->model, s->params));
    hr_fp_flush_denormals();
    return hr_kernels_init_process(1);
}

enum hr_status hr_generator_open(const char *path, struct hr_generator **out)
{
    struct hr_generator *s = *out = calloc(1, sizeof *s);
    if (!s)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    const enum hr_status status = open_model(s, path);
    if (status != HR_OK) {
        hr_generator_close(s);
        *out = NULL;
    }
    return status;
}

void hr_generator_close(struct hr_generator *s)
{
    if (!s)
        return;
    hr_workspace_destroy(s->workspace);
    hr_model_destroy(s->model);
    hr_vocabulary_free(&s->vocabulary);
    hr_model_input_free(&s->input);
    hr_checkpoint_free(&s->checkpoint);
    free(s->params);
    free(s->candidates);
    free(s->weights);
    free(s);
}

struct hr_generator_about hr_generator_about(const struct hr_generator *s)
{
    return (struct hr_generator_about){.checkpoint = s->checkpoint.path,
                                       .model = hr_model_text(s->model),
                                       .step = s->checkpoint.step,
                                       .context = s->like.tokens.context,
                                       .tokens = s->vocabulary.count};
}

/* --- the window --- */

static void add(struct hr_generator *s, uint32_t token)
{
    const size_t T = s->like.tokens.context, kept = T / 2;
    float *window = hr_workspace_input(s->workspace); /* (T) */
    if (s->length == T) {
        memmove(window, window + T - kept, kept * sizeof *window);
        s->length = kept;
        s->computed = 0;
    }
    window[s->length++] = (float)token;
}

/* "17 4 9" */
static enum hr_status add_numbers(struct hr_generator *s, const char *name, const char *text)
{
    char *end;
    for (;; text = end) {
        while (isspace((unsigned char)*text))
            text++;
        if (!*text)
            return HR_OK;
        const unsigned long token = strtoul(text, &end, 10);
        if (!isdigit((unsigned char)*text) || token >= s->vocabulary.count ||
            (*end && !isspace((unsigned char)*end)))
            return hr_fail(HR_E_FORMAT,
                           "%s: \"%s\": expected numbers of tokens, 0 to %zu, with blanks between",
                           name, hr_shown(text, strcspn(text, " \t\r\n")).text,
                           s->vocabulary.count - 1);
        add(s, (uint32_t)token);
    }
}

static enum hr_status add_text(struct hr_generator *s, const char *name, const char *text,
                               size_t bytes)
{
    const size_t width = hr_vocabulary_width(&s->vocabulary);
    struct hr_array ids = {0};
    const enum hr_status status = hr_vocabulary_encode(&s->vocabulary, name, text, bytes, &ids);
    const struct hr_tokens tokens = {.width = width, .ids = ids.data};
    for (size_t i = 0; status == HR_OK && i < ids.bytes / width; i++)
        add(s, hr_token(&tokens, i));
    free(ids.data);
    return status;
}

enum hr_status hr_generator_prompt(struct hr_generator *s, const char *name, const char *text,
                                   size_t bytes)
{
    s->length = s->computed = s->drawn = 0;
    HR_TRY(s->vocabulary.kind == HR_VOCABULARY_NUMBERS ? add_numbers(s, name, text)
                                                       : add_text(s, name, text, bytes));
    return s->length ? HR_OK
                     : hr_fail(HR_E_USAGE, "%s: is empty; expected a token to begin with", name);
}

/* --- the choice --- */

static enum hr_status largest_of(const struct hr_generator *s, const float *outputs, uint32_t *out)
{
    uint32_t largest = 0;
    for (uint32_t v = 0; v < s->vocabulary.count; v++) {
        if (!isfinite(outputs[v]))
            return hr_fail(HR_E_FAILED, "%s: its outputs are not finite: its training has diverged",
                           s->checkpoint.path);
        largest = outputs[v] > outputs[largest] ? v : largest;
    }
    *out = largest;
    return HR_OK;
}

/* The largest first, of equals the first token. */
static int by_output(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->output > b->output || a->output < b->output)
        return a->output > b->output ? -1 : 1;
    return a->token < b->token ? -1 : 1;
}

static uint32_t draw(struct hr_generator *s, const float *outputs, float largest,
                     const struct hr_sampling *rule)
{
    const struct hr_philox bits =
        hr_random_block(rule->seed, HR_STREAM_TOKEN, s->drawn, rule->sample);
    const double u = (double)(((uint64_t)bits.v[0] << 32 | bits.v[1]) >> 11) * 0x1p-53;
    size_t n = s->vocabulary.count, at = 0;
    double sum = 0, passed = 0;
    for (uint32_t v = 0; v < n; v++)
        s->candidates[v] = (struct candidate){outputs[v], v};
    if (rule->top_k && rule->top_k < n) {
        qsort(s->candidates, n, sizeof *s->candidates, by_output);
        n = rule->top_k;
    }
    for (size_t i = 0; i < n; i++) {
        s->weights[i] =
            exp(((double)s->candidates[i].output - (double)largest) / rule->temperature);
        sum += s->weights[i];
    }
    for (size_t i = 0; i < n && passed <= u * sum; i++) { /* one of weight 0 is never the last */
        passed += s->weights[i];
        at = s->weights[i] > 0 ? i : at;
    }
    return s->candidates[at].token;
}

enum hr_status hr_generator_next(struct hr_generator *s, const struct hr_sampling *rule,
                                 uint32_t *token)
{
    const float *outputs =
        hr_model_go_on(s->model, s->workspace, s->params, s->computed, s->length);
    s->computed = s->length;
    HR_TRY(largest_of(s, outputs, token));
    if (rule->temperature > 0)
        *token = draw(s, outputs, outputs[*token], rule);
    s->drawn++;
    add(s, *token);
    return HR_OK;
}

size_t hr_generator_text(const struct hr_generator *s, uint32_t token, char out[HR_TOKEN_TEXT])
{
    return hr_vocabulary_decode(&s->vocabulary, token, out);
}
