/* sample_documents.h - documents of --json, as far as a gate reads them. */
#ifndef HR_TESTS_GATE_SAMPLE_DOCUMENTS_H
#define HR_TESTS_GATE_SAMPLE_DOCUMENTS_H

#include <stdio.h>

#include "gate/document.h"
#include "support/check.h"

struct sample {
    const char *label;
    int seed;
    const char *digest;
    double accuracy, loss;
    bool repeats;
};

static inline json_t *sample_run_json(const struct sample *s)
{
    return json_pack("{ss ss si ss sf sf sb ss si sf}", "label", s->label, "strategy", s->label,
                     "seed", s->seed, "weights_digest", s->digest, "test_accuracy", s->accuracy,
                     "test_loss", s->loss, "repeats", s->repeats, "kernels", "OpenBLAS", "workers",
                     2, "samples_per_s", 1000.0);
}

/* "given" as compare has it; the machine's isa. */
static inline struct hr_gate_document sample_document(const struct sample *samples, size_t n,
                                                      const char *isa)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(runs, sample_run_json(&samples[i]));
    json_t *json = json_pack(
        "{ss s[ss] s{ss sb ss ss ss} s{ss ss} s{sf s{ss ss si}} so s[]}", "hogring", "0.1.0",
        "command", "hogring", "compare", "bits", "kernels", "OpenBLAS", "reference", 0, "isa", isa,
        "gemm", "1", "libm", "2", "given", "lr", "0.1", "normalize", "on", "config", "lr", 0.1,
        "data", "name", "digits", "digest", "abc", "test", 360, "runs", runs, "failed");
    struct hr_gate_document document = {.name = "sample.json", .json = json};
    CHECK_OK(hr_gate_check(&document, true));
    return document;
}

#endif
