#include "predict/samples.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "data/format.h"
#include "formats/formats.h"
#include "formats/idx.h"
#include "formats/libsvm.h"
#include "formats/npy.h"
#include "predict/csv_samples.h"
#include "predict/image_samples.h"
#include "session/reading.h"

/* What is opened, and for which model. */
struct wanted {
    const char *name;
    const struct hr_data_options *given, *options; /* and as they are read */
    const struct hr_checkpoint *checkpoint;
    const char *model; /* its path */
    const struct hr_model_input *input;
    bool labelled;
};

/* --- readers: each fills storage->test, and the note --- */

static enum hr_status open_csv(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_array text;
    (void)out;
    HR_TRY(hr_bytes_read_file(w->name, &text));
    const enum hr_status status = hr_csv_samples_parse(w->name, text.data, text.bytes, w->options,
                                                       w->model, w->input, &storage->test);
    free(text.data);
    return status;
}

static enum hr_status open_npy(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_array content;
    struct hr_npy npy;
    (void)out;
    HR_TRY(hr_bytes_read_file(w->name, &content));
    enum hr_status status = hr_npy_parse(w->name, content.data, content.bytes, &npy);
    if (status == HR_OK)
        status = hr_npy_take_features(w->name, &npy, &storage->test);
    free(content.data);
    return status;
}

static enum hr_status open_idx(const struct wanted *w, struct hr_storage *storage,
                               struct hr_samples *out)
{
    struct hr_idx idx;
    (void)out;
    HR_TRY(hr_idx_read_file(w->name, 3, &idx));
    storage->test = (struct hr_table){.shape = {1, idx.dims[1], idx.dims[2]},
                                      .count = idx.bytes ? idx.dims[0] : 0,
                                      .pixels = idx.data};
    return HR_OK;
}

static enum hr_status open_images(const struct wanted *w, struct hr_storage *storage,
                                  struct hr_samples *out)
{
    return hr_image_samples_read(w->name, w->input->shape, &storage->test, &out->files);
}

/* Columns that the model does not know, out of every row. */
static size_t drop_columns(struct hr_table *table, size_t features)
{
    size_t kept = 0, row = 0;
    const size_t pairs = hr_table_pairs(table);
    for (size_t k = 0; k < pairs; k++) {
        for (; table->rows[row + 1] == k; row++)
            table->rows[row + 1] = kept;
        if (table->columns[k] >= features)
            continue;
        table->columns[kept] = table->columns[k];
        table->values[kept++] = table->values[k];
    }
    for (; row < table->count; row++)
        table->rows[row + 1] = kept;
    return pairs - kept;
}

static enum hr_status fit_columns(const struct wanted *w, struct hr_table *table,
                                  struct hr_samples *out)
{
    struct hr_data_options options = *w->options;
    struct hr_table none[2] = {{0}, {0}};
    const size_t features = hr_shape_elems(w->input->shape);
    options.feature_count = 0;
    HR_TRY(hr_libsvm_shift(w->name, &options,
                           (struct hr_table *const[HR_LIBSVM_TABLES]){table, &none[0], &none[1]}));
    if (!features)
        return HR_OK;
    table->shape = (struct hr_shape){features, 1, 1};
    const size_t dropped = drop_columns(table, features);
    if (dropped)
        snprintf(out->note, sizeof out->note,
                 "%s: %zu value%s of features that the model does not know (it has %zu) %s left "
                 "out",
                 w->name, dropped, dropped == 1 ? "" : "s", features, dropped == 1 ? "is" : "are");
    return HR_OK;
}

static enum hr_status open_libsvm(const struct wanted *w, struct hr_storage *storage,
                                  struct hr_samples *out)
{
    struct hr_array text;
    HR_TRY(hr_bytes_read_file(w->name, &text));
    enum hr_status status = hr_libsvm_parse(w->name, text.data, text.bytes,
                                            w->labelled ? &storage->labels : NULL, &storage->test);
    free(text.data);
    return status == HR_OK ? fit_columns(w, &storage->test, out) : status;
}

/* --- which of them --- */

struct reader {
    const char *name;
    enum hr_status (*open)(const struct wanted *, struct hr_storage *, struct hr_samples *);
    unsigned options; /* of format.h */
};

static const struct reader csv = {"csv", open_csv, HR_OPTION_HEADER | HR_OPTION_LABEL_COLUMN},
                           npy = {"npy", open_npy, 0}, idx = {"idx", open_idx, 0},
                           libsvm = {"libsvm", open_libsvm, HR_OPTION_INDEX_BASE},
                           images = {"images", open_images, 0};

/* Does the first word look like 12:..., a pair without a label before it? */
static bool begins_with_pair(const struct hr_probe *probe)
{
    size_t i = hr_bytes_mark(probe->head, probe->bytes), digits = 0;
    while (i < probe->bytes && isspace((unsigned char)probe->head[i]))
        i++;
    for (; i < probe->bytes && isdigit((unsigned char)probe->head[i]); i++)
        digits++;
    return digits && i < probe->bytes && probe->head[i] == ':';
}

/* NULL: a data set, or none that is known. */
static const struct reader *choose(const struct hr_probe *probe)
{
    static const char npy_magic[] = "\x93NUMPY", idx_magic[] = {0, 0, 8, 3};
    if (hr_image_samples_are(probe->path, probe->folder, probe->head, probe->bytes))
        return &images;
    if (probe->folder || hr_format_packed.matches(probe))
        return NULL;
    if (probe->bytes >= 6 && !memcmp(probe->head, npy_magic, 6))
        return &npy;
    if (probe->bytes >= 4 && !memcmp(probe->head, idx_magic, 4))
        return &idx;
    if (begins_with_pair(probe) || hr_format_libsvm.matches(probe))
        return &libsvm;
    return hr_format_csv.matches(probe) ? &csv : NULL;
}

static enum hr_status probe_file(const char *name, struct hr_probe *probe)
{
    struct stat info;
    *probe = (struct hr_probe){.path = name};
    if (stat(name, &info))
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", name);
    probe->folder = S_ISDIR(info.st_mode);
    return probe->folder ? hr_input_add_folder(name)
                         : hr_bytes_peek_file(name, probe->head, sizeof probe->head, &probe->bytes);
}

/* An option that would be ignored is refused. */
static enum hr_status check_options(const struct wanted *w, const struct reader *reader)
{
    const struct {
        const char *flag;
        unsigned bit;
        bool given;
    } rows[] = {
        {"header", HR_OPTION_HEADER, strcmp(w->given->header, "auto") != 0},
        {"label-column", HR_OPTION_LABEL_COLUMN, w->given->label_column[0]},
        {"index-base", HR_OPTION_INDEX_BASE, strcmp(w->given->index_base, "auto") != 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && !(reader->options & rows[i].bit))
            return hr_fail(HR_E_USAGE, "--%s: is not supported for %s data (%s)", rows[i].flag,
                           reader->name, w->name);
    return HR_OK;
}

/* --- a data set of test samples alone --- */

static enum hr_status take_classes(struct hr_storage *storage, const char *name,
                                   struct hr_dataset *dataset)
{
    HR_TRY(hr_labels_finish(&storage->labels, name, &storage->naming));
    for (size_t i = 0; i < storage->test.count; i++)
        storage->test.labels[i] = storage->naming.class_of[storage->test.labels[i]];
    dataset->classes = storage->naming.count;
    dataset->class_names = storage->naming.names;
    return HR_OK;
}

static enum hr_status read_storage(const struct wanted *w, const struct reader *reader,
                                   struct hr_storage *storage, struct hr_samples *out)
{
    struct hr_dataset *dataset = &out->dataset;
    const struct hr_table *table = &storage->test;
    HR_TRY(check_options(w, reader));
    if (w->labelled && reader != &libsvm)
        return hr_fail(HR_E_USAGE, "%s: expected libsvm data, as %s was trained on", w->name,
                       w->model);
    HR_TRY(reader->open(w, storage, out));
    if (!table->count || table->count >= HR_TABLE_MAX_COUNT)
        return hr_fail(HR_E_FORMAT, "%s: has %zu samples, expected 1 to %zu", w->name, table->count,
                       HR_TABLE_MAX_COUNT - 1);
    if (w->labelled)
        HR_TRY(take_classes(storage, w->name, dataset));
    snprintf(dataset->name, sizeof dataset->name, "%s", w->name);
    snprintf(dataset->format, sizeof dataset->format, "%s", reader->name);
    memcpy(dataset->notes[0], table->note, HR_DATA_NOTE);
    dataset->shape = table->shape;
    dataset->features = table->features;
    dataset->scale = table->features == HR_FEATURES_BYTES ? 1.0f / 255.0f : 1.0f;
    dataset->train = dataset->test = hr_table_split(table);
    dataset->train.count = 0;
    return HR_OK;
}

static enum hr_status open_file(const struct wanted *w, const struct reader *reader,
                                struct hr_samples *out)
{
    struct hr_storage *storage = calloc(1, sizeof *storage);
    if (!storage)
        return hr_fail(HR_E_NOMEM, "%s: no memory", w->name);
    out->dataset.storage = storage; /* hr_dataset_close frees it */
    out->dataset.options = *w->options;
    return read_storage(w, reader, storage, out);
}

static enum hr_status open_any(const struct wanted *w, struct hr_samples *out)
{
    const bool named = !strcmp(w->name, "digits") || !strcmp(w->name, "fashion-mnist");
    const struct reader *reader = NULL;
    struct hr_probe *probe = named ? NULL : malloc(sizeof *probe);
    if (strlen(w->name) >= sizeof out->dataset.name)
        return hr_fail(HR_E_USAGE, "the name of a data set has %zu bytes, expected at most %zu",
                       strlen(w->name), sizeof out->dataset.name - 1);
    enum hr_status status = HR_OK;
    if (!named)
        status = probe ? probe_file(w->name, probe) : hr_fail(HR_E_NOMEM, "%s: no memory", w->name);
    if (status == HR_OK && !named)
        reader = choose(probe);
    free(probe);
    if (status != HR_OK)
        return status;
    if (reader)
        return open_file(w, reader, out);
    struct hr_reading reading = {
        .data = w->name, .options = w->given, .given = hr_reading_given(w->given)};
    HR_TRY(hr_reading_open(w->checkpoint, &reading, &out->dataset));
    snprintf(out->note, sizeof out->note, "%s: these are %sits %zu%s samples", w->name,
             hr_reading_is_whole(&out->dataset) ? "all " : "", out->dataset.test.count,
             hr_reading_is_whole(&out->dataset) ? "" : " test");
    out->dataset.train.count = out->dataset.validation.count = 0;
    return HR_OK;
}

/* The model's own shape, of samples that have it or are rows of as many numbers. */
static enum hr_status fit_shape(const struct wanted *w, struct hr_dataset *dataset)
{
    const struct hr_shape a = dataset->shape, b = w->input->shape;
    if (!b.channels)
        return HR_OK;
    if (hr_shape_elems(a) != hr_shape_elems(b))
        return hr_fail(HR_E_FORMAT,
                       "%s: its samples are %zux%zux%zu (%zu numbers), expected %zux%zux%zu (%zu), "
                       "as %s was trained on",
                       w->name, a.channels, a.height, a.width, hr_shape_elems(a), b.channels,
                       b.height, b.width, hr_shape_elems(b), w->model);
    HR_TRY(hr_model_input_check_shape(w->input, w->model, dataset));
    dataset->shape = b;
    return HR_OK;
}

static enum hr_status drop_labels(struct hr_samples *samples)
{
    void *zeros;
    HR_TRY(hr_take(samples->dataset.name, samples->dataset.test.count * sizeof *samples->labels,
                   &zeros));
    samples->labels = zeros;
    samples->dataset.test.labels = zeros;
    samples->dataset.classes = 0;
    samples->dataset.class_names = NULL;
    return HR_OK;
}

enum hr_status hr_samples_open(const char *name, const struct hr_data_options *options,
                               const struct hr_checkpoint *checkpoint,
                               const struct hr_model_input *input, bool labelled,
                               struct hr_samples *out)
{
    const struct hr_reading reading = {
        .data = name, .options = options, .given = hr_reading_given(options)};
    struct hr_data_options read;
    const struct wanted wanted = {name,  options, &read, checkpoint, checkpoint->path,
                                  input, labelled};
    *out = (struct hr_samples){0};
    HR_TRY(hr_reading_options(checkpoint, &reading, &read));
    memcpy(read.label_column, options->label_column, sizeof read.label_column); /* it may lack */
    HR_TRY(open_any(&wanted, out));
    HR_TRY(fit_shape(&wanted, &out->dataset));
    if (out->dataset.features == HR_FEATURES_BYTES && input->scale > 0)
        out->dataset.scale = input->scale;
    return labelled ? HR_OK : drop_labels(out);
}

void hr_samples_close(struct hr_samples *samples)
{
    for (size_t i = 0; samples->files && i < samples->dataset.test.count; i++)
        free(samples->files[i]);
    free(samples->files);
    hr_dataset_close(&samples->dataset);
    free(samples->labels);
    *samples = (struct hr_samples){0};
}
