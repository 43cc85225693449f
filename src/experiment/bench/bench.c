/* What kinds of bench share: sizes, memory, samples. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/philox.h"
#include "options/nearest.h"

enum hr_status hr_bench_parse_sizes(const char *text, uint64_t *low, uint64_t *high)
{
    char first[64];
    const char *colon = strchr(text, ':');
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
    if (hr_parse_size(first, low) && hr_parse_size(colon ? colon + 1 : first, high) &&
        *low >= sizeof(float) && *low <= *high && *high <= (uint64_t)1 << 33)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--sizes %s: expected LO:HI in bytes, as 4:64M, from 4 to 8G", text);
}

enum hr_status hr_bench_parse_either(const char *option, const char *text, const char *no,
                                     const char *yes, bool *out)
{
    *out = !strcmp(text, yes);
    if (*out || !strcmp(text, no))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--%s %s: expected %s or %s", option, text, no, yes);
}

enum hr_status hr_bench_check_memory(size_t buffers, uint64_t low, uint64_t high, uint64_t step)
{
    uint64_t largest = low;
    struct hr_needs needs = {0};
    while (largest <= high / step)
        largest *= step;
    hr_needs_add(&needs, "buffers", buffers, largest);
    return hr_needs_check(&needs, "the largest size needs",
                          "smaller --sizes or fewer ranks would fit");
}

/* --- samples --- */

enum { ROOM = 64 << 20, MOST_SAMPLES = 60000, TEST_SAMPLES = 64, MOST_CLASSES = 256 };
enum { MOST_ELEMS = 1 << 24 };

/* "3x32x32" */
static bool parse_shape(const char *text, struct hr_shape *out)
{
    size_t *const sizes[] = {&out->channels, &out->height, &out->width};
    char copy[32], *rest = copy;
    if (strlen(text) >= sizeof copy)
        return false;
    strcpy(copy, text);
    for (size_t i = 0; i < 3; i++) {
        const char *word = strsep(&rest, "x");
        uint64_t size;
        if (!word || !hr_parse_count(word, &size) || size < 1 || size > MOST_ELEMS)
            return false;
        *sizes[i] = size;
    }
    return !rest && (double)out->channels * (double)out->height * (double)out->width <= MOST_ELEMS;
}

static size_t clamp(size_t n, size_t low, size_t high)
{
    return n < low ? low : n > high ? high : n;
}

static void fill_pixels(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i += sizeof(struct hr_philox)) {
        const struct hr_philox block = hr_random_block(1, HR_STREAM_TEST, i, 0);
        const size_t left = count - i;
        memcpy(pixels + i, &block, left < sizeof block ? left : sizeof block);
    }
}

static enum hr_status make_up(const struct hr_cli *cli, bool whole, struct hr_bench_data *out)
{
    struct hr_dataset *set = &out->dataset;
    if (!parse_shape(cli->input, &set->shape))
        return hr_fail(HR_E_USAGE,
                       "--input %s: expected CHANNELSxHEIGHTxWIDTH, as 1x28x28, at most %d numbers",
                       cli->input, MOST_ELEMS);
    if (cli->classes < 1 || cli->classes > MOST_CLASSES)
        return hr_fail(HR_E_USAGE, "--classes %zu: expected 1 to %d", cli->classes, MOST_CLASSES);
    const size_t elems = hr_shape_elems(set->shape);
    const size_t train = whole ? clamp(ROOM / elems, TEST_SAMPLES, MOST_SAMPLES) : 1;
    const size_t samples = train + TEST_SAMPLES;
    HR_TRY(hr_memory_ask("--input: random samples", samples * (elems + sizeof(uint32_t))));
    uint32_t *labels = malloc(samples * (elems + sizeof *labels)); /* the pixels behind them */
    out->made_up = labels;
    if (!labels)
        return hr_fail(HR_E_NOMEM, "--input %s: no memory for %zu samples", cli->input, samples);
    uint8_t *pixels = (uint8_t *)(labels + samples);
    for (size_t i = 0; i < samples; i++)
        labels[i] = (uint32_t)(i % cli->classes);
    set->features = HR_FEATURES_BYTES;
    set->classes = cli->classes;
    set->scale = 1.0f / 255;
    set->train = (struct hr_split){.count = train, .pixels = pixels, .labels = labels};
    set->test = (struct hr_split){
        .count = TEST_SAMPLES, .pixels = pixels + train * elems, .labels = labels + train};
    snprintf(set->name, sizeof set->name, "random");
    snprintf(out->name, sizeof out->name, "random %s in %zu classes", cli->input, cli->classes);
    return HR_OK;
}

/* Few samples are evaluated: what is measured is training. */
static enum hr_status open_named(const struct hr_cli *cli, struct hr_bench_data *out)
{
    if (hr_cli_was_given(cli, "input") || hr_cli_was_given(cli, "classes"))
        return hr_fail(HR_E_USAGE, "--%s: is not supported with --data, which says it itself",
                       hr_cli_was_given(cli, "input") ? "input" : "classes");
    HR_TRY(hr_dataset_open(cli->data, &out->dataset));
    out->dataset.test.count = clamp(out->dataset.test.count, 1, TEST_SAMPLES);
    snprintf(out->name, sizeof out->name, "%.63s", cli->data);
    return HR_OK;
}

enum hr_status hr_bench_data_open(const struct hr_cli *cli, bool whole, struct hr_bench_data *out)
{
    *out = (struct hr_bench_data){0};
    return hr_cli_was_given(cli, "data") ? open_named(cli, out) : make_up(cli, whole, out);
}

void hr_bench_data_fill(struct hr_bench_data *data)
{
    const struct hr_dataset *set = &data->dataset;
    const size_t samples = set->train.count + set->test.count;
    if (!data->made_up)
        return;
    fill_pixels((uint8_t *)(data->made_up + samples), samples * hr_shape_elems(set->shape));
}

void hr_bench_data_close(struct hr_bench_data *data)
{
    free(data->made_up);
    if (!data->made_up)
        hr_dataset_close(&data->dataset);
    *data = (struct hr_bench_data){0};
}

/* --- what their tables share --- */

const char *hr_bench_spread_text(double spread, char text[16])
{
    snprintf(text, 16, spread < 0.0995 ? "%.1f" : "%.0f", fmin(100 * spread, 9999));
    return text;
}

json_t *hr_bench_times(double p10_us, double p50_us, double p90_us)
{
    return hr_json_object("p10", HR_JSON(p10_us), "p50", HR_JSON(p50_us), "p90", HR_JSON(p90_us),
                          NULL);
}
