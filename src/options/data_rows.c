/* The options of reading data, a row each. */
#include "options/train_options.h"

#define ROW(option, type, field, value, preset, ...)                                               \
    {                                                                                              \
        .name = option, .kind = HR_OPTION_##type,                                                  \
        .offset = offsetof(struct hr_data_options, field),                                         \
        .size = sizeof(((struct hr_data_options *)0)->field), .use = HR_DECIDES, .metavar = value, \
        .usual = preset, .help = __VA_ARGS__                                                       \
    }

#define READERS (HR_TRAIN | HR_COMPARE | HR_EVAL | HR_DATA_INFO | HR_DATA_PACK | HR_FORECAST)

#define COLUMNS (READERS & ~(unsigned)HR_EVAL) /* what a model was trained with, it says itself */

static const struct hr_option data[] = {
    ROW("test-data", TEXT, test_data, "FILE", NULL, "", HR_PART_OF("test", ""),
        .commands = READERS | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("validation-data", TEXT, validation_data, "FILE", NULL, "", HR_PART_OF("validation", ""),
        .commands = HR_TRAIN | HR_COMPARE | HR_REPLAY, .models = HR_OF_ALL_MODELS),
    ROW("test-fraction", NUMBER, test_fraction, "X", "0.2", "", HR_PART_OF("test", ""),
        .commands = READERS, .models = HR_OF_ALL_MODELS),
    ROW("split", TEXT, split, "HOW", NULL,
        "which samples are held out: random, stratified (the same share of each class), "
        "group:COLUMN (samples that share a value stay together), last (the end of the "
        "file), fold:2/5 (the second fifth)",
        .said = "random", .commands = READERS, .models = HR_OF_ALL_MODELS),
    ROW("columns", TEXT, columns, "LIST", NULL,
        "CSV: columns to learn from, names or numbers from 1: age,sex", .said = "all",
        .commands = COLUMNS),
    ROW("drop", TEXT, drop, "LIST", NULL, "CSV: columns to leave out: id,name",
        .commands = COLUMNS),
    ROW("one-hot", TEXT, one_hot, "LIST", NULL,
        "CSV: categorical columns, which become one column of 0 and 1 per word; auto: all "
        "that have words",
        .said = "words are refused", .commands = COLUMNS),
    ROW("missing", TEXT, missing, "HOW", "refuse",
        "CSV: missing values (nothing, NA, NaN, ?): refuse them, take the mean (of the "
        "training rows), or drop the row",
        .words = "refuse|mean|drop", .commands = COLUMNS),
    ROW("header", TEXT, header, "HOW", "auto", "CSV: the first line has names: yes, no or auto",
        .words = "yes|no|auto", .commands = READERS | HR_PREDICT),
    ROW("label-column", TEXT, label_column, "COLUMN", NULL, "CSV: a name, or a number from 1",
        .said = "label, class, target or y, else the last", .commands = READERS | HR_PREDICT),
    ROW("target", TEXT, target, "LIST", NULL,
        "CSV: the columns whose values are predicted, names or numbers from 1: price,rent (--task "
        "regress)",
        .said = "the label column", .commands = READERS, .models = HR_OF_ALL_MODELS),
    ROW("index-base", TEXT, index_base, "BASE", "auto",
        "libsvm: the first index is 0, 1 or auto: 0 when there is an index 0", .words = "0|1|auto",
        .commands = READERS | HR_PREDICT, .models = HR_OF_ALL_MODELS),
    ROW("features", COUNT, feature_count, "N", NULL, "libsvm: how many features",
        .said = "the largest index; data make: 47236", .commands = READERS | HR_DATA_MAKE,
        .models = HR_OF_ALL_MODELS),
    ROW("resize", TEXT, resize, "HxW", NULL,
        "images: resize all to this height and width, with Pillow's bilinear filter",
        .said = "all have one size", .commands = READERS),
    ROW("skip-bad-images", FLAG, skip_bad_images, NULL, NULL,
        "images: leave out damaged or truncated files, and count them, in place of failing",
        .commands = READERS | HR_PREDICT),
    ROW("context", COUNT, context, "context", "128", "", HR_PART_OF("text", "="),
        .commands = READERS, .range = {.least = 1, .most = 65536}),
    ROW("vocabulary", TEXT, vocabulary, "vocabulary", "bytes", "", HR_PART_OF("text", "="),
        .words = "bytes|chars", .commands = READERS | HR_DATA_MAKE),
    ROW("lines", FLAG, lines, "lines", NULL, "", HR_PART_OF("text", "="),
        .commands = READERS | HR_DATA_MAKE),
    ROW("eval-tokens", COUNT, eval_tokens, "eval-tokens", "131072", "", HR_PART_OF("text", "="),
        .commands = READERS, .range = {.least = 1, .most = 4e9}),
    ROW("classes", TEXT, classes, "LIST", NULL,
        "all classes in order, for data that lacks some: cat,dog,eel, or their number: 10 (0 "
        "to 9)",
        .said = "those of the data", .commands = READERS | HR_PREDICT, .models = HR_OF_ALL_MODELS),
};

const struct hr_option_list hr_data_lists[] = {{HR_IN_DATA, data, sizeof data / sizeof *data}};

const size_t hr_data_nlists = 1;
