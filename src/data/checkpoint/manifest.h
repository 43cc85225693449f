/* manifest.h - the exact content of a step folder, by digests.
 *
 *     {
 *       "format": "hogring checkpoint",
 *       "version": 1,
 *       "hogring": "0.1.0",                             who wrote it
 *       "step": 500,
 *       "files": {
 *         "model.safetensors": {
 *           "bytes": 200,
 *           "header": "5d2c...",                        XXH3-64 of the length and the JSON
 *           "tensors": {"0.bias": "8f41...", ...}       XXH3-64 of each, in the file's order
 *         },
 *         "trainer.safetensors": {...}
 *       },
 *       "xxh3_64": "77ab..."                            of all bytes before the comma above
 *     }
 *
 * The last line protects the text itself: a reformatted manifest counts as damaged. The manifest is
 * written last, so a folder without one is not a checkpoint.
 */
#ifndef HR_CHECKPOINT_MANIFEST_H
#define HR_CHECKPOINT_MANIFEST_H

#include <stdint.h>

#include "base/error.h"
#include "checkpoint/safetensors.h"

#define HR_MANIFEST_NAME "manifest.json"
#define HR_MODEL_NAME "model.safetensors"
#define HR_TRAINER_NAME "trainer.safetensors"

enum { HR_MANIFEST_VERSION = 1, HR_MANIFEST_MAX_BYTES = 256 << 20 };

struct hr_manifest {
    uint64_t step;
    struct hr_file_digest model, trainer; /* owned */
};

void hr_manifest_free(struct hr_manifest *manifest);

/* Write and sync the new file `path`. */
HR_CHECKED enum hr_status hr_manifest_write(const char *path, const struct hr_manifest *manifest);

/* Read and verify; free with hr_manifest_free; untouched on error. HR_E_FORMAT: damaged, or of
 * another version. */
HR_CHECKED enum hr_status hr_manifest_read(const char *path, struct hr_manifest *out);
/* The same of a text in memory; `path` is for messages. */
HR_CHECKED enum hr_status hr_manifest_parse(const char *path, const char *text, size_t bytes,
                                            struct hr_manifest *out);

#endif
