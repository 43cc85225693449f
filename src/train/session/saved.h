/* saved.h - writes numbers, tables, options and kernels into a checkpoint by name, and reads them
 * back.
 *
 *     trainer metadata   "epoch": "3", "seconds": "1.25", "option.lr": "0.1", ...
 *     trainer tensors    "curve" (points, 6), "epoch_shares" (workers, 2): rows of float64
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_SESSION_SAVED_H
#define HR_SESSION_SAVED_H

#include "base/error.h"
#include "hogring/checkpoint.h"
#include "hogring/train.h"

/* Append an entry of metadata (the caller has made room); longer values are truncated. */
void hr_saved_put(struct hr_tensor_file *file, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The whole number under a key of the trainer's metadata; HR_E_FORMAT: missing, or not one. */
HR_CHECKED enum hr_status hr_saved_count(const struct hr_checkpoint *checkpoint, const char *key,
                                         uint64_t *out);
/* The same of a finite number of at least 0. */
HR_CHECKED enum hr_status hr_saved_amount(const struct hr_checkpoint *checkpoint, const char *key,
                                          double *out);
/* The number under a key; 0 when there is no such key. */
double hr_saved_number(const struct hr_checkpoint *checkpoint, const char *key);

/* Append a tensor: numbers (rows, width), borrowed until the file is written; no rows: nothing. */
void hr_saved_put_table(struct hr_tensor_file *file, const char *name, size_t rows, size_t width,
                        double *numbers);
/* The trainer's table of that name; *numbers = NULL and no rows when there is none. HR_E_FORMAT:
 * not a table of that width. */
HR_CHECKED enum hr_status hr_saved_table(const struct hr_checkpoint *checkpoint, const char *name,
                                         size_t width, size_t *rows, const double **numbers);
/* A count stored as a double. HR_E_FORMAT: not a whole number. */
HR_CHECKED enum hr_status hr_saved_samples(const struct hr_checkpoint *checkpoint, const char *name,
                                           double number, uint64_t *out);

/* Bytes of all its tensors. */
size_t hr_saved_bytes(const struct hr_checkpoint *checkpoint);
/* A checkpoint, or a .safetensors file of any origin as one (out zeroed before). */
HR_CHECKED enum hr_status hr_saved_read(const char *path, struct hr_checkpoint *out);

/* HR_E_USAGE unless what was saved is `ours`: "it was trained with <what> <saved>, ...". */
HR_CHECKED enum hr_status hr_saved_same(const struct hr_checkpoint *checkpoint, const char *what,
                                        const char *saved, const char *ours);

/* --- options and kernels --- */

/* What a checkpoint keeps of the run beside its state: the options, spelled as on a command line,
 * and the kernels. A resumed run is told where its own differ. */
#define HR_SAVED_OPTION "option."
#define HR_KEPT_MACHINE "machine."

/* Most entries of metadata that they take. */
size_t hr_saved_options_entries(void);
void hr_saved_options_put(const struct hr_train_options *options, const struct hr_dataset *dataset,
                          struct hr_tensor_file *file);

/* What the run had of an option; NULL: the checkpoint does not say. */
const char *hr_saved_option(const struct hr_checkpoint *checkpoint, const char *option);
/* Does the checkpoint say that the run had this value of an option? NULL: it does not. */
bool hr_saved_option_is(const struct hr_checkpoint *checkpoint, const char *option,
                        const char *value);

/* Warn when this machine's kernels give other bits than the checkpoint's; HR_E_USAGE when the run
 * promises bits (--reduce repro).
 *   bf16    of a model of bfloat16 values (machine_bits.h)
 *   direct  of one whose convolutions are all direct (hr_model_is_direct) */
struct hr_saved_run {
    bool bf16, direct, promised;
};
HR_CHECKED enum hr_status hr_saved_check(const struct hr_checkpoint *checkpoint,
                                         struct hr_saved_run run);

#endif
