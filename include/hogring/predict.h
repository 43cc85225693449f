/* predict.h - a saved model's answers on new data, which need no labels.
 *
 *     struct hr_prediction p;
 *     if (hr_predict("runs/mlp", "new.csv", NULL, &p) != HR_OK) ...
 *     printf("%s %g\n", p.class_names[p.answers[0]], p.columns[p.answers[0]]);   first sample
 *     hr_prediction_free(&p);
 *
 * Inputs are scaled and normalised as they were in training, columns of a table are found by name;
 * what is left out costs a line on stderr. Outputs are those that hr_evaluate_checkpoint gives for
 * the same samples, to the bit.
 *
 * Threads: one call at a time; it computes in the caller's thread.
 */
#ifndef HOGRING_PREDICT_H
#define HOGRING_PREDICT_H

#include <stdint.h>

#include "hogring/data.h"
#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hr_prediction_kind {
    HR_PREDICT_PROBABILITIES, /* of each class: softmax (cross-entropy), sigmoid (bce, logistic) */
    HR_PREDICT_SCORES,        /* the largest wins, and they are no probabilities: mse, svm */
    HR_PREDICT_VALUES,        /* numbers in the target's own units: regression, mf */
};

struct hr_prediction {
    char model[1024];      /* the layers in full */
    char checkpoint[4096]; /* which one it was */
    enum hr_prediction_kind kind;
    size_t count;       /* samples (mf: ratings) */
    size_t *rows;       /* (count) of the file, from 1, where some are left out (a model trained
                           with --missing drop, and rows with a hole); else NULL; owned */
    char **files;       /* (count) of pictures: where each is, owned; else NULL */
    size_t ncolumns;    /* numbers of a sample */
    float *columns;     /* (count, ncolumns), owned; NULL where the kind is values */
    double *values;     /* (count, ncolumns), owned; NULL where it is not */
    char **names;       /* (ncolumns) of the columns: classes', or "score", "rating"; owned */
    size_t classes;     /* 0 where the kind is values */
    char **class_names; /* (classes) owned: "0", "1", ... where they have no names */
    uint32_t *answers;  /* (count) classes, UINT32_MAX where an output is not a number; owned */
};

struct hr_predict_options {
    const char *layers;          /* of the model, where its file does not say them; or NULL */
    struct hr_data_options data; /* header, label_column, index_base; classes: names of a model's
                                    that has none */
};
void hr_predict_defaults(struct hr_predict_options *options);

/*   checkpoint  a checkpoint, a folder of them, or a .safetensors file
 *   data        a file of new samples, with labels or without: CSV, libsvm, npy (X alone), IDX
 *               images, a PNG or JPEG file or a folder of them (brought to the model's size); or
 *               a data set (hogring/data.h): its test samples
 *   options     NULL: the defaults
 *   out         free with hr_prediction_free; zeroed on error */
enum hr_status hr_predict(const char *checkpoint, const char *data,
                          const struct hr_predict_options *options, struct hr_prediction *out);
void hr_prediction_free(struct hr_prediction *prediction);

/* The same for many calls, and for languages that know no structs of C: the model stays in memory,
 * whatever becomes of its file.
 *
 *     struct hr_predictor *p;
 *     if (hr_predictor_open("runs/mlp", NULL, &p) != HR_OK) ...
 *     if (hr_predictor_run(p, "X.npy") != HR_OK) ...
 *     size_t samples, columns;
 *     const float *probabilities = hr_predictor_columns(p, &samples, &columns);
 *     hr_predictor_close(p);
 *
 *   layers  of the model, where its file does not say them; or NULL */
struct hr_predictor;
enum hr_status hr_predictor_open(const char *checkpoint, const char *layers,
                                 struct hr_predictor **out);
/* What the model is, as JSON, valid until it is closed: model, checkpoint, step, kind
 * ("probabilities", "scores", "values"), input (channels, height, width; zeros: not known),
 * features (names, or none), classes and values (their names). */
const char *hr_predictor_about(const struct hr_predictor *predictor);
/* Its weights: tensor 0, 1, ...; NULL behind the last. dtype is one of hr_dtype_name. All of it is
 * valid until the model is closed. */
const void *hr_predictor_tensor(const struct hr_predictor *predictor, size_t number,
                                const char **name, const char **dtype, const size_t **shape,
                                size_t *ndim);
/* data: as for hr_predict, but rows with a hole are refused: what it gives has no row numbers. What
 * the call before gave is gone, also on error. */
enum hr_status hr_predictor_run(struct hr_predictor *predictor, const char *data);
/* What it gave, valid until the next call or the end: (samples, columns); NULL: there was none, or
 * it is of the other kind. */
const float *hr_predictor_columns(const struct hr_predictor *predictor, size_t *samples,
                                  size_t *columns);
const double *hr_predictor_values(const struct hr_predictor *predictor, size_t *samples,
                                  size_t *columns);
/* (samples) classes, as hr_prediction has them; NULL where values are predicted. */
const uint32_t *hr_predictor_answers(const struct hr_predictor *predictor);
void hr_predictor_close(struct hr_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
