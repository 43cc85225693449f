#include "data/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/philox.h"
#include "base/size.h"

/* --- augmentation: the words of --augment --- */

static enum hr_status parse_word(const char *word, struct hr_shape shape, struct hr_augment *out)
{
    const size_t side = hr_min_size(shape.height, shape.width);
    uint64_t pad;
    if (!strcmp(word, "flip")) {
        out->flip = true;
        return HR_OK;
    }
    if (strncmp(word, "crop:", 5) != 0)
        return hr_fail(HR_E_USAGE, "--augment %.40s: expected flip, crop:PAD, or flip,crop:PAD",
                       word);
    if (!hr_parse_count(word + 5, &pad) || pad < 1 || pad >= side)
        return hr_fail(HR_E_USAGE,
                       "--augment %.40s: expected crop:1 to crop:%zu for images of "
                       "%zu x %zu",
                       word, side - 1, shape.height, shape.width);
    out->pad = pad;
    return HR_OK;
}

enum hr_status hr_augment_parse(const char *text, struct hr_shape shape, struct hr_augment *out)
{
    char words[64];
    char *rest = words, *word;
    *out = (struct hr_augment){0};
    if (!text[0])
        return HR_OK;
    if (strlen(text) >= sizeof words)
        return hr_fail(HR_E_USAGE, "--augment %.40s...: expected flip, crop:PAD, or flip,crop:PAD",
                       text);
    if (shape.height < 2 || shape.width < 2)
        return hr_fail(HR_E_USAGE,
                       "--augment %s: only images can be flipped or cropped, and "
                       "samples are (%zu,%zu,%zu)",
                       text, shape.channels, shape.height, shape.width);
    memcpy(words, text, strlen(text) + 1);
    while ((word = strsep(&rest, ",")))
        HR_TRY(parse_word(word, shape, out));
    return HR_OK;
}

/* --- augmentation: applied --- */

/* out (H,W) = in (H,W) moved up by `up` and left by `left` (negative: down, right); zeros move
 * in. */
static void shift_plane(struct hr_shape shape, ptrdiff_t up, ptrdiff_t left, const float *in,
                        float *out)
{
    const ptrdiff_t H = (ptrdiff_t)shape.height, W = (ptrdiff_t)shape.width;
    const size_t kept = (size_t)(W - (left < 0 ? -left : left));
    memset(out, 0, (size_t)(H * W) * sizeof *out);
    for (ptrdiff_t i = 0; i < H; i++)
        if (i + up >= 0 && i + up < H)
            memcpy(out + i * W + (left < 0 ? -left : 0), in + (i + up) * W + (left > 0 ? left : 0),
                   kept * sizeof *out);
}

static void flip_plane(struct hr_shape shape, float *x)
{
    const size_t W = shape.width;
    for (size_t i = 0; i < shape.height; i++)
        for (size_t j = 0; j < W / 2; j++) {
            const float left = x[i * W + j];
            x[i * W + j] = x[i * W + W - 1 - j];
            x[i * W + W - 1 - j] = left;
        }
}

/* A whole number in [-most, most] from 32 random bits. */
static ptrdiff_t draw_shift(uint32_t word, size_t most)
{
    return (ptrdiff_t)((uint64_t)word * (2 * most + 1) >> 32) - (ptrdiff_t)most;
}

void hr_augment_apply(const struct hr_augment *augment, struct hr_shape shape,
                      const struct hr_augment_key *key, size_t n, float *x, float *plane)
{
    const size_t pixels = shape.height * shape.width;
    if (!augment->flip && !augment->pad)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct hr_philox draw =
            hr_random_block(key->seed, HR_STREAM_AUGMENT, key->pass, key->samples[i]);
        const bool flip = augment->flip && draw.v[0] >> 31;
        const ptrdiff_t up = draw_shift(draw.v[1], augment->pad),
                        left = draw_shift(draw.v[2], augment->pad);
        for (size_t c = 0; c < shape.channels; c++) {
            float *at = x + (i * shape.channels + c) * pixels;
            if (augment->pad) {
                memcpy(plane, at, pixels * sizeof *plane);
                shift_plane(shape, up, left, plane, at);
            }
            if (flip)
                flip_plane(shape, at);
        }
    }
}

/* --- scaling --- */

enum hr_status hr_scaling_create(size_t channels, bool origin, struct hr_scaling *out)
{
    float *mean = calloc(2 * channels, sizeof *mean);
    *out = (struct hr_scaling){channels, mean, mean ? mean + channels : NULL,
                               origin ? calloc(channels, sizeof *out->origin) : NULL};
    if (mean && (out->origin || !origin))
        return HR_OK;
    hr_scaling_free(out);
    return hr_fail(HR_E_NOMEM, "no memory for mean and deviation of %zu channels", channels);
}

void hr_scaling_free(struct hr_scaling *scaling)
{
    free(scaling->mean);
    free(scaling->origin);
    *scaling = (struct hr_scaling){0};
}

void hr_scaling_gather(const struct hr_scaling *scaling, const struct hr_dataset *dataset,
                       const struct hr_split *split, const uint32_t *samples, size_t n, float *x,
                       uint32_t *y)
{
    const size_t features = hr_shape_elems(dataset->shape), C = scaling->channels;
    hr_dataset_gather(dataset, split, samples, n, x, y);
    for (size_t i = 0; scaling->origin && i < n; i++, x += features) {
        const double *exact =
            split->exact ? split->exact + hr_split_row(split, samples[i]) * features : NULL;
        for (size_t j = 0; j < features; j++)
            x[j] = (float)((exact ? exact[j] : (double)x[j]) - scaling->origin[j / (features / C)]);
    }
}

void hr_scaling_apply(const struct hr_scaling *scaling, struct hr_shape shape, size_t n, float *x)
{
    const size_t pixels = shape.height * shape.width, C = scaling->channels;
    if (pixels == 1) {
        for (size_t i = 0; i < n; i++, x += C)
#pragma omp simd
            for (size_t c = 0; c < C; c++)
                x[c] = (x[c] - scaling->mean[c]) / scaling->std[c];
        return;
    }
    for (size_t plane = 0; plane < n * C; plane++, x += pixels) {
        const float mean = scaling->mean[plane % C], std = scaling->std[plane % C];
#pragma omp simd
        for (size_t j = 0; j < pixels; j++)
            x[j] = (x[j] - mean) / std;
    }
}

/* --- measuring --- */

enum { BLOCK = 64, LANES = 8 };

/* One walk over the training split: sums[c] += (x - center[c])^power, power 1 or 2. */
struct walk {
    const struct hr_dataset *dataset;
    const struct hr_scaling *scaling; /* its origins */
    const double *center;             /* (channels) */
    double *sums;                     /* (channels) */
    int power;
    float *x; /* (BLOCK, features) scratch */
};

/* A plane in eight partial sums: vectors without reordering; folded from the first to the last. */
static double plane_sum(const float *x, size_t pixels, double center, int power)
{
    double lanes[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= pixels; j += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const double d = (double)x[j + k] - center;
            lanes[k] += power == 2 ? d * d : d;
        }
    for (; j < pixels; j++) {
        const double d = (double)x[j] - center;
        lanes[j % LANES] += power == 2 ? d * d : d;
    }
    for (size_t k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

static void add_sample(const struct walk *walk, const float *x)
{
    const struct hr_shape shape = walk->dataset->shape;
    const size_t pixels = shape.height * shape.width;
    for (size_t c = 0; pixels == 1 && c < shape.channels; c++) {
        const double d = (double)x[c] - walk->center[c];
        walk->sums[c] += walk->power == 2 ? d * d : d;
    }
    for (size_t c = 0; pixels > 1 && c < shape.channels; c++)
        walk->sums[c] += plane_sum(x + c * pixels, pixels, walk->center[c], walk->power);
}

static void gather_block(const struct walk *walk, size_t first, size_t n)
{
    const struct hr_dataset *dataset = walk->dataset;
    uint32_t samples[BLOCK];
    uint32_t labels[BLOCK];
    for (size_t i = 0; i < n; i++)
        samples[i] = (uint32_t)(first + i);
    hr_scaling_gather(walk->scaling, dataset, &dataset->train, samples, n, walk->x, labels);
}

static void walk_split(const struct walk *walk)
{
    const size_t count = walk->dataset->train.count, C = walk->dataset->shape.channels;
    const size_t features = hr_shape_elems(walk->dataset->shape);
    memset(walk->sums, 0, C * sizeof *walk->sums);
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t n = hr_min_size(BLOCK, count - first);
        gather_block(walk, first, n);
        for (size_t i = 0; i < n; i++)
            add_sample(walk, walk->x + i * features);
    }
}

/* At first: a value near all others. */
static void place_origins(const struct hr_dataset *dataset, const struct hr_scaling *out)
{
    const struct hr_split *train = &dataset->train;
    const size_t features = hr_shape_elems(dataset->shape), C = dataset->shape.channels;
    const size_t row = hr_split_row(train, 0) * features;
    for (size_t c = 0; out->origin && c < C; c++) {
        const size_t at = row + c * (features / C);
        if (dataset->rounding[c].distinct)
            out->origin[c] = train->exact ? train->exact[at] : (double)train->values[at];
    }
}

/* Deviations are taken from the first sample, then from the mean: exactly 0 where a channel is
 * constant, and no cancellation where values are large and their spread is small. */
static void measure(struct walk *walk, double *center, const struct hr_scaling *out)
{
    const struct hr_shape shape = walk->dataset->shape;
    const size_t pixels = shape.height * shape.width;
    const double n = (double)walk->dataset->train.count * (double)pixels;
    gather_block(walk, 0, 1);
    for (size_t c = 0; c < shape.channels; c++)
        center[c] = (double)walk->x[c * pixels];
    walk->power = 1;
    walk_split(walk);
    for (size_t c = 0; c < shape.channels; c++)
        center[c] += walk->sums[c] / n;
    walk->power = 2;
    walk_split(walk);
    for (size_t c = 0; c < shape.channels; c++) {
        const float std = (float)sqrt(walk->sums[c] / n);
        out->mean[c] = (float)center[c];
        out->std[c] = std > 0 ? std : 1;
        if (!out->origin || !walk->dataset->rounding[c].distinct)
            continue;
        out->origin[c] += center[c];
        out->mean[c] = 0;
    }
}

enum hr_status hr_scaling_measure(const struct hr_dataset *dataset, struct hr_scaling *out)
{
    const size_t C = dataset->shape.channels;
    double *sums = malloc(2 * C * sizeof *sums);
    float *x = malloc(BLOCK * hr_shape_elems(dataset->shape) * sizeof *x);
    enum hr_status status = HR_E_NOMEM;
    if (sums && x)
        status = hr_scaling_create(C, dataset->rounding, out);
    else
        status = hr_fail(HR_E_NOMEM, "no memory to measure %zu channels", C);
    if (status == HR_OK) {
        struct walk walk = {
            .dataset = dataset, .scaling = out, .center = sums + C, .sums = sums, .x = x};
        place_origins(dataset, out);
        measure(&walk, sums + C, out);
    }
    free(sums);
    free(x);
    return status;
}
