/* A checkpoint's model on new samples: by hr_evaluate_saved, so that what it gives is what the
 * evaluation of a test set gives. */
#include "hogring/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fpenv.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "data/tokens.h"
#include "hogring/sparse.h"
#include "options/choices.h"
#include "predict/meaning.h"
#include "predict/samples.h"
#include "session/model_input.h"
#include "session/target_scale.h"
#include "session/saved.h"
#include "train/evaluate.h"

/* What the model's file says. */
struct hr_predictor {
    struct hr_checkpoint checkpoint;
    char *layers;      /* given; NULL: the file says them */
    const char *model; /* its text */
    enum hr_loss_kind loss;
    bool sparse, rates; /* logistic, svm, linear, mf; mf alone */
    struct hr_class_list classes;
    struct hr_target_scale values; /* of a regression */
    struct hr_model_input input;
    char *about;
    struct hr_prediction last; /* of hr_predictor_run */
};

/* Samples, and what the model makes of them. */
struct predicting {
    const struct hr_predictor *by;
    double *nothing; /* (rows, values) in place of targets, which nobody knows */
    struct hr_samples samples;
    struct hr_evaluation evaluation;
};

void hr_predict_defaults(struct hr_predict_options *options)
{
    *options = (struct hr_predict_options){0};
    hr_data_defaults(&options->data);
}

/* --- the model --- */

/* The first dimension of the last layer's weight, by the numbers that begin torch.nn.Sequential's
 * names; 0: there is none. */
static size_t outputs_of(const struct hr_tensor_file *file)
{
    long last = -1;
    size_t outputs = 0;
    for (size_t i = 0; i < file->ntensors; i++) {
        const struct hr_tensor *tensor = &file->tensors[i];
        const long index = strtol(tensor->name, NULL, 10);
        if (tensor->ndim < 2 || index < last)
            continue;
        last = index;
        outputs = tensor->shape[0];
    }
    return outputs;
}

/* A file that does not say its classes has as many as outputs. */
static enum hr_status read_classes(struct hr_predictor *p, const struct hr_predict_options *options)
{
    const char *given = options->data.classes;
    HR_TRY(hr_class_names_get(&p->checkpoint, &p->classes));
    HR_TRY(hr_target_scale_get(&p->checkpoint, &p->values));
    if (p->values.count)
        return given[0] ? hr_fail(HR_E_USAGE, "--classes: %s predicts values", p->checkpoint.path)
                        : HR_OK;
    if (p->classes.count && given[0])
        return hr_fail(HR_E_USAGE, "--classes: %s has the names of its classes: %s",
                       p->checkpoint.path,
                       hr_class_list_shown(p->classes.names, p->classes.count).text);
    if (given[0])
        return hr_class_list_parse("--classes", given, &p->classes);
    if (!p->classes.count)
        p->classes.count = outputs_of(&p->checkpoint.model);
    if (p->classes.count <= 1)
        p->classes.count = 2; /* of a single output */
    return HR_OK;
}

static enum hr_status read_model(struct hr_predictor *p, const char *path,
                                 const struct hr_predict_options *options)
{
    p->layers = options->layers ? strdup(options->layers) : NULL;
    if (options->layers && !p->layers)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    HR_TRY(hr_saved_read(path, &p->checkpoint));
    const char *saved = hr_metadata_get(&p->checkpoint.model, "hogring.model");
    const char *loss = hr_metadata_get(&p->checkpoint.model, "hogring.loss");
    p->model = p->layers ? p->layers : saved;
    if (!p->model)
        return hr_fail(HR_E_FORMAT,
                       "%s: metadata \"hogring.model\" is missing, so the layers are not known; "
                       "--model says them",
                       p->checkpoint.path);
    p->sparse = hr_sparse_is_model(p->model);
    p->rates = hr_sparse_model_of(p->model) == HR_SPARSE_MF;
    if (loss)
        HR_TRY(hr_loss_parse(loss, &p->loss));
    HR_TRY(hr_model_input_get(&p->checkpoint, &p->input));
    struct hr_vocabulary tokens;
    if (p->input.recipe && hr_vocabulary_read(p->input.recipe, &tokens) == HR_OK) {
        hr_vocabulary_free(&tokens);
        return hr_fail(HR_E_USAGE,
                       "%s: is a language model, which goes on with a text: hogring sample %s "
                       "--prompt TEXT",
                       path, path);
    }
    return read_classes(p, options);
}

/* --- the samples --- */

/* Their labels, if any, are rows of a table of zeros. */
static enum hr_status take_no_targets(struct predicting *p)
{
    struct hr_dataset *dataset = &p->samples.dataset;
    size_t rows = 1;
    if (dataset->targets.count)
        return HR_OK;
    for (size_t i = 0; i < dataset->test.count; i++)
        rows = dataset->test.labels[i] >= rows ? dataset->test.labels[i] + (size_t)1 : rows;
    p->nothing = calloc(rows * p->by->values.count, sizeof *p->nothing);
    if (!p->nothing)
        return hr_fail(HR_E_NOMEM, "no memory for targets of %zu samples", rows);
    dataset->targets =
        (struct hr_targets){.count = p->by->values.count, .rows = rows, .values = p->nothing};
    dataset->classes = 0;
    dataset->class_names = NULL;
    return HR_OK;
}

/* Samples without labels are of the model's first class, so that nothing is asked of labels. */
static enum hr_status open_samples(struct predicting *p, const char *data,
                                   const struct hr_predict_options *options)
{
    struct hr_data_options reading = options->data;
    reading.classes[0] = '\0';
    HR_TRY(hr_samples_open(data, &reading, &p->by->checkpoint, &p->by->input, p->by->rates,
                           &p->samples));
    const struct hr_dataset *dataset = &p->samples.dataset;
    const char *const notes[] = {dataset->notes[0], dataset->notes[1], p->samples.note};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i][0])
            hr_log(HR_LOG_INFO, "%s", notes[i]);
    if (p->by->rates)
        return HR_OK;
    if (p->by->values.count)
        return take_no_targets(p);
    p->samples.dataset.classes = p->by->classes.count;
    p->samples.dataset.class_names = options->data.classes[0] ? NULL : p->by->classes.names;
    return HR_OK;
}

/* --- what it says --- */

static enum hr_status copy_names(const char *const *names, size_t count, char ***out)
{
    char number[24];
    *out = calloc(count ? count : 1, sizeof **out);
    bool enough = *out;
    for (size_t i = 0; enough && i < count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        (*out)[i] = strdup(names ? names[i] : number);
        enough = (*out)[i];
    }
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu names", count);
}

/* Those of the targets, or value_1, ... */
static enum hr_status name_values(const struct predicting *p, struct hr_prediction *out)
{
    char number[32];
    out->names = calloc(out->ncolumns, sizeof *out->names);
    bool enough = out->names;
    for (size_t k = 0; enough && k < out->ncolumns; k++) {
        snprintf(number, sizeof number, out->ncolumns > 1 ? "value_%zu" : "value", k + 1);
        out->names[k] = strdup(p->by->values.name[k][0] ? p->by->values.name[k] : number);
        enough = out->names[k];
    }
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for %zu names", out->ncolumns);
}

static enum hr_status name_columns(const struct predicting *p, struct hr_prediction *out)
{
    const char *const single = p->by->rates ? "rating" : "score";
    if (p->by->values.count)
        return name_values(p, out);
    if (out->kind != HR_PREDICT_VALUES) {
        out->classes = p->by->classes.count;
        HR_TRY(copy_names(p->by->classes.names, out->classes, &out->class_names));
    }
    return out->ncolumns == out->classes
               ? copy_names(p->by->classes.names, out->ncolumns, &out->names)
               : copy_names(out->ncolumns == 1 ? &single : NULL, out->ncolumns, &out->names);
}

/* A linear model's single output: above 0 it is the second class. */
static enum hr_status take_answers(struct predicting *p, struct hr_prediction *out)
{
    if (!p->by->sparse) {
        out->answers = p->evaluation.answers;
        p->evaluation.answers = NULL;
        return HR_OK;
    }
    out->answers = calloc(out->count, sizeof *out->answers);
    if (!out->answers)
        return hr_fail(HR_E_NOMEM, "no memory for answers to %zu samples", out->count);
    for (size_t i = 0; i < out->count; i++)
        out->answers[i] = p->evaluation.outputs[i] > 0;
    return HR_OK;
}

static enum hr_status take_results(struct predicting *p, struct hr_prediction *out)
{
    struct hr_evaluation *evaluation = &p->evaluation;
    const struct hr_meaning meaning =
        hr_meaning_of(p->by->model, p->by->loss, evaluation->noutputs, p->by->values.count);
    snprintf(out->model, sizeof out->model, "%s", evaluation->model);
    snprintf(out->checkpoint, sizeof out->checkpoint, "%s", p->by->checkpoint.path);
    out->kind = meaning.kind;
    out->count = evaluation->count;
    out->ncolumns = meaning.columns;
    out->files = p->samples.files;
    p->samples.files = NULL;
    out->rows = p->samples.rows ? calloc(out->count, sizeof *out->rows) : NULL;
    if (p->samples.rows && !out->rows)
        return hr_fail(HR_E_NOMEM, "no memory for the numbers of %zu rows", out->count);
    for (size_t i = 0; out->rows && i < out->count; i++)
        out->rows[i] = (size_t)p->samples.rows[i] + 1;
    HR_TRY(name_columns(p, out));
    if (out->kind == HR_PREDICT_VALUES) {
        out->values = evaluation->values;
        evaluation->values = NULL;
        return HR_OK;
    }
    out->columns = calloc(out->count * out->ncolumns, sizeof *out->columns);
    if (!out->columns)
        return hr_fail(HR_E_NOMEM, "no memory for %zu numbers of %zu samples", out->ncolumns,
                       out->count);
    hr_meaning_apply(&meaning, out->count, evaluation->outputs, out->columns);
    return take_answers(p, out);
}

static enum hr_status predict(struct predicting *p, const char *data,
                              const struct hr_predict_options *options, struct hr_prediction *out)
{
    HR_TRY(open_samples(p, data, options));
    HR_TRY(
        hr_evaluate_saved(&p->by->checkpoint, p->by->layers, &p->samples.dataset, &p->evaluation));
    return take_results(p, out);
}

/* The caller's thread computes; its way with denormals stays its own. */
static enum hr_status run(const struct hr_predictor *predictor, const char *data,
                          const struct hr_predict_options *options, struct hr_prediction *out)
{
    struct predicting p = {.by = predictor};
    const uint64_t mode = hr_fp_mode();
    const enum hr_status status = predict(&p, data, options, out);
    hr_fp_mode_set(mode);
    if (status != HR_OK)
        hr_prediction_free(out);
    hr_evaluation_free(&p.evaluation);
    hr_samples_close(&p.samples);
    free(p.nothing);
    return status;
}

static void close_model(struct hr_predictor *p)
{
    hr_model_input_free(&p->input);
    hr_class_list_free(&p->classes);
    hr_target_scale_free(&p->values);
    hr_checkpoint_free(&p->checkpoint);
    free(p->layers);
    free(p->about);
}

enum hr_status hr_predict(const char *checkpoint, const char *data,
                          const struct hr_predict_options *options, struct hr_prediction *out)
{
    struct hr_predict_options defaults;
    struct hr_predictor p = {0};
    *out = (struct hr_prediction){0};
    hr_predict_defaults(&defaults);
    options = options ? options : &defaults;
    enum hr_status status = read_model(&p, checkpoint, options);
    if (status == HR_OK)
        status = run(&p, data, options, out);
    close_model(&p);
    return status;
}

/* --- a model that stays open --- */

static json_t *list_classes(const struct hr_predictor *p)
{
    json_t *array = json_array();
    char number[24];
    for (size_t i = 0; !p->values.count && !p->rates && i < p->classes.count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        hr_json_append(&array, hr_json_text(p->classes.names ? p->classes.names[i] : number));
    }
    return array;
}

static json_t *list_features(const struct hr_predictor *p)
{
    json_t *array = json_array();
    for (size_t i = 0; i < p->input.names.count; i++)
        hr_json_append(&array, hr_json_text(hr_labels_text(&p->input.names.labels, i)));
    return array;
}

static json_t *list_values(const struct hr_predictor *p)
{
    json_t *array = json_array();
    for (size_t k = 0; k < p->values.count; k++)
        hr_json_append(&array, hr_json_text(p->values.name[k]));
    return array;
}

static enum hr_status describe(struct hr_predictor *p)
{
    static const char *const kinds[] = {"probabilities", "scores", "values"};
    const struct hr_shape *shape = &p->input.shape;
    const struct hr_meaning meaning = hr_meaning_of(p->model, p->loss, 1, p->values.count);
    json_t *json = json_pack("{so, so, sI, ss, s[III], so, so, so}", "model",
                             hr_json_text(p->model), "checkpoint", hr_json_text(p->checkpoint.path),
                             "step", (json_int_t)p->checkpoint.step, "kind", kinds[meaning.kind],
                             "input", (json_int_t)shape->channels, (json_int_t)shape->height,
                             (json_int_t)shape->width, "features", list_features(p), "classes",
                             list_classes(p), "values", list_values(p));
    p->about = hr_json_dump(json, JSON_COMPACT);
    json_decref(json);
    return p->about ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to describe a model");
}

enum hr_status hr_predictor_open(const char *checkpoint, const char *layers,
                                 struct hr_predictor **out)
{
    struct hr_predict_options options;
    struct hr_predictor *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return hr_fail(HR_E_NOMEM, "no memory to read a checkpoint");
    hr_predict_defaults(&options);
    options.layers = layers;
    enum hr_status status = read_model(p, checkpoint, &options);
    if (status == HR_OK)
        status = describe(p);
    if (status == HR_OK)
        *out = p;
    else
        hr_predictor_close(p);
    return status;
}

const char *hr_predictor_about(const struct hr_predictor *predictor)
{
    return predictor->about;
}

const void *hr_predictor_tensor(const struct hr_predictor *predictor, size_t number,
                                const char **name, const char **dtype, const size_t **shape,
                                size_t *ndim)
{
    const struct hr_tensor_file *file = &predictor->checkpoint.model;
    if (number >= file->ntensors)
        return NULL;
    const struct hr_tensor *tensor = &file->tensors[number];
    *name = tensor->name;
    *dtype = hr_dtype_name(tensor->dtype);
    *shape = tensor->shape;
    *ndim = tensor->ndim;
    return tensor->data;
}

enum hr_status hr_predictor_run(struct hr_predictor *predictor, const char *data)
{
    struct hr_predict_options options;
    hr_predict_defaults(&options);
    hr_prediction_free(&predictor->last);
    HR_TRY(run(predictor, data, &options, &predictor->last));
    if (!predictor->last.rows)
        return HR_OK;
    hr_prediction_free(&predictor->last);
    return hr_fail(HR_E_FORMAT,
                   "%s: something is missing in some rows, and the model was trained without such "
                   "rows: hogring predict leaves them out and numbers the others",
                   data);
}

const float *hr_predictor_columns(const struct hr_predictor *predictor, size_t *samples,
                                  size_t *columns)
{
    *samples = predictor->last.count;
    *columns = predictor->last.ncolumns;
    return predictor->last.columns;
}

const double *hr_predictor_values(const struct hr_predictor *predictor, size_t *samples,
                                  size_t *columns)
{
    *samples = predictor->last.count;
    *columns = predictor->last.ncolumns;
    return predictor->last.values;
}

const uint32_t *hr_predictor_answers(const struct hr_predictor *predictor)
{
    return predictor->last.answers;
}

void hr_predictor_close(struct hr_predictor *predictor)
{
    if (!predictor)
        return;
    hr_prediction_free(&predictor->last);
    close_model(predictor);
    free(predictor);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void hr_prediction_free(struct hr_prediction *prediction)
{
    free_names(prediction->names, prediction->ncolumns);
    free_names(prediction->class_names, prediction->classes);
    free_names(prediction->files, prediction->count);
    free(prediction->rows);
    free(prediction->columns);
    free(prediction->values);
    free(prediction->answers);
    *prediction = (struct hr_prediction){0};
}
