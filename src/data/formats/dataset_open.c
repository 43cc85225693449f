/* Opening: which format is it, read it. This file calls all readers, and none calls it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/path.h"
#include "data/bytes.h"
#include "data/hold_out.h"
#include "formats/formats.h"
#include "formats/idx.h"

#define ENTRY(name) &hr_format_##name,
static const struct hr_format *const formats[] = {HR_FORMATS(ENTRY)};

/* --- what is it */

enum hr_status hr_format_find(const char *path, const struct hr_format **out)
{
    struct hr_probe probe = {.path = path};
    struct stat info;
    *out = NULL;
    if (stat(path, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be reached", path);
    probe.folder = S_ISDIR(info.st_mode);
    if (!probe.folder)
        HR_TRY(hr_bytes_peek_file(path, probe.head, sizeof probe.head, &probe.bytes));
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !*out; i++)
        if (formats[i]->matches(&probe))
            *out = formats[i];
    return HR_OK;
}

/* --- options */

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return !strcmp(text, a) || !strcmp(text, b) || !strcmp(text, c);
}

static enum hr_status check_options(const struct hr_data_options *options)
{
    if (!(options->test_fraction > 0 && options->test_fraction < 1))
        return hr_fail(HR_E_USAGE, "--test %g: expected more than 0 and less than 1",
                       options->test_fraction);
    if (!is_one_of(options->header, "yes", "no", "auto"))
        return hr_fail(HR_E_USAGE, "--header %s: expected yes, no or auto", options->header);
    if (!is_one_of(options->index_base, "0", "1", "auto"))
        return hr_fail(HR_E_USAGE, "--index-base %s: expected 0, 1 or auto", options->index_base);
    if (!is_one_of(options->missing, "refuse", "mean", "drop"))
        return hr_fail(HR_E_USAGE, "--missing %s: expected refuse, mean or drop", options->missing);
    enum hr_split_rule rule;
    if (!hr_split_rule_parse(options->split, &rule))
        return hr_fail(HR_E_USAGE,
                       "--split %s: expected random, stratified, last or group:COLUMN; or "
                       "fold:I/K, fold:I/K,stratified or fold:I/K,group:COLUMN, as fold:2/5",
                       options->split);
    if (options->feature_count > UINT32_MAX / 2)
        return hr_fail(HR_E_USAGE, "--features %zu: expected at most 2^31 - 1",
                       options->feature_count);
    return HR_OK;
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a, b) != 0;
}

struct given {
    const char *flag;
    unsigned bit; /* of formats that have it */
    bool given;
};

/* Is an option with one of these bits not as by default? *first: one of them. */
static bool find_given(const struct hr_data_options *options, unsigned bits, struct given *first)
{
    struct hr_data_options defaults;
    hr_data_defaults(&defaults);
    const struct given rows[] = {
        {"test FILE", HR_OPTION_TEST_DATA, options->test_data[0]},
        {"validation FILE", HR_OPTION_VALIDATION_DATA, options->validation_data[0]},
        {"test X", HR_OPTION_TEST_FRACTION,
         options->test_fraction < defaults.test_fraction ||
             options->test_fraction > defaults.test_fraction},
        {"header", HR_OPTION_HEADER, differ(options->header, defaults.header)},
        {"label-column", HR_OPTION_LABEL_COLUMN, options->label_column[0]},
        {"index-base", HR_OPTION_INDEX_BASE, differ(options->index_base, defaults.index_base)},
        {"features", HR_OPTION_FEATURES, options->feature_count},
        {"resize", HR_OPTION_RESIZE, options->resize[0]},
        {"target", HR_OPTION_TARGET, options->target[0]},
        {"task regress", HR_OPTION_VALUES, options->values},
        {"columns", HR_OPTION_COLUMNS, options->columns[0]},
        {"drop", HR_OPTION_COLUMNS, options->drop[0]},
        {"one-hot", HR_OPTION_COLUMNS, options->one_hot[0]},
        {"missing", HR_OPTION_COLUMNS, differ(options->missing, defaults.missing)},
        {"split fold (--folds)", HR_OPTION_SPLIT, hr_split_fold(options->split).folds},
        {"split group", HR_OPTION_GROUPS, hr_hold_out_group(options->split)[0]},
        {"split", HR_OPTION_SPLIT, options->split[0]},
        {"skip-bad-images", HR_OPTION_SKIP, options->skip_bad_images},
        {"text vocabulary", HR_OPTION_TOKENS, differ(options->vocabulary, defaults.vocabulary)},
        {"text context", HR_OPTION_TOKENS, options->context != defaults.context},
        {"text lines", HR_OPTION_TOKENS, options->lines},
        {"text eval-tokens", HR_OPTION_TOKENS, options->eval_tokens != defaults.eval_tokens},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *first = rows[i];
        if (rows[i].given && rows[i].bit & bits)
            return true;
    }
    return false;
}

/* An option that would be ignored is refused. */
static enum hr_status check_meaning(const char *name, const struct hr_format *format,
                                    const struct hr_data_options *options)
{
    struct given other;
    if (find_given(options, ~(unsigned)format->options, &other))
        return hr_fail(
            HR_E_USAGE, "--%s: is not supported for %s data (%s)%s", other.flag, format->name, name,
            other.bit == HR_OPTION_TARGET && format->options & HR_OPTION_VALUES
                ? ", whose labels are the values; expected --task regress"
            : other.bit & (HR_OPTION_TARGET | HR_OPTION_VALUES) ? ", whose labels are classes"
            : other.bit == HR_OPTION_VALIDATION_DATA
                ? ", which is no single file of samples; --validation X "
                  "holds out some of its training samples"
                : "");
    if (options->target[0] && options->label_column[0])
        return hr_fail(HR_E_USAGE, "--label-column: is not supported with --target, which says the "
                                   "columns");
    if (options->target[0] && !options->values)
        return hr_fail(HR_E_USAGE, "--target: is not supported with --task classify (it belongs to "
                                   "regress)");
    enum hr_split_rule rule;
    if (options->values && hr_split_rule_parse(options->split, &rule) &&
        rule == HR_SPLIT_STRATIFIED)
        return hr_fail(HR_E_USAGE,
                       "--split stratified: is not supported with --task regress, which "
                       "has no classes");
    if (hr_split_fold(options->split).folds &&
        find_given(options, HR_OPTION_TEST_DATA | HR_OPTION_TEST_FRACTION, &other))
        return hr_fail(HR_E_USAGE, "--%s: is not supported with folds, which say what is tested",
                       other.flag);
    if (options->test_data[0] && find_given(options, HR_OPTION_TEST_FRACTION, &other))
        return hr_fail(HR_E_USAGE, "--test X: is not supported with --test FILE");
    return HR_OK;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return a[0] && b[0] && !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* What is chosen by samples that are trained on, or tested on, is no fair choice. */
static enum hr_status check_validation(const char *name, const struct hr_data_options *options)
{
    const char *file = options->validation_data;
    const bool test = is_same_file(file, options->test_data);
    if (!test && !is_same_file(file, name))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--validation %s: is the file of --%s, too; expected samples that it is "
                   "neither trained nor tested on",
                   file, test ? "test" : "data");
}

/* --- opening */

static enum hr_status open_fashion_mnist(const struct hr_data_options *options,
                                         struct hr_storage *storage)
{
    const char *folder = getenv("FASHION_MNIST");
    if (!folder || !*folder)
        folder = "/usr/share/datasets/fashion-mnist";
    HR_TRY(hr_input_add_folder(folder));
    const enum hr_status st = hr_format_idx.open(folder, options, storage);
    if (st != HR_E_IO)
        return st;
    char cause[400];
    snprintf(cause, sizeof cause, "%.399s", hr_error_message());
    return hr_fail(st, "%s; `apt install dataset-fashion-mnist` or use `--data digits`", cause);
}

bool hr_dataset_is_built_in(const char *name)
{
    return !strcmp(name, "digits") || !strcmp(name, "fashion-mnist");
}

/* As spreadsheets write "Unicode text". */
static bool is_utf16(const char *path)
{
    unsigned char mark[2];
    size_t got;
    return hr_bytes_peek_file(path, mark, sizeof mark, &got) == HR_OK && got == sizeof mark &&
           ((mark[0] == 0xff && mark[1] == 0xfe) || (mark[0] == 0xfe && mark[1] == 0xff));
}

static enum hr_status find_known(const char *name, const struct hr_format **format)
{
    if (access(name, F_OK) && errno == ENOENT)
        return hr_fail(HR_E_IO,
                       "there is no data set \"%s\": expected digits, fashion-mnist, or a file or "
                       "folder that exists",
                       name);
    if (hr_path_ends_in(name, ".npz"))
        return hr_fail(HR_E_FORMAT,
                       "%s: is several arrays packed into one file; expected a folder with "
                       "X_train.npy and y_train.npy, as python3 -c \"import numpy as n, os, sys; "
                       "os.mkdir(sys.argv[2]); [n.save(sys.argv[2] + '/' + k, a) for k, a in "
                       "n.load(sys.argv[1]).items()]\" FILE.npz FOLDER makes it of arrays of these "
                       "names",
                       name);
    HR_TRY(hr_format_find(name, format));
    if (!*format && is_utf16(name))
        return hr_fail(HR_E_FORMAT,
                       "%s: is text in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8)", name);
    if (!*format)
        return hr_fail(HR_E_FORMAT,
                       "%s: is no data that is known here, expected packed, CSV, libsvm, text "
                       "or tokens (or a folder of images, IDX, CIFAR, npy or text files)",
                       name);
    return HR_OK;
}

/* Which format is it, and do the options mean something for it? Any file may be text, and a table
 * may have the name of one. */
static enum hr_status look_at(const char *name, const struct hr_data_options *options,
                              const struct hr_format **format)
{
    const unsigned of_tables =
        HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN | HR_OPTION_TARGET | HR_OPTION_COLUMNS;
    struct given asked;
    HR_TRY(check_options(options));
    *format = &hr_format_idx;
    if (!hr_dataset_is_built_in(name))
        HR_TRY(find_known(name, format));
    if ((*format == &hr_format_csv || *format == &hr_format_libsvm) &&
        find_given(options, HR_OPTION_TOKENS, &asked))
        *format = &hr_format_text;
    else if (*format == &hr_format_text && hr_path_ends_in(name, ".txt") &&
             find_given(options, of_tables, &asked))
        *format = &hr_format_csv;
    return check_meaning(name, *format, options);
}

enum hr_status hr_data_options_check(const char *name, const struct hr_data_options *options)
{
    const struct hr_format *format;
    return look_at(name, options, &format);
}

static enum hr_status open_named(const char *name, const struct hr_data_options *options,
                                 struct hr_storage *storage, const struct hr_format **format)
{
    HR_TRY(look_at(name, options, format));
    if (!strcmp(name, "digits"))
        return hr_idx_open_digits(storage);
    if (hr_dataset_is_built_in(name))
        return open_fashion_mnist(options, storage);
    HR_TRY(check_validation(name, options));
    HR_TRY(hr_input_add_folder(name));
    HR_TRY((*format)->open(name, options, storage));
    if (is_same_file(options->test_data, name) && !storage->test.note[0])
        snprintf(storage->test.note, sizeof storage->test.note,
                 "--test %s: is the file of --data, too: the test samples are those that are "
                 "trained on",
                 name);
    return HR_OK;
}

enum hr_status hr_dataset_open_with(const char *name, const struct hr_data_options *options,
                                    struct hr_dataset *out)
{
    struct hr_data_options defaults;
    const struct hr_format *format;
    hr_data_defaults(&defaults);
    options = options ? options : &defaults;
    if (strlen(name) >= sizeof out->name)
        return hr_fail(HR_E_USAGE, "the name of a data set has %zu bytes, expected at most %zu",
                       strlen(name), sizeof out->name - 1);
    struct hr_storage *storage = calloc(1, sizeof *storage);
    if (!storage)
        return hr_fail(HR_E_NOMEM, "%s: no memory", name);
    enum hr_status st;
    storage->labels.targets.wanted = options->values;
    HR_TRY_GOTO(open_named(name, options, storage, &format), st, out);
    HR_TRY_GOTO(hr_dataset_finish(name, format, options, storage, out), st, out);
    return HR_OK;
out:
    hr_storage_free(storage);
    free(storage);
    return st;
}

enum hr_status hr_dataset_open(const char *name, struct hr_dataset *out)
{
    return hr_dataset_open_with(name, NULL, out);
}
