/* model_tensors.h - the tensors of a model's parameter layout in a file, each under a prefix and
 * with the name of an array, both of which may be "": "worker.3.0.weight" is of prefix "worker.3.",
 * "0.weight.exp_avg" of array "exp_avg".
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_STATE_MODEL_TENSORS_H
#define HR_STATE_MODEL_TENSORS_H

#include <stddef.h>

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "nn/model.h"

/* Names in a message: "0.weight, 0.bias, 2.weight and 14 more".
 *
 * Threads: the caller's memory.
 * Test:    tests/unit/state/test_listing.c
 */
enum { HR_LISTING_MAX = 200 };

struct hr_listing {
    size_t n;                   /* names added */
    size_t shown;               /* of them, those in `names` */
    char names[HR_LISTING_MAX]; /* "0.weight, 0.bias" */
    char text[HR_LISTING_MAX + sizeof " and 18446744073709551615 more"];
};

/* One more; zeroed before the first. What does not fit is counted; the first one is cut to fit. */
void hr_listing_add(struct hr_listing *listing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All of it, made printable; until the next name. */
const char *hr_listing_text(struct hr_listing *listing);

/* Its name there. */
void hr_model_tensor_name(char *name, size_t size, const char *prefix,
                          const struct hr_tensor_info *info, const char *array);
/* Append one tensor; params is borrowed until the file is written. */
void hr_model_tensor_put(struct hr_tensor_file *file, const struct hr_tensor_info *info,
                         const char *prefix, const char *array, float *params);
/* Append all; `trained`: but for statistics. */
void hr_model_tensors_put(struct hr_tensor_file *file, const struct hr_model *model, bool trained,
                          const char *prefix, const char *array, float *params);
/* Append all as PyTorch's load_state_dict has them: behind the variance of a batchnorm stands a
 * counter, which is borrowed too. */
void hr_model_state_put(struct hr_tensor_file *file, const struct hr_model *model, float *params,
                        int64_t *batches);

/* Copy the tensor of that name into its place in params; HR_E_FORMAT: it is missing, or has another
 * shape or type. */
HR_CHECKED enum hr_status hr_load_tensor(const struct hr_checkpoint *checkpoint,
                                         const struct hr_tensor_file *file,
                                         const struct hr_tensor_info *info, const char *name,
                                         float *params);
/* Copy all that hr_model_tensors_put puts; HR_E_FORMAT names all that do not fit. */
HR_CHECKED enum hr_status hr_load_tensors(const struct hr_checkpoint *checkpoint,
                                          const struct hr_tensor_file *file,
                                          const struct hr_model *model, bool trained,
                                          const char *prefix, const char *array, float *params);

/* What is between a file's tensors and a model's: zeroed before the first. */
struct hr_misfits {
    struct hr_listing missing, unlike; /* of the model's, in the file */
    struct hr_listing unknown;         /* of the file's, to the model */
};
/* As hr_load_tensor, but what does not fit is noted. */
void hr_try_tensor(const struct hr_tensor_file *file, const struct hr_tensor_info *info,
                   const char *name, float *params, struct hr_misfits *misfits);
/* HR_E_FORMAT: something is missing or unlike; names these, and what is unknown, in one line. */
HR_CHECKED enum hr_status hr_misfits_refuse(const struct hr_checkpoint *checkpoint,
                                            struct hr_misfits *misfits);

#endif
