/* train_row.h - how rows of training's options are written: train_rows.c, gradient_rows.c,
 * pipeline_rows.c, sparse_rows.c.
 *
 * Threads: constants.
 */
#ifndef HR_OPTIONS_TRAIN_ROW_H
#define HR_OPTIONS_TRAIN_ROW_H

#include "options/choices.h"
#include "options/option.h"

#define ROW(option, type, field, role, value, preset, ...)                                         \
    {                                                                                              \
        .name = option, .kind = HR_OPTION_##type,                                                  \
        .offset = offsetof(struct hr_train_options, field),                                        \
        .size = sizeof(((struct hr_train_options *)0)->field), .use = HR_##role, .metavar = value, \
        .usual = preset, .help = __VA_ARGS__                                                       \
    }
/* The words of a list of choices.h, and where its enum goes. */
#define CHOICE(field, list)                                                                        \
    .words = list(HR_CHOICE_WORD) + 1, .choice = 1 + offsetof(struct hr_choices, field)
#define RANGE(low, high) .range = {.least = low, .most = high}
#define SPARSE_RANGE(low, high) .sparse_range = {.least = low, .most = high}
#define BOTH (HR_TRAIN | HR_COMPARE)

enum { HR_GRADIENT_ROWS = 6, HR_PIPELINE_ROWS = 8, HR_SPARSE_ROWS = 4 };
extern const struct hr_option hr_gradient_rows[HR_GRADIENT_ROWS];
extern const struct hr_option hr_pipeline_rows[HR_PIPELINE_ROWS];
extern const struct hr_option hr_sparse_rows[HR_SPARSE_ROWS];

#endif
