/* What machines compare before anything is trained. */

#include "train/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/digest.h"
#include "kernels/select.h"
#include "machines/machines.h"
#include "options/train_options.h"

enum { DIGEST = 24 };

struct facts {
    char version[24], options[DIGEST], data[80];
    uint32_t steps, spans; /* are records wanted: machine 0's count */
    uint64_t spans_from, spans_to;
};

_Static_assert(sizeof(struct facts) <= HR_TOGETHER_BYTES, "facts fit a word");

/* Of everything that decides, and what beside it decides how memory is laid out. */
static enum hr_status digest_options(const struct hr_run *run, char *out)
{
    const struct hr_train_options *o = &run->options;
    json_t *options = hr_train_options_json(o);
    char *text = options ? json_dumps(options, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(options);
    if (!text)
        return hr_fail(HR_E_NOMEM, "no memory for the options that machines compare");
    uint64_t digest = hr_digest64(text, strlen(text));
    free(text);
    char more[900];
    snprintf(more, sizeof more, "%016llx %d %d %d %s %s %.9g %zu %zu %zu %s %s %zu %d %s %s",
             (unsigned long long)digest, o->checkpoint_dir[0] != 0, o->resume[0] != 0,
             o->wants_answers, o->overlap, o->launch, o->timeout, run->shared.workers, o->pipeline,
             o->tensor_parallel, o->pipeline_schedule, o->stages, o->chunks, o->recompute,
             o->server_placement, o->aggregate);
    snprintf(out, DIGEST, "%s", hr_digest64_text(hr_digest64(more, strlen(more))).hex);
    return HR_OK;
}

static enum hr_status fill_facts(const struct hr_run *run, struct facts *facts)
{
    const struct hr_observer *observer = run->launcher.observer;
    *facts = (struct facts){.steps = observer->stepped != NULL,
                            .spans = observer->spanned != NULL,
                            .spans_from = observer->spans_from,
                            .spans_to = observer->spans_to};
    snprintf(facts->version, sizeof facts->version, "%s", HR_VERSION);
    snprintf(facts->data, sizeof facts->data, "%s", run->job.dataset->digest);
    return digest_options(run, facts->options);
}

static enum hr_status compare_facts(const struct hr_machines *machines, const struct facts *all)
{
    const struct hr_wire *wire = machines->wire;
    for (size_t m = 1; m < wire->machines; m++) {
        if (strcmp(all[m].version, all[0].version) != 0)
            return hr_fail(HR_E_USAGE, "%s has hogring %s and %s %s; expected one version",
                           wire->host[0], all[0].version, wire->host[m], all[m].version);
        if (strcmp(all[m].options, all[0].options) != 0)
            return hr_fail(HR_E_USAGE,
                           "%s and %s were told other options; expected the same command line and "
                           "the same --config on all machines",
                           wire->host[0], wire->host[m]);
        if (strcmp(all[m].data, all[0].data) != 0)
            return hr_fail(HR_E_USAGE,
                           "--data: %s has other samples (%s) than %s (%s); expected the same data "
                           "on all machines",
                           wire->host[m], all[m].data, wire->host[0], all[0].data);
    }
    return HR_OK;
}

/* --- what decides bits --- */

struct bits {
    char text[HR_TOGETHER_BYTES]; /* of hr_machine_bits_json */
};

static enum hr_status fill_bits(struct bits *bits)
{
    json_t *object = hr_machine_bits_json();
    char *text = object ? json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text)
        return hr_fail(HR_E_NOMEM, "no memory to describe this machine");
    HR_ASSERT(strlen(text) < sizeof bits->text);
    snprintf(bits->text, sizeof bits->text, "%s", text);
    free(text);
    return HR_OK;
}

static const char *text_of(const json_t *bits, const char *field)
{
    const char *text = json_string_value(json_object_get(bits, field));
    return text ? text : "";
}

/* What makes them alike. */
static const char *cure_of(const char *field)
{
    if (!strcmp(field, "libm"))
        return "the same C library on processors of one kind";
    if (!strcmp(field, "bf16"))
        return "the same HOGRING_ISA on all machines";
    if (hr_kernels_use_blas())
        return "the same OpenBLAS and OPENBLAS_CORETYPE on all machines, or --kernels reference";
    return "machines alike, or --kernels reference";
}

static enum hr_status compare_bits(const struct hr_run *run, const struct bits *one,
                                   const struct bits *other, size_t m)
{
    char(*const host)[HR_WIRE_HOST] = run->machines->wire->host;
    const bool bf16 = hr_machine_bits_are_bf16(run->options.precision);
    enum hr_status status = HR_OK;
    json_t *there = json_loads(one->text, 0, NULL), *here = json_loads(other->text, 0, NULL);
    const char *name = there && here ? hr_machine_bits_difference(there, here, bf16) : "bits";
    if (name)
        status = hr_fail(HR_E_USAGE,
                         "%s and %s would give other bits: their %s differ, \"%s\" and \"%s\"; "
                         "expected %s",
                         host[0], host[m], name, text_of(there, name), text_of(here, name),
                         cure_of(name));
    json_decref(there);
    json_decref(here);
    return status;
}

static enum hr_status agree_on_bits(const struct hr_run *run)
{
    const struct hr_wire *wire = run->machines->wire;
    struct bits mine = {""}, all[HR_WIRE_MACHINES];
    HR_TRY(fill_bits(&mine));
    HR_TRY(hr_together_gather(&run->machines->together, &mine, sizeof mine, all,
                              "what all machines compute with"));
    for (size_t m = 1; m < wire->machines; m++)
        HR_TRY(compare_bits(run, &all[0], &all[m], m));
    return HR_OK;
}

enum hr_status hr_several_agree(struct hr_run *run, enum hr_status status)
{
    struct hr_machines *machines = run->machines;
    struct facts mine, all[HR_WIRE_MACHINES];
    if (!machines)
        return status;
    if (status == HR_OK)
        status = fill_facts(run, &mine);
    HR_TRY(hr_together_fail(&machines->together, status, "all machines to prepare"));
    HR_TRY(hr_together_gather(&machines->together, &mine, sizeof mine, all,
                              "what all machines were told"));
    HR_TRY(compare_facts(machines, all));
    HR_TRY(agree_on_bits(run));
    run->shared.feed.steps = all[0].steps;
    run->shared.feed.spans = all[0].spans;
    run->shared.feed.spans_from = all[0].spans_from;
    run->shared.feed.spans_to = all[0].spans_to;
    return HR_OK;
}
