#include "nn/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/philox.h"
#include "nn/model.h"
#include "nn/model_impl.h"

enum { ROUNDS = 9, MOST_STEPS = 200, WARMUP = 3 };

const char *hr_part_name(enum hr_profile_part part)
{
    static const char *const names[HR_PARTS] = {"forward", "backward weights", "backward data",
                                                "loss"};
    return names[part];
}

/* --- what is to be done --- */

bool hr_model_has_part(const struct hr_model *model, size_t index, enum hr_profile_part part)
{
    const struct hr_layer *layer = &model->layers[index];
    const struct hr_flow *flow = &model->flows[index];
    const bool idle = layer->type == &hr_layer_flatten && layer->in_place;
    if (layer->absorbed || idle)
        return false;
    switch (part) {
    case HR_PART_FORWARD:
        return !layer->done_before;
    case HR_PART_WEIGHTS:
        return layer->ntensors > 0;
    case HR_PART_DATA:
        return flow->trained && (flow->dx[0] != HR_NO_SLOT || flow->dx[1] != HR_NO_SLOT);
    default:
        return false;
    }
}

struct hr_work hr_layer_work(const struct hr_layer *layer, size_t B)
{
    const double in = (double)B * (double)hr_dims_elems(&layer->in),
                 out = (double)B * (double)hr_dims_elems(&layer[layer->absorbs].out);
    return (struct hr_work){.madds = (double)B * hr_layer_multiplied(layer),
                            .bytes =
                                sizeof(float) * (in + out + (double)hr_layer_param_count(layer))};
}

/* --- timing --- */

/* Times of one row, a step each. */
struct times {
    size_t n;
    double s[MOST_STEPS];
};

struct stopwatch {
    const struct hr_model *model;
    struct times (*layers)[HR_PARTS]; /* (nlayers): forward; weights; all of backward */
    struct times loss, step;
    bool apart;         /* this step times the gradients of parameters alone */
    int64_t forward_at; /* when the last forward was over; 0: backward has begun */
};

static void note(struct times *times, int64_t began, int64_t ended)
{
    if (times->n < MOST_STEPS)
        times->s[times->n++] = hr_seconds(ended - began);
}

static void watch_forward(struct stopwatch *watch, const struct hr_layer *layer,
                          const struct hr_pass *pass)
{
    const int64_t began = hr_clock_ns();
    layer->type->forward(layer, pass);
    watch->forward_at = hr_clock_ns();
    if (!watch->apart)
        note(&watch->layers[layer->index][HR_PART_FORWARD], began, watch->forward_at);
}

/* Between the last forward and the first backward stands the loss. */
static void watch_backward(struct stopwatch *watch, const struct hr_layer *layer,
                           const struct hr_pass *pass)
{
    struct times *times = watch->layers[layer->index];
    struct hr_pass weights = *pass;
    int64_t began = hr_clock_ns();
    if (watch->forward_at && !watch->apart)
        note(&watch->loss, watch->forward_at, began);
    watch->forward_at = 0;
    if (watch->apart && layer->ntensors) {
        weights.dx = NULL;
        layer->type->backward(layer, &weights);
        note(&times[HR_PART_WEIGHTS], began, hr_clock_ns());
        began = hr_clock_ns();
    }
    layer->type->backward(layer, pass);
    if (!watch->apart)
        note(&times[HR_PART_DATA], began, hr_clock_ns());
}

static void watch_layer(void *arg, const struct hr_layer *layer, const struct hr_pass *pass,
                        bool backward)
{
    (backward ? watch_backward : watch_forward)(arg, layer, pass);
}

/* Everything a step needs. */
struct bench {
    struct stopwatch watch;
    struct hr_workspace *workspace;
    struct hr_roof_meter *meter;
    float *params, *grads;
    uint32_t *samples; /* (B) their numbers */
    size_t B;
};

static double step(struct bench *bench, bool apart)
{
    bench->watch.apart = apart;
    const int64_t began = hr_clock_ns();
    hr_model_gradient(bench->watch.model, bench->workspace, bench->params, bench->B, bench->grads);
    const int64_t ended = hr_clock_ns();
    if (!apart)
        note(&bench->watch.step, began, ended);
    return hr_seconds(ended - began);
}

static void forget(struct stopwatch *watch)
{
    for (size_t i = 0; i < watch->model->text.nlayers; i++)
        for (size_t p = 0; p < HR_PARTS; p++)
            watch->layers[i][p].n = 0;
    watch->loss.n = watch->step.n = 0;
}

/* A step may overwrite its input. */
static void fill_input(const struct bench *bench, size_t seed)
{
    const struct hr_model *model = bench->watch.model;
    const size_t count = bench->B * hr_dims_elems(&model->input);
    float *x = hr_workspace_input(bench->workspace);
    uint32_t *y = hr_workspace_labels(bench->workspace);
    for (size_t i = 0; i < count; i++)
        x[i] = hr_random_unit((uint32_t)(i + seed) * 2654435761u);
    for (size_t i = 0; model->loss.text && i < count; i++)
        x[i] = floorf(x[i] * (float)model->classes);
    for (size_t b = 0; b < bench->B; b++) /* of text they are places, and any will do */
        y[b] = model->loss.text ? 0 : (uint32_t)(b % model->classes);
}

/* Rounds of the roofs and of steps take turns. */
static void run_rounds(struct bench *bench, double seconds)
{
    double one = 0;
    fill_input(bench, 0);
    for (int i = 0; i < WARMUP; i++)
        one = step(bench, i == 0);
    forget(&bench->watch);
    const size_t n = (size_t)fmin(fmax(seconds / ROUNDS / (2.3 * one), 1), MOST_STEPS / ROUNDS);
    for (size_t round = 0; round < ROUNDS; round++) {
        hr_roof_meter_round(bench->meter);
        fill_input(bench, round);
        step(bench, true); /* a step to bring back what the roofs evicted */
        for (size_t i = 0; i < n; i++) {
            step(bench, false);
            step(bench, true);
        }
    }
}

/* --- rows --- */

/* "0 conv 32 3x3 pad 1, relu, maxpool 2" */
static void write_name(const struct hr_model *model, size_t index, bool forward, char *name,
                       size_t size)
{
    const struct hr_layer *layer = &model->layers[index];
    size_t last = index + layer->absorbs;
    if (forward && layer->relu_follows && !layer->absorbs)
        last++;
    size_t used = (size_t)snprintf(name, size, "%zu", index);
    for (size_t i = index; i <= last && used < size; i++) {
        char text[60];
        used += (size_t)snprintf(name + used, size - used, "%s%s", i > index ? ", " : " ",
                                 hr_layer_text_join(&model->text.layers[i], text, sizeof text));
    }
}

static double time_of(struct stopwatch *watch, size_t i, enum hr_profile_part part)
{
    struct times *times = watch->layers[i];
    const double all = hr_median(times[part].s, times[part].n);
    if (part != HR_PART_DATA || watch->model->layers[i].ntensors == 0)
        return all;
    return fmax(0, all - hr_median(times[HR_PART_WEIGHTS].s, times[HR_PART_WEIGHTS].n));
}

static void add_row(struct bench *bench, struct hr_profile *out, size_t i,
                    enum hr_profile_part part)
{
    const struct hr_model *model = bench->watch.model;
    const struct hr_layer *layer = &model->layers[i];
    if (!hr_model_has_part(model, i, part))
        return;
    struct hr_profile_row *row = &out->rows[out->n++];
    write_name(model, i, part == HR_PART_FORWARD, row->layer, sizeof row->layer);
    row->part = part;
    row->work = hr_layer_work(layer, bench->B);
    row->seconds = time_of(&bench->watch, i, part);
}

static void add_loss(struct bench *bench, struct hr_profile *out)
{
    const double logits = (double)(bench->B * bench->watch.model->classes);
    struct hr_profile_row *row = &out->rows[out->n++];
    *row = (struct hr_profile_row){
        .layer = "softmax loss",
        .part = HR_PART_LOSS,
        .work.bytes = 2 * sizeof(float) * logits + sizeof(uint32_t) * (double)bench->B,
        .seconds = hr_median(bench->watch.loss.s, bench->watch.loss.n),
    };
}

static enum hr_status make_rows(struct bench *bench, struct hr_profile *out)
{
    const struct hr_model *model = bench->watch.model;
    const size_t n = model->text.nlayers;
    out->rows = calloc(n * HR_PARTS + 1, sizeof *out->rows);
    out->model = strdup(model->text.list);
    if (!out->rows || !out->model)
        return hr_fail(HR_E_NOMEM, "no memory for the times of %zu layers", n);
    for (size_t i = 0; i < n; i++)
        add_row(bench, out, i, HR_PART_FORWARD);
    add_loss(bench, out);
    for (size_t i = n; i-- > model->first_trained;) {
        add_row(bench, out, i, HR_PART_WEIGHTS);
        add_row(bench, out, i, HR_PART_DATA);
    }
    out->params = model->param_count;
    out->madds = (double)bench->B * hr_model_multiplied(model);
    out->steps = bench->watch.step.n;
    out->step_s = hr_median(bench->watch.step.s, bench->watch.step.n);
    out->roofs = hr_roof_meter_read(bench->meter);
    return HR_OK;
}

/* --- all of it --- */

static enum hr_status prepare(struct bench *bench, size_t threads)
{
    const struct hr_model *model = bench->watch.model;
    const struct hr_workspace_options options = {
        .threads = threads, .watch = watch_layer, .arg = &bench->watch};
    struct hr_needs needs = {0};
    const size_t bytes = hr_workspace_bytes(model, bench->B, &options);
    hr_needs_add(&needs, "weights and gradients", 2 * model->param_count, sizeof(float));
    hr_needs_add(&needs, "activations", 1, bytes ? bytes : SIZE_MAX);
    HR_TRY(hr_needs_check(&needs, "a batch needs", ""));
    bench->watch.layers = calloc(model->text.nlayers, sizeof *bench->watch.layers);
    bench->params = calloc(model->param_count, sizeof *bench->params);
    bench->grads = calloc(model->param_count, sizeof *bench->grads);
    bench->samples = calloc(bench->B, sizeof *bench->samples);
    if (!bench->watch.layers || !bench->params || !bench->grads || !bench->samples)
        return hr_fail(HR_E_NOMEM, "no memory for the times of %zu layers", model->text.nlayers);
    HR_TRY(hr_workspace_create(model, bench->B, &options, &bench->workspace));
    hr_model_init(model, 1, bench->params);
    for (size_t b = 0; b < bench->B; b++)
        bench->samples[b] = (uint32_t)b;
    hr_workspace_draw(bench->workspace, 0, bench->samples);
    return hr_roof_meter_create(model->precision == HR_PRECISION_BF16 ? HR_ROOF_BFLOAT16
                                                                      : HR_ROOF_FLOAT32,
                                threads, ROUNDS, &bench->meter);
}

static void clean_up(struct bench *bench)
{
    hr_roof_meter_destroy(bench->meter);
    hr_workspace_destroy(bench->workspace);
    free(bench->watch.layers);
    free(bench->params);
    free(bench->grads);
    free(bench->samples);
}

enum hr_status hr_profile_measure(const struct hr_model *model, size_t B, size_t threads,
                                  double seconds, struct hr_profile *out)
{
    struct bench bench = {.watch.model = model, .B = B};
    struct hr_profile profile = {.batch_size = B, .threads = threads};
    enum hr_status status = prepare(&bench, threads);
    if (status == HR_OK) {
        run_rounds(&bench, seconds);
        status = make_rows(&bench, &profile);
    }
    clean_up(&bench);
    if (status == HR_OK)
        *out = profile;
    else
        hr_profile_free(&profile);
    return status;
}

void hr_profile_free(struct hr_profile *profile)
{
    free(profile->model);
    free(profile->rows);
    *profile = (struct hr_profile){0};
}

void hr_profile_shares(const struct hr_profile *profile, double share[HR_BOUNDS])
{
    double all = 0;
    for (enum hr_bound b = 0; b < HR_BOUNDS; b++)
        share[b] = 0;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        if (row->seconds > 0)
            share[hr_roofs_judge(&profile->roofs, row->work, row->seconds).bound] += row->seconds;
        all += row->seconds;
    }
    for (enum hr_bound b = 0; all > 0 && b < HR_BOUNDS; b++)
        share[b] /= all;
}
