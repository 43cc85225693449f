#include "gate/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gate/judge.h"
#include "stats/tests.h"

struct hr_gate_ratio hr_gate_ratio_of(const double *log_ratio, size_t n, double level,
                                      double slower)
{
    struct hr_gate_ratio ratio = {.mean = (double)NAN, .interval = {0, INFINITY}};
    if (n < 2)
        return ratio;
    const struct hr_spread spread = hr_spread_of(log_ratio, n);
    const struct hr_interval logs = hr_mean_interval(&spread, 1 - 2 * level);
    ratio.mean = exp(spread.mean);
    ratio.interval = (struct hr_interval){exp(logs.low), exp(logs.high)};
    ratio.slower = ratio.interval.low > 1 + slower;
    return ratio;
}

/* --- measured --- */

const struct hr_gate_pairs *hr_gate_pairs_find(const struct hr_gate_speeds *speeds,
                                               const char *label)
{
    for (size_t l = 0; l < speeds->nlabels; l++)
        if (!strcmp(speeds->label[l].label, label))
            return &speeds->label[l];
    return NULL;
}

static void add_pair(struct hr_gate_pairs *pairs, const json_t *older, const json_t *newer)
{
    static const char *const fields[HR_GATE_CLOCKS] = {"wall_seconds", "cpu_seconds"};
    pairs->missing += !older || !newer;
    for (size_t c = 0; c < HR_GATE_CLOCKS; c++) {
        const double ratio =
            hr_json_number_at(newer, fields[c]) / hr_json_number_at(older, fields[c]);
        if (ratio > 0 && isfinite(ratio))
            pairs->log_ratio[c][pairs->n[c]++] = log(ratio);
    }
}

static enum hr_status one_pair(struct hr_gate_speeds *speeds, const struct hr_gate_words *words,
                               const struct hr_gate_child *older, const struct hr_gate_child *newer,
                               size_t k, const char *seed)
{
    const struct hr_gate_child *const child[] = {older, newer};
    struct hr_gate_document document[2] = {{0}, {0}};
    enum hr_status status = HR_OK;
    for (size_t i = 0; i < 2 && status == HR_OK; i++) {
        const size_t who = (i + k) % 2; /* who goes first takes turns */
        status =
            hr_gate_child_run(child[who], words, who ? "newer.json" : "older.json", &document[who]);
    }
    for (size_t l = 0; l < speeds->nlabels && status == HR_OK; l++)
        add_pair(&speeds->label[l], hr_gate_run_find(&document[0], speeds->label[l].label, seed),
                 hr_gate_run_find(&document[1], speeds->label[l].label, seed));
    hr_gate_document_free(&document[0]);
    hr_gate_document_free(&document[1]);
    return status;
}

static enum hr_status make_room(const struct hr_gate_document *baseline,
                                struct hr_gate_speeds *speeds)
{
    speeds->label = calloc(hr_gate_nlabels(baseline), sizeof *speeds->label);
    for (size_t i = 0; speeds->label && i < hr_gate_nruns(baseline); i++) {
        const char *label = hr_json_text_at(hr_gate_run_at(baseline, i), "label");
        if (hr_gate_pairs_find(speeds, label))
            continue;
        struct hr_gate_pairs *pairs = &speeds->label[speeds->nlabels++];
        *pairs = (struct hr_gate_pairs){.label = label};
        for (size_t c = 0; c < HR_GATE_CLOCKS; c++) {
            pairs->log_ratio[c] = calloc(speeds->pairs, sizeof *pairs->log_ratio[c]);
            if (!pairs->log_ratio[c])
                return hr_fail(HR_E_NOMEM, "no memory for %zu pairs", speeds->pairs);
        }
    }
    return speeds->label ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for speeds");
}

static enum hr_status measure(const struct hr_gate_document *baseline,
                              const struct hr_gate_child *older, const struct hr_gate_child *newer,
                              struct hr_gate_words *words, struct hr_gate_speeds *speeds)
{
    char seed[24];
    hr_gate_seed(hr_gate_run_at(baseline, 0), seed);
    HR_TRY(make_room(baseline, speeds));
    HR_TRY(hr_gate_words_of(baseline, words));
    HR_TRY(hr_gate_words_cut(words, seed, 0, 0));
    for (size_t k = 0; k < speeds->pairs; k++)
        HR_TRY(one_pair(speeds, words, older, newer, k, seed));
    return HR_OK;
}

enum hr_status hr_gate_speeds_measure(const struct hr_gate_document *baseline,
                                      const struct hr_gate_child *older,
                                      const struct hr_gate_child *newer, size_t pairs,
                                      struct hr_gate_speeds *out)
{
    struct hr_gate_words words = {0};
    *out = (struct hr_gate_speeds){.pairs = pairs};
    const enum hr_status status = measure(baseline, older, newer, &words, out);
    hr_gate_words_free(&words);
    if (status != HR_OK)
        hr_gate_speeds_free(out);
    return status;
}

void hr_gate_speeds_free(struct hr_gate_speeds *speeds)
{
    for (size_t l = 0; l < speeds->nlabels; l++)
        for (size_t c = 0; c < HR_GATE_CLOCKS; c++)
            free(speeds->label[l].log_ratio[c]);
    free(speeds->label);
    *speeds = (struct hr_gate_speeds){0};
}
