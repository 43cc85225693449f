/* evaluate.h - a saved model evaluated on the test split.
 *
 * Threads: one call at a time; it computes in the caller's thread.
 */
#ifndef HOGRING_EVALUATE_H
#define HOGRING_EVALUATE_H

#include <stdint.h>

#include "hogring/data.h"
#include "hogring/run_result.h"
#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_evaluation {
    char model[1024];                /* the layers in full */
    double test_loss, test_accuracy; /* accuracy: NaN where values or tokens are predicted */
    struct hr_fit fit; /* over the classes, or the mean over the targets; NaN of sparse classes */
    size_t tokens;     /* of a sample, of text; 0: of no text. Losses are nats per token */
    size_t targets;    /* values of each sample that are predicted; 0: classes. With some: */
    struct hr_target_fit {
        char name[64];          /* "" where the data have no header */
        double mean, deviation; /* that outputs are scaled by */
        struct hr_fit fit;
    } * target;             /* (targets) owned: of each; NULL of sparse models */
    size_t count, noutputs; /* samples of the test split (mf: ratings), outputs of the network */
    float *outputs;         /* (count, noutputs) what the last layer gave, of sparse models w.x;
                               owned. Of text there are losses alone: outputs, labels, answers are
                               NULL */
    double *values;         /* (count, noutputs) in place of outputs, where no class but values are
                               predicted: in the targets' own units, ratings; owned; else NULL */
    size_t classes;         /* that the model tells apart; 0: of sparse models, and of text */
    char **class_names;     /* (classes) owned; NULL: "0", "1", ... */
    uint32_t *labels;       /* (count) of the samples, as the model numbers its classes; owned */
    uint32_t *answers;      /* (count) the model's: the first largest output, or as the loss has it;
                               UINT32_MAX where an output is not a number; owned */
    const char *precision;  /* float32, bf16: what it was computed in, as the file says; NULL: of
                               sparse models */
    const char *loss;       /* cross-entropy, bce, mse; NULL: of sparse models */
    float *losses;          /* (count) of each sample; NULL: of sparse models; owned */
};

/* Evaluate a checkpoint's model, or a .safetensors file's, on the test split, in this thread.
 *   layers  of the model; NULL: the file says them
 *   out     free with hr_evaluation_free; zeroed on error */
enum hr_status hr_evaluate_checkpoint(const char *path, const char *layers,
                                      const struct hr_dataset *dataset, struct hr_evaluation *out);
void hr_evaluation_free(struct hr_evaluation *evaluation);

#ifdef __cplusplus
}
#endif
#endif
