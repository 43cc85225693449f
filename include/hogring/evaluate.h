/* evaluate.h - a saved model evaluated on the test split.
 *
 * Threads: one call at a time; it computes in the caller's thread.
 */
#ifndef HOGRING_EVALUATE_H
#define HOGRING_EVALUATE_H

#include "hogring/data.h"
#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_evaluation {
    char model[1024];                /* the layers in full */
    double test_loss, test_accuracy; /* accuracy: NaN where numbers are predicted (mf) */
    size_t count, noutputs; /* samples of the test split (mf: ratings), outputs of the network */
    float *outputs;         /* (count, noutputs) what the last layer gave; of sparse models w.x, or
                               the rating that is predicted; owned */
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
