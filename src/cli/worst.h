/* worst.h - what a model answers to test samples: how far its values are off (residuals), and the
 * samples that it gets most wrong; as a table, as JSON, as a sheet of images with captions.
 *
 * Errors: HR_E_IO with the path; a file is there as a whole or not at all. Threads: none.
 * Test: tests/unit/cli/, tests/cli/worst.bats
 */
#ifndef HR_CLI_WORST_H
#define HR_CLI_WORST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/evaluate.h"

/* What is to be predicted less what is, of one of the targets, over the test samples. */
struct hr_residuals {
    double mean, deviation; /* 0: the model is right on average; of the whole, not of a sample */
    double largest;         /* by size, with its sign */
    size_t row;             /* where that is, as in struct hr_worst_sample */
};
/* Of an evaluation with `target`. */
struct hr_residuals hr_residuals_of(const struct hr_evaluation *evaluation,
                                    const struct hr_dataset *dataset, size_t target);

/* --- the test samples with the largest loss: those that a model gets wrong and is surest of come
 * first; what is wrong with a model, or with labels, is seen there first --- */

struct hr_worst_sample {
    uint32_t sample;              /* of the test split, from 0 */
    size_t row;                   /* from 1: of the file where the samples were held out of a file,
                                     else of the test samples */
    char truth[64], answer[64];   /* classes, or values, cut to size; "-": no answer */
    double probability, of_truth; /* NaN: the model gives none */
    double loss;
    bool right;
};

struct hr_worst {
    size_t n, of;                    /* of so many test samples */
    bool probable;                   /* the model gives probabilities */
    struct hr_worst_sample *samples; /* (n) from the largest loss on; owned */
};

/* The n worst, or all there are. HR_E_USAGE: the model has no classes. */
HR_CHECKED enum hr_status hr_worst_find(const struct hr_evaluation *evaluation,
                                        const struct hr_dataset *dataset, size_t n,
                                        struct hr_worst *out);
void hr_worst_free(struct hr_worst *worst);

/* As a table of at most `width` columns. */
void hr_worst_print(FILE *out, const struct hr_worst *worst, size_t width);

/* [{"row", "truth", "answer", "probability", "truth_probability", "loss"}]; NULL: no memory. */
json_t *hr_worst_json(const struct hr_worst *worst);

/* The same as a sheet of images: each enlarged by whole pixels, and under it its
 * row, the truth, and the answer with its probability, red where it is wrong.
 *
 * Images have 1 or 3 channels. Bytes are shown as they are (what the model calls 1 is white);
 * of floats, the smallest on the sheet is black and the largest white.
 */
enum { HR_SHEET_MOST = 1000 };

/* HR_E_USAGE: these samples are no images. */
HR_CHECKED enum hr_status hr_sheet_check(const struct hr_dataset *dataset);
/* Write it to `path`, a PNG. */
HR_CHECKED enum hr_status hr_sheet_write(const char *path, const struct hr_worst *worst,
                                         const struct hr_dataset *dataset);

/* --- a picture in memory, of which the sheet is made (test_canvas.c). Colours are 0xRRGGBB; what
 * lies outside is not drawn --- */

struct hr_canvas {
    size_t width, height;
    uint8_t *pixels; /* (height, width, 3) owned */
};

/* White. Free it with hr_canvas_free. */
HR_CHECKED enum hr_status hr_canvas_create(size_t width, size_t height, struct hr_canvas *out);
void hr_canvas_free(struct hr_canvas *canvas);

void hr_canvas_fill(struct hr_canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                    uint32_t colour);

/* ASCII, each dot a square of `dot` pixels; a character takes 6 dots, and a row 7. Other bytes than
 * printable ASCII are drawn as '?', one a character of UTF-8. At most `most` characters: a longer
 * text ends in "..". */
enum { HR_FONT_WIDTH = 6, HR_FONT_HEIGHT = 7 };
void hr_canvas_text(struct hr_canvas *canvas, size_t x, size_t y, size_t dot, size_t most,
                    const char *text, uint32_t colour);

/* As a whole file, or not at all. */
HR_CHECKED enum hr_status hr_canvas_save(const struct hr_canvas *canvas, const char *path);

#endif
