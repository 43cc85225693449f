/* checkpoint.h - named tensors and metadata, saved durably and verified when read.
 *
 *     DIR/step-00000500/model.safetensors     the weights, nothing else: PyTorch's load_state_dict
 *                       trainer.safetensors   optimizer state and whatever else a run needs
 *                       manifest.json         format version, step, size and XXH3-64 of each
 *                                             file's header and of each tensor, and of itself
 *     DIR/latest -> step-00000500             a convenience; resume trusts manifests only, and
 *                                             corrects it
 *     DIR/best -> step-00000400               where best was asked for; it is not removed
 *     DIR/.run                                which run the folder is of; locked while it trains
 *
 * Saving: everything is written to DIR/.tmp-step-00000500.<pid>.<random>, each file synced, the
 * folder synced, renamed, the parent synced: a crash at any point leaves the old checkpoint or the
 * new one. An existing folder of that step is exchanged with the new one in a single rename; where
 * the file system cannot do that, it is named step-00000500.old for a moment, and loading knows
 * that name. Formats: safetensors (https://github.com/huggingface/safetensors), F32, F64, F16,
 * BF16, I64 and U8, little-endian. Reading checks all that the specification requires, and digests.
 *
 * A process that saves should ignore SIGXFSZ: then a file size limit is an error, not a death.
 *
 * Threads: none of this is called by ranks; one thread per folder.
 */
#ifndef HOGRING_CHECKPOINT_H
#define HOGRING_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hogring/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hr_dtype { HR_F32, HR_F64, HR_I64, HR_U8, HR_F16, HR_BF16 };

enum { HR_TENSOR_MAX_DIMS = 8 };

struct hr_tensor {
    char name[128];
    enum hr_dtype dtype;
    size_t ndim; /* 0 for a scalar */
    size_t shape[HR_TENSOR_MAX_DIMS];
    size_t bytes; /* product of shape times the size of dtype */
    void *data;   /* on save: borrowed; after load: owned by the checkpoint; aligned for its type */
};

struct hr_metadata {
    char key[64];
    char value[1024];
};

/* One file's worth of tensors, and the strings of its __metadata__. */
struct hr_tensor_file {
    size_t ntensors;
    struct hr_tensor *tensors;
    size_t nmetadata;
    struct hr_metadata *metadata;
    void *storage; /* behind `data` after a load */
};

struct hr_checkpoint {
    uint64_t step;
    struct hr_tensor_file model;   /* metadata as it stands in the file: "format": "pt", ... */
    struct hr_tensor_file trainer; /* its metadata is the run's state: epoch, seed, ... */
    char path[4096];               /* where it was loaded from or saved to */
};

/* Can a checkpoint of `bytes` be saved under dir? Makes dir (0755, parents too), removes left-over
 * .tmp-* of dead processes of this user (and of this pid: call it before saving, not while), writes
 * and removes a probe, and compares free space. HR_E_IO: folder, bytes needed, bytes free. */
enum hr_status hr_checkpoint_prepare(const char *dir, size_t bytes);

/* Save durably as dir/step-%08llu, then point `latest` at it and remove all but the newest `keep`
 * by step (0: keep all); the one just saved always stays. Saving a step that is already there
 * replaces it. Trouble with `latest` or a removal costs a warning, not the checkpoint. On error
 * nothing but the old checkpoints is left (if only the last sync of dir failed: the new one too,
 * whole). Sets checkpoint->path.
 * HR_E_IO: the file, and for a full disk bytes needed and free. HR_E_USAGE: a name twice or not
 * UTF-8, `bytes` that are not those of the shape, a step above INT64_MAX. */
enum hr_status hr_checkpoint_save(const char *dir, struct hr_checkpoint *checkpoint, size_t keep);

/* Point dir/best at a step that is there, durably; then remove all but the newest `keep`, as above,
 * and it: whatever `best` points at always stays. Trouble costs a warning. */
void hr_checkpoint_mark_best(const char *dir, uint64_t step, size_t keep);

/* Does the folder hold steps, good or not? */
bool hr_checkpoint_any(const char *dir);

/* Load and verify one checkpoint.
 *   path  a step-* folder (or its model.safetensors), or a folder of them: then the highest step
 *         that verifies; each damaged one that was passed over costs one warning line
 *   out   free with hr_checkpoint_free; untouched on error
 * HR_E_IO: nothing there, or a file is missing. HR_E_FORMAT: says file, tensor, found, expected. */
enum hr_status hr_checkpoint_load(const char *path, struct hr_checkpoint *out);
void hr_checkpoint_free(struct hr_checkpoint *checkpoint);

/* The metadata value of a key, or NULL. */
const char *hr_metadata_get(const struct hr_tensor_file *file, const char *key);
/* The tensor of that name, or NULL. */
const struct hr_tensor *hr_tensor_get(const struct hr_tensor_file *file, const char *name);

/* Read one .safetensors file of any origin (no manifest, no digests); free with
 * hr_tensor_file_free; untouched on error. Tensors come in the order of the header. Names, keys and
 * values that do not fit the structs above, more than 8 dimensions and dtypes we do not have are
 * HR_E_FORMAT, as is all that the specification forbids. */
enum hr_status hr_safetensors_read(const char *path, struct hr_tensor_file *out);
void hr_tensor_file_free(struct hr_tensor_file *file);

const char *hr_dtype_name(enum hr_dtype dtype); /* as safetensors spells it: "F32" */
size_t hr_dtype_bytes(enum hr_dtype dtype);

/* XXH3-128 over count floats, as 32 hex digits and a 0: the weights_digest of the JSON. */
void hr_digest_floats(const float *data, size_t count, char out[33]);

#ifdef __cplusplus
}
#endif
#endif
