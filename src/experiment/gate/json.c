/* What a gate has found, as JSON. */
#include "json/value.h"

#include "gate/findings.h"

static const char *const verdicts[] = {"passed", "failed", "not judged"};
static const char *const rules[] = {"digests", "band", "nothing"};

static json_t *metrics(const struct hr_gate_strategy *strategy)
{
    json_t *array = json_array();
    for (size_t m = 0; strategy->rule == HR_GATE_BY_BAND && m < strategy->nmetrics; m++) {
        const struct hr_gate_band *band = &strategy->metric[m].band;
        json_array_append_new(
            array, json_pack("{ss so so so so so so so so}", "metric", strategy->metric[m].name,
                             "mean", hr_json_number(band->mean), "sd", hr_json_number(band->sd),
                             "low", hr_json_number(band->interval.low), "high",
                             hr_json_number(band->interval.high), "now", hr_json_number(band->now),
                             "seen_with_80_percent", hr_json_number(hr_gate_band_told(band)), "p",
                             hr_json_number(band->p), "outside", json_boolean(band->outside)));
    }
    return array;
}

static json_t *ratio_object(const struct hr_gate_ratio *ratio)
{
    return json_pack("{so so so so}", "mean", hr_json_number(ratio->mean), "low",
                     hr_json_number(ratio->interval.low), "high",
                     hr_json_number(ratio->interval.high), "slower", json_boolean(ratio->slower));
}

static json_t *speed(const struct hr_gate_findings *findings, size_t i)
{
    const struct hr_gate_more *more = &findings->more[i];
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    return json_pack("{so so so so}", "samples_per_s_then", hr_json_number(strategy->speed[0]),
                     "samples_per_s_now", hr_json_number(strategy->speed[1]), "seconds",
                     findings->timed ? ratio_object(&more->ratio[HR_GATE_WALL]) : json_null(),
                     "cpu_seconds",
                     findings->timed ? ratio_object(&more->ratio[HR_GATE_CPU]) : json_null());
}

static json_t *strategy_object(const struct hr_gate_findings *findings, size_t i)
{
    const struct hr_gate_strategy *strategy = &findings->judgement->strategy[i];
    char text[2 * HR_GATE_TEXT];
    hr_gate_reason(findings, i, text, sizeof text);
    return json_pack("{so ss ss so so so so so so so}", "label", hr_json_text(strategy->label),
                     "rule", rules[strategy->rule], "verdict",
                     verdicts[hr_gate_verdict_of(findings, i)], "why", hr_json_text(strategy->why),
                     "reason", hr_json_text_or_null(text), "seeds", hr_json_count(strategy->seeds),
                     "digests_differ", hr_json_count(strategy->differ), "where",
                     hr_json_text_or_null(findings->more[i].where), "bands", metrics(strategy),
                     "speed", speed(findings, i));
}

json_t *hr_gate_json(const struct hr_gate_findings *findings)
{
    const struct hr_gate_judgement *judgement = findings->judgement;
    char text[2 * HR_GATE_TEXT];
    json_t *array = json_array();
    for (size_t i = 0; i < judgement->n; i++)
        json_array_append_new(array, strategy_object(findings, i));
    return json_pack(
        "{s{so ss so so so so so so so}}", "gate", "baseline",
        hr_json_text(findings->baseline->name), "verdict",
        verdicts[hr_gate_verdict_of_all(findings)], "summary",
        hr_json_text(hr_gate_summary(findings, text, sizeof text)), "bits",
        judgement->bits ? hr_json_text(judgement->bits[0] ? judgement->bits : "not known")
                        : json_null(),
        "false_alarms", hr_json_number(HR_GATE_FALSE_ALARMS), "intervals",
        hr_json_count(judgement->intervals), "level", hr_json_number(judgement->level), "slower",
        findings->timed ? hr_json_number(findings->slower) : json_null(), "strategies", array);
}
