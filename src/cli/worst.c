/* The samples with the largest loss: found, as a table and JSON, drawn as a sheet of images. */
#include "cli/worst.h"

#include <math.h>
#include <png.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/size.h"
#include "base/text.h"
#include "data/table.h"
#include "json/value.h"
#include "predict/meaning.h"
#include "terminal/grid.h"

/* --- which --- */

struct ranked {
    uint32_t sample;
    float loss;
};

/* The largest first; what is not a number before all others; equals as they come. */
static int by_loss(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const int bad = isnan(y->loss) - isnan(x->loss);
    if (bad)
        return bad;
    if (x->loss < y->loss || x->loss > y->loss)
        return x->loss < y->loss ? 1 : -1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void name_class(const struct hr_evaluation *evaluation, uint32_t class, char *out,
                       size_t size)
{
    if (class >= evaluation->classes)
        snprintf(out, size, "-");
    else if (evaluation->class_names)
        snprintf(out, size, "%s", evaluation->class_names[class]);
    else
        snprintf(out, size, "%u", class);
}

/* "350.5 12.25": what is to be predicted of a sample, and what was, as much as fits. */
static void describe_values(const struct hr_evaluation *evaluation,
                            const struct hr_dataset *dataset, struct hr_worst_sample *out)
{
    const size_t count = evaluation->targets;
    const double *truth = dataset->targets.values + evaluation->labels[out->sample] * count;
    const double *answer = evaluation->values + out->sample * count;
    const size_t size = sizeof out->truth;
    size_t a = 0, b = 0;
    out->right = false;
    for (size_t k = 0; k < count && a < size && b < size; k++) {
        const char *before = k ? " " : "";
        const int digits = hr_digits_of(truth[k], evaluation->target[k].deviation);
        a += (size_t)snprintf(out->truth + a, size - a, "%s%.*g", before, digits, truth[k]);
        b += (size_t)snprintf(out->answer + b, size - b, "%s%.*g", before, digits, answer[k]);
    }
}

/* columns (meaning->columns): scratch */
static void describe(const struct hr_evaluation *evaluation, const struct hr_meaning *meaning,
                     struct ranked ranked, float *columns, struct hr_worst_sample *out)
{
    const uint32_t truth = evaluation->labels[ranked.sample];
    const uint32_t answer = evaluation->answers[ranked.sample];
    const bool probable = meaning->kind == HR_PREDICT_PROBABILITIES;
    *out = (struct hr_worst_sample){.sample = ranked.sample,
                                    .row = (size_t)ranked.sample + 1,
                                    .probability = (double)NAN,
                                    .of_truth = (double)NAN,
                                    .loss = (double)ranked.loss,
                                    .right = truth == answer};
    name_class(evaluation, truth, out->truth, sizeof out->truth);
    name_class(evaluation, answer, out->answer, sizeof out->answer);
    if (!evaluation->targets)
        hr_meaning_apply(meaning, 1, evaluation->outputs + ranked.sample * evaluation->noutputs,
                         columns);
    if (probable)
        out->of_truth = (double)columns[truth];
    if (probable && answer < evaluation->classes)
        out->probability = (double)columns[answer];
}

/* Of a test sample: of the file that it was held out of, if it was. */
static size_t row_of(const struct hr_dataset *dataset, size_t sample)
{
    const bool single = !strcmp(dataset->format, "csv") || !strcmp(dataset->format, "libsvm");
    const uint32_t *rows = single ? dataset->test.file_rows : NULL;
    return (rows ? rows[sample] : sample) + 1;
}

struct hr_residuals hr_residuals_of(const struct hr_evaluation *evaluation,
                                    const struct hr_dataset *dataset, size_t target)
{
    const size_t width = evaluation->targets, count = evaluation->count;
    struct hr_residuals out = {0, 0, 0, 0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double truth = dataset->targets.values[evaluation->labels[i] * width + target];
        const double residual = truth - evaluation->values[i * width + target];
        const double before = sum / (double)(i ? i : 1), step = residual - before;
        sum += residual;
        squares += step * (residual - sum / (double)(i + 1)); /* Welford's */
        if (i == 0 || (!isnan(out.largest) && !(fabs(residual) <= fabs(out.largest))))
            out.largest = residual, out.row = row_of(dataset, i);
    }
    out.mean = sum / (double)count;
    out.deviation = sqrt(squares / (double)count);
    return out;
}

static enum hr_status fill(const struct hr_evaluation *evaluation, const struct hr_dataset *dataset,
                           struct ranked *ranked, struct hr_worst *out)
{
    enum hr_loss_kind loss;
    HR_TRY(hr_loss_parse(evaluation->loss, &loss));
    const struct hr_meaning meaning =
        hr_meaning_of(evaluation->model, loss, evaluation->noutputs, evaluation->targets);
    float *columns = calloc(meaning.columns, sizeof *columns);
    if (!columns)
        return hr_fail(HR_E_NOMEM, "no memory for %zu outputs", meaning.columns);
    for (size_t i = 0; i < evaluation->count; i++)
        ranked[i] = (struct ranked){(uint32_t)i, evaluation->losses[i]};
    qsort(ranked, evaluation->count, sizeof *ranked, by_loss);
    for (size_t i = 0; i < out->n; i++)
        describe(evaluation, &meaning, ranked[i], columns, &out->samples[i]);
    for (size_t i = 0; i < out->n && evaluation->targets; i++)
        describe_values(evaluation, dataset, &out->samples[i]);
    out->probable = meaning.kind == HR_PREDICT_PROBABILITIES;
    free(columns);
    return HR_OK;
}

enum hr_status hr_worst_find(const struct hr_evaluation *evaluation,
                             const struct hr_dataset *dataset, size_t n, struct hr_worst *out)
{
    *out = (struct hr_worst){.n = n < evaluation->count ? n : evaluation->count,
                             .of = evaluation->count};
    if ((!evaluation->classes && !evaluation->targets) || !evaluation->losses)
        return hr_fail(HR_E_USAGE,
                       "--worst: is not supported for %s, which has no losses of samples",
                       evaluation->model);
    struct ranked *ranked = calloc(evaluation->count, sizeof *ranked);
    out->samples = calloc(out->n, sizeof *out->samples);
    enum hr_status status = ranked && out->samples
                                ? fill(evaluation, dataset, ranked, out)
                                : hr_fail(HR_E_NOMEM, "no memory to rank %zu samples", out->of);
    free(ranked);
    for (size_t i = 0; status == HR_OK && i < out->n; i++)
        out->samples[i].row = row_of(dataset, out->samples[i].sample);
    if (status != HR_OK)
        hr_worst_free(out);
    return status;
}

void hr_worst_free(struct hr_worst *worst)
{
    free(worst->samples);
    *worst = (struct hr_worst){0};
}

/* --- shown --- */

void hr_worst_print(FILE *out, const struct hr_worst *worst, size_t width)
{
    struct hr_grid grid;
    fprintf(out, "\n%zu of %zu test samples, the largest loss first\n", worst->n, worst->of);
    hr_grid_begin(&grid, "row\t-truth\t-answer\tprobability\tof truth\tloss");
    for (size_t i = 0; i < worst->n; i++) {
        const struct hr_worst_sample *s = &worst->samples[i];
        fprintf(grid.cells, "%zu\t%s\t", s->row, hr_printable(s->truth).text);
        fputs(hr_printable(s->answer).text, grid.cells);
        if (worst->probable)
            fprintf(grid.cells, "\t%.4f\t%.4f", s->probability, s->of_truth);
        else
            fputs("\t\t", grid.cells);
        fprintf(grid.cells, "\t%.4f\n", s->loss);
    }
    hr_grid_squeeze(&grid, 1, width);
    hr_grid_squeeze(&grid, 2, width);
    hr_grid_end(&grid, out, 0);
}

static json_t *sample_json(const void *samples, size_t i)
{
    const struct hr_worst_sample *s = (const struct hr_worst_sample *)samples + i;
    return hr_json_object(HR_OF(s, row), HR_OF(s, truth), HR_OF(s, answer), HR_OF(s, probability),
                          "truth_probability", HR_JSON(s->of_truth), HR_OF(s, loss), NULL);
}

json_t *hr_worst_json(const struct hr_worst *worst)
{
    return hr_json_list(worst->n, sample_json, worst->samples);
}

/* --- a picture in memory --- */

enum { COLOURS = 3, FONT_COLUMNS = 5 };

/* The printable characters of ASCII in 5x7 dots: a byte a column, from the left; the lowest bit is
 * the highest dot. Drawn for hogring after the character generators of dot-matrix displays. */
static const uint8_t font[95][5] = {
    {0x00, 0x00, 0x00, 0x00, 0x00}, {0x00, 0x00, 0x5f, 0x00, 0x00}, {0x00, 0x07, 0x00, 0x07, 0x00},
    {0x14, 0x7f, 0x14, 0x7f, 0x14}, {0x24, 0x2a, 0x7f, 0x2a, 0x12}, {0x23, 0x13, 0x08, 0x64, 0x62},
    {0x36, 0x49, 0x55, 0x22, 0x50}, {0x00, 0x05, 0x03, 0x00, 0x00}, {0x00, 0x1c, 0x22, 0x41, 0x00},
    {0x00, 0x41, 0x22, 0x1c, 0x00}, {0x08, 0x2a, 0x1c, 0x2a, 0x08}, {0x08, 0x08, 0x3e, 0x08, 0x08},
    {0x00, 0x50, 0x30, 0x00, 0x00}, {0x08, 0x08, 0x08, 0x08, 0x08}, {0x00, 0x60, 0x60, 0x00, 0x00},
    {0x20, 0x10, 0x08, 0x04, 0x02}, {0x3e, 0x51, 0x49, 0x45, 0x3e}, {0x00, 0x42, 0x7f, 0x40, 0x00},
    {0x42, 0x61, 0x51, 0x49, 0x46}, {0x21, 0x41, 0x45, 0x4b, 0x31}, {0x18, 0x14, 0x12, 0x7f, 0x10},
    {0x27, 0x45, 0x45, 0x45, 0x39}, {0x3c, 0x4a, 0x49, 0x49, 0x30}, {0x01, 0x71, 0x09, 0x05, 0x03},
    {0x36, 0x49, 0x49, 0x49, 0x36}, {0x06, 0x49, 0x49, 0x29, 0x1e}, {0x00, 0x36, 0x36, 0x00, 0x00},
    {0x00, 0x56, 0x36, 0x00, 0x00}, {0x00, 0x08, 0x14, 0x22, 0x41}, {0x14, 0x14, 0x14, 0x14, 0x14},
    {0x41, 0x22, 0x14, 0x08, 0x00}, {0x02, 0x01, 0x51, 0x09, 0x06}, {0x32, 0x49, 0x79, 0x41, 0x3e},
    {0x7e, 0x11, 0x11, 0x11, 0x7e}, {0x7f, 0x49, 0x49, 0x49, 0x36}, {0x3e, 0x41, 0x41, 0x41, 0x22},
    {0x7f, 0x41, 0x41, 0x22, 0x1c}, {0x7f, 0x49, 0x49, 0x49, 0x41}, {0x7f, 0x09, 0x09, 0x01, 0x01},
    {0x3e, 0x41, 0x41, 0x51, 0x32}, {0x7f, 0x08, 0x08, 0x08, 0x7f}, {0x00, 0x41, 0x7f, 0x41, 0x00},
    {0x20, 0x40, 0x41, 0x3f, 0x01}, {0x7f, 0x08, 0x14, 0x22, 0x41}, {0x7f, 0x40, 0x40, 0x40, 0x40},
    {0x7f, 0x02, 0x04, 0x02, 0x7f}, {0x7f, 0x04, 0x08, 0x10, 0x7f}, {0x3e, 0x41, 0x41, 0x41, 0x3e},
    {0x7f, 0x09, 0x09, 0x09, 0x06}, {0x3e, 0x41, 0x51, 0x21, 0x5e}, {0x7f, 0x09, 0x19, 0x29, 0x46},
    {0x46, 0x49, 0x49, 0x49, 0x31}, {0x01, 0x01, 0x7f, 0x01, 0x01}, {0x3f, 0x40, 0x40, 0x40, 0x3f},
    {0x1f, 0x20, 0x40, 0x20, 0x1f}, {0x7f, 0x20, 0x18, 0x20, 0x7f}, {0x63, 0x14, 0x08, 0x14, 0x63},
    {0x03, 0x04, 0x78, 0x04, 0x03}, {0x61, 0x51, 0x49, 0x45, 0x43}, {0x00, 0x00, 0x7f, 0x41, 0x41},
    {0x02, 0x04, 0x08, 0x10, 0x20}, {0x41, 0x41, 0x7f, 0x00, 0x00}, {0x04, 0x02, 0x01, 0x02, 0x04},
    {0x40, 0x40, 0x40, 0x40, 0x40}, {0x00, 0x01, 0x02, 0x04, 0x00}, {0x20, 0x54, 0x54, 0x54, 0x78},
    {0x7f, 0x48, 0x44, 0x44, 0x38}, {0x38, 0x44, 0x44, 0x44, 0x20}, {0x38, 0x44, 0x44, 0x48, 0x7f},
    {0x38, 0x54, 0x54, 0x54, 0x18}, {0x08, 0x7e, 0x09, 0x01, 0x02}, {0x08, 0x14, 0x54, 0x54, 0x3c},
    {0x7f, 0x08, 0x04, 0x04, 0x78}, {0x00, 0x44, 0x7d, 0x40, 0x00}, {0x20, 0x40, 0x44, 0x3d, 0x00},
    {0x00, 0x7f, 0x10, 0x28, 0x44}, {0x00, 0x41, 0x7f, 0x40, 0x00}, {0x7c, 0x04, 0x18, 0x04, 0x78},
    {0x7c, 0x08, 0x04, 0x04, 0x78}, {0x38, 0x44, 0x44, 0x44, 0x38}, {0x7c, 0x14, 0x14, 0x14, 0x08},
    {0x08, 0x14, 0x14, 0x18, 0x7c}, {0x7c, 0x08, 0x04, 0x04, 0x08}, {0x48, 0x54, 0x54, 0x54, 0x20},
    {0x04, 0x3f, 0x44, 0x40, 0x20}, {0x3c, 0x40, 0x40, 0x20, 0x7c}, {0x1c, 0x20, 0x40, 0x20, 0x1c},
    {0x3c, 0x40, 0x30, 0x40, 0x3c}, {0x44, 0x28, 0x10, 0x28, 0x44}, {0x0c, 0x50, 0x50, 0x50, 0x3c},
    {0x44, 0x64, 0x54, 0x4c, 0x44}, {0x00, 0x08, 0x36, 0x41, 0x00}, {0x00, 0x00, 0x7f, 0x00, 0x00},
    {0x00, 0x41, 0x36, 0x08, 0x00}, {0x10, 0x08, 0x08, 0x10, 0x08},
};

enum hr_status hr_canvas_create(size_t width, size_t height, struct hr_canvas *out)
{
    size_t bytes;
    const bool fits =
        hr_size_mul(width, height, &bytes) && hr_size_mul(bytes, COLOURS, &bytes) && bytes;
    *out = (struct hr_canvas){width, height, fits ? malloc(bytes) : NULL};
    if (!out->pixels)
        return hr_fail(HR_E_NOMEM, "no memory for a picture of %zux%zu pixels", width, height);
    memset(out->pixels, 0xff, bytes);
    return HR_OK;
}

void hr_canvas_free(struct hr_canvas *canvas)
{
    free(canvas->pixels);
    *canvas = (struct hr_canvas){0};
}

void hr_canvas_fill(struct hr_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                    uint32_t colour)
{
    const size_t right = hr_min_size(x + width, canvas->width);
    const size_t below = hr_min_size(y + height, canvas->height);
    for (size_t v = y; v < below; v++)
        for (size_t u = x; u < right; u++) {
            uint8_t *pixel = canvas->pixels + (v * canvas->width + u) * COLOURS;
            pixel[0] = (uint8_t)(colour >> 16);
            pixel[1] = (uint8_t)(colour >> 8);
            pixel[2] = (uint8_t)colour;
        }
}

static void put_character(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, char c,
                          uint32_t colour)
{
    const uint8_t *glyph = font[(c >= ' ' && c <= '~' ? c : '?') - ' '];
    for (size_t column = 0; column < FONT_COLUMNS; column++)
        for (size_t row = 0; row < HR_FONT_HEIGHT; row++)
            if (glyph[column] >> row & 1)
                hr_canvas_fill(canvas, x + column * dot, y + row * dot, dot, dot, colour);
}

/* Behind the first byte of a character of UTF-8. */
static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void hr_canvas_text(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, size_t most,
                    const char *text, uint32_t colour)
{
    size_t length = 0, at = 0;
    for (const char *c = text; *c; c++)
        length += !goes_on(*c);
    for (; *text && at < most; text++) {
        if (goes_on(*text))
            continue;
        const bool cut = length > most && at + 2 >= most;
        put_character(canvas, x + at++ * HR_FONT_WIDTH * dot, y, dot, cut ? '.' : *text, colour);
    }
}

static enum hr_status fail_png(const char *path, png_image *image)
{
    const enum hr_status status =
        hr_fail(HR_E_FAILED, "%s: libpng cannot write it: %s", path, image->message);
    png_image_free(image);
    return status;
}

enum hr_status hr_canvas_save(const struct hr_canvas *canvas, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)canvas->width,
                       .height = (png_uint_32)canvas->height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *memory = malloc(bytes);
    if (!memory)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a picture", path);
    enum hr_status status =
        png_image_write_to_memory(&image, memory, &bytes, 0, canvas->pixels, 0, NULL)
            ? hr_file_replace_durably(path, memory, bytes)
            : fail_png(path, &image);
    free(memory);
    return status;
}

/* --- the sheet --- */

enum { IMAGE = 160, GAP = 16, COLUMNS = 5, DOT = 2, LINE = DOT * (HR_FONT_HEIGHT + 3) };
enum { TEXT = IMAGE / (DOT * HR_FONT_WIDTH) }; /* characters of a line */
enum { INK = 0x222222, FAINT = 0x777777, WRONG = 0xb00020, RIGHT = 0x1b6e3a, FRAME = 0xcccccc };

/* Where things are. */
struct layout {
    size_t columns, rows;
    size_t zoom;             /* pixels a pixel, in each direction */
    size_t image_w, image_h; /* enlarged */
    size_t lines;            /* of a caption */
    size_t cell_w, cell_h;   /* with caption and gap */
};

static struct layout layout_of(size_t n, struct hr_shape shape, size_t lines)
{
    struct layout l = {.columns = hr_min_size(n, COLUMNS), .lines = lines};
    const size_t side = shape.width > shape.height ? shape.width : shape.height;
    l.rows = (n + l.columns - 1) / l.columns;
    l.zoom = side < IMAGE ? IMAGE / side : 1;
    l.image_w = l.zoom * shape.width;
    l.image_h = l.zoom * shape.height;
    l.cell_w = (l.image_w > IMAGE ? l.image_w : IMAGE) + GAP;
    l.cell_h = l.image_h + lines * LINE + GAP + DOT * 3;
    return l;
}

enum hr_status hr_sheet_check(const struct hr_dataset *dataset)
{
    const struct hr_shape s = dataset->shape;
    if (s.height * s.width == 1)
        return hr_fail(HR_E_USAGE,
                       "--worst-sheet: the samples of %s are rows of %zu numbers, and "
                       "no images",
                       dataset->name, s.channels);
    if (s.channels != 1 && s.channels != 3)
        return hr_fail(HR_E_USAGE,
                       "--worst-sheet: the samples of %s have %zu channels, expected 1 or 3",
                       dataset->name, s.channels);
    return HR_OK;
}

/* --- images --- */

/* What is black and what is white. */
struct tones {
    float black, white;
};

static struct tones find_tones(const struct hr_dataset *dataset, const float *x, size_t n)
{
    struct tones tones = {0, 1};
    if (dataset->features == HR_FEATURES_BYTES || n == 0)
        return tones;
    tones = (struct tones){x[0], x[0]};
    for (size_t i = 0; i < n; i++) {
        tones.black = x[i] < tones.black ? x[i] : tones.black;
        tones.white = x[i] > tones.white ? x[i] : tones.white;
    }
    return tones;
}

static uint32_t tone(struct tones tones, float x)
{
    const float span = tones.white - tones.black;
    const float share = span > 0 ? (x - tones.black) / span : 0;
    return (uint32_t)lrintf(255 * (share < 0 ? 0 : share > 1 ? 1 : share));
}

/* x (channels, height, width) */
static void put_image(struct hr_canvas *canvas, const struct layout *l, struct hr_shape shape,
                      struct tones tones, const float *x, size_t left, size_t top)
{
    const size_t plane = shape.height * shape.width, step = shape.channels == 3 ? plane : 0;
    hr_canvas_fill(canvas, left - 1, top - 1, l->image_w + 2, l->image_h + 2, FRAME);
    for (size_t i = 0; i < plane; i++) {
        const uint32_t red = tone(tones, x[i]), green = tone(tones, x[i + step]);
        const uint32_t blue = tone(tones, x[i + 2 * step]);
        hr_canvas_fill(canvas, left + i % shape.width * l->zoom, top + i / shape.width * l->zoom,
                       l->zoom, l->zoom, red << 16 | green << 8 | blue);
    }
}

/* " 0.93", or "" where the model gives no probabilities. */
struct share {
    char text[16];
};

static struct share share_of(const struct hr_worst *worst, const struct hr_worst_sample *sample)
{
    struct share share = {""};
    if (worst->probable)
        snprintf(share.text, sizeof share.text, " %.2f", sample->probability);
    return share;
}

/* "9 -> 8 0.93", where that fits on one line for all of them; else the truth has its own. */
static bool fits_one_line(const struct hr_worst *worst)
{
    bool fits = true;
    for (size_t i = 0; i < worst->n; i++) {
        const struct hr_worst_sample *s = &worst->samples[i];
        fits = fits &&
               strlen(s->truth) + strlen(s->answer) + 4 + strlen(share_of(worst, s).text) <= TEXT;
    }
    return fits;
}

static void put_caption(struct hr_canvas *canvas, const struct layout *l,
                        const struct hr_worst *worst, const struct hr_worst_sample *sample,
                        size_t left, size_t top)
{
    char line[160];
    const struct share share = share_of(worst, sample);
    const int room = TEXT - 3 - (int)strlen(share.text), length = (int)strlen(sample->answer);
    const uint32_t colour = sample->right ? RIGHT : WRONG;
    snprintf(line, sizeof line, "#%zu", sample->row);
    hr_canvas_text(canvas, left, top, DOT, TEXT, line, FAINT);
    if (l->lines == 2) {
        snprintf(line, sizeof line, "%s -> %s%s", sample->truth, sample->answer, share.text);
        hr_canvas_text(canvas, left, top + LINE, DOT, TEXT, line, colour);
        return;
    }
    hr_canvas_text(canvas, left, top + LINE, DOT, TEXT, sample->truth, INK);
    snprintf(line, sizeof line, "-> %.*s%s%s", length > room ? room - 2 : room, sample->answer,
             length > room ? ".." : "", share.text);
    hr_canvas_text(canvas, left, top + 2 * LINE, DOT, TEXT, line, colour);
}

static void put_cells(struct hr_canvas *canvas, const struct layout *l,
                      const struct hr_worst *worst, const struct hr_dataset *dataset,
                      const float *x)
{
    const size_t elems = hr_shape_elems(dataset->shape);
    const struct tones tones = find_tones(dataset, x, worst->n * elems);
    for (size_t i = 0; i < worst->n; i++) {
        const size_t left = GAP + i % l->columns * l->cell_w;
        const size_t top = GAP + i / l->columns * l->cell_h;
        put_image(canvas, l, dataset->shape, tones, x + i * elems, left, top);
        put_caption(canvas, l, worst, &worst->samples[i], left, top + l->image_h + DOT * 3);
    }
}

/* x (n, elems) out */
static enum hr_status gather(const struct hr_worst *worst, const struct hr_dataset *dataset,
                             float *x)
{
    uint32_t *numbers = calloc(2 * worst->n, sizeof *numbers); /* samples, and their labels */
    if (!numbers)
        return hr_fail(HR_E_NOMEM, "no memory for %zu images", worst->n);
    for (size_t i = 0; i < worst->n; i++)
        numbers[i] = worst->samples[i].sample;
    hr_dataset_gather(dataset, &dataset->test, numbers, worst->n, x, numbers + worst->n);
    free(numbers);
    return HR_OK;
}

static enum hr_status draw(const char *path, const struct layout *l, const struct hr_worst *worst,
                           const struct hr_dataset *dataset, float *x)
{
    struct hr_canvas canvas;
    HR_TRY(gather(worst, dataset, x));
    HR_TRY(hr_canvas_create(l->columns * l->cell_w + GAP, l->rows * l->cell_h + GAP, &canvas));
    put_cells(&canvas, l, worst, dataset, x);
    const enum hr_status status = hr_canvas_save(&canvas, path);
    hr_canvas_free(&canvas);
    return status;
}

enum hr_status hr_sheet_write(const char *path, const struct hr_worst *worst,
                              const struct hr_dataset *dataset)
{
    HR_TRY(hr_sheet_check(dataset));
    const struct layout l = layout_of(worst->n, dataset->shape, fits_one_line(worst) ? 2 : 3);
    float *x = calloc(worst->n, hr_shape_elems(dataset->shape) * sizeof *x);
    if (!x)
        return hr_fail(HR_E_NOMEM, "no memory for %zu images", worst->n);
    const enum hr_status status = draw(path, &l, worst, dataset, x);
    free(x);
    return status;
}
