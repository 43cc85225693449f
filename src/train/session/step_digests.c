#include "session/step_digests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/digest.h"

enum hr_status hr_step_digests_check(uint64_t every, uint64_t steps, size_t tensors)
{
    const uint64_t most = HR_STEP_DIGESTS_MAX / tensors ? HR_STEP_DIGESTS_MAX / tensors : 1;
    if (steps / every <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--digest-every %" PRIu64 ": %" PRIu64
                   " times %zu tensors are more digests than "
                   "%d; expected %" PRIu64 " or more, or fewer steps",
                   every, steps / every, tensors, HR_STEP_DIGESTS_MAX, steps / most + 1);
}

static struct hr_step_digest *append(struct hr_step_digests *digests)
{
    if (digests->n == digests->room) {
        const size_t room = digests->room ? 2 * digests->room : 256;
        struct hr_step_digest *list = realloc(digests->list, room * sizeof *list);
        if (!list)
            return NULL;
        digests->list = list;
        digests->room = room;
    }
    return &digests->list[digests->n++];
}

static enum hr_status add(struct hr_step_digests *digests, uint64_t step, const char *part,
                          const void *data, size_t bytes)
{
    struct hr_step_digest *digest = append(digests);
    if (!digest)
        return hr_fail(HR_E_NOMEM, "no memory for %zu digests", digests->n + 1);
    *digest = (struct hr_step_digest){.step = step, .digest = hr_digest64(data, bytes)};
    snprintf(digest->part, sizeof digest->part, "%s", part);
    return HR_OK;
}

static enum hr_status add_rows(struct hr_step_digests *digests, uint64_t step,
                               const struct hr_tensor *table)
{
    const size_t rows = table->shape[0];
    for (size_t r = 0; r < rows; r++) {
        char part[40];
        const size_t bytes = table->bytes / rows;
        snprintf(part, sizeof part, "worker.%zu.loss", r);
        HR_TRY(add(digests, step, part, (const unsigned char *)table->data + r * bytes, bytes));
    }
    return HR_OK;
}

enum hr_status hr_step_digests_add(struct hr_step_digests *digests, uint64_t step,
                                   const struct hr_tensor_file *file, size_t ntensors,
                                   const char *losses)
{
    for (size_t i = 0; i < ntensors; i++) {
        const struct hr_tensor *tensor = &file->tensors[i];
        if (losses && !strcmp(tensor->name, losses))
            HR_TRY(add_rows(digests, step, tensor));
        else
            HR_TRY(add(digests, step, tensor->name, tensor->data, tensor->bytes));
    }
    return HR_OK;
}
