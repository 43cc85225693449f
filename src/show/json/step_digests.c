/* --digest-every as JSON: the digests of a step are one object. */
#include "checkpoint/digest.h"
#include "json/account.h"
#include "json/value.h"

json_t *hr_json_step_digests(const struct hr_run_result *run)
{
    json_t *steps = run->ndigests ? json_array() : json_null(), *parts = NULL;
    int failed = 0;
    for (size_t i = 0; i < run->ndigests; i++) {
        const struct hr_step_digest *digest = &run->digests[i];
        if (i == 0 || digest->step != digest[-1].step) {
            parts = json_object();
            failed |= json_array_append_new(
                steps, json_pack("{so so}", "step", hr_json_count(digest->step), "parts", parts));
        }
        if (!failed)
            failed |= json_object_set_new(parts, digest->part,
                                          json_string(hr_digest64_text(digest->digest).hex));
    }
    if (!failed)
        return steps;
    json_decref(steps);
    return NULL;
}
