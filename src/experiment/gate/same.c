#include "gate/same.h"

#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "options/train_options.h"
#include "session/machine_bits.h"

/* Is it an option of training that decides what comes out? */
static bool matters(const char *name)
{
    const struct hr_option *row = hr_train_option_find(name);
    return row && row->use != HR_ONCE && strcmp(name, "checkpoint-every") != 0 &&
           strcmp(name, "keep") != 0 && strcmp(name, "keep-best") != 0;
}

static enum hr_status differ(const struct hr_gate_document *fresh, const char *name,
                             const json_t *there, const json_t *here)
{
    char *was = json_dumps(there, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    char *is = json_dumps(here, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    const enum hr_status status = hr_fail(
        HR_E_USAGE, "%s: --%s was %s in the baseline and is %s; expected runs of the same options",
        fresh->name, name, hr_printable(was ? was : "").text, hr_printable(is ? is : "").text);
    free(was);
    free(is);
    return status;
}

enum hr_status hr_gate_same(const struct hr_gate_document *baseline,
                            const struct hr_gate_document *fresh)
{
    const json_t *there = json_object_get(baseline->json, "config");
    const json_t *here = json_object_get(fresh->json, "config");
    const json_t *const data[] = {json_object_get(there, "data"), json_object_get(here, "data")};
    const char *const digest[] = {hr_gate_text(data[0], "digest"), hr_gate_text(data[1], "digest")};
    const char *name;
    json_t *value;
    if (strcmp(digest[0], digest[1]) != 0)
        return hr_fail(HR_E_USAGE,
                       "%s: its data are others than the baseline's (%s, digest %s; it was %s)",
                       fresh->name, hr_printable(hr_gate_text(data[1], "name")).text,
                       hr_printable(digest[1]).text, hr_printable(digest[0]).text);
    json_object_foreach((json_t *)there, name, value)
    {
        const json_t *own = json_object_get(here, name);
        if (own && matters(name) && !json_equal(value, own))
            return differ(fresh, name, value, own);
    }
    return HR_OK;
}

const char *hr_gate_other_bits(const struct hr_gate_document *baseline, const json_t *old_run,
                               const struct hr_gate_document *fresh, const json_t *new_run)
{
    json_t *there = json_copy(json_object_get(baseline->json, "bits"));
    json_t *here = json_copy(json_object_get(fresh->json, "bits"));
    const char *other = "";
    /* Entries of compare may have other kernels than the one that was last. */
    if (json_is_object(there) && json_is_object(here) &&
        json_object_set(there, "kernels", json_object_get(old_run, "kernels")) == 0 &&
        json_object_set(here, "kernels", json_object_get(new_run, "kernels")) == 0)
        other = hr_machine_bits_difference(
            there, here, hr_machine_bits_are_bf16(hr_gate_text(new_run, "precision")));
    json_decref(there);
    json_decref(here);
    return other;
}
