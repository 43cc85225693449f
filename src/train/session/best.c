#include "session/best.h"

#include <math.h>

static bool ends_epoch(const struct hr_curve_point *point)
{
    return floor(point->epoch) == point->epoch;
}

bool hr_best_is_beaten(const struct hr_early_stop *rule, const struct hr_best *best,
                       const struct hr_curve_point *point)
{
    const double value = hr_metric_at(rule->metric, point);
    if (!isfinite(value) || !ends_epoch(point))
        return false;
    return !best->any || hr_metric_better(rule->metric, value, best->value, rule->min_delta);
}

struct hr_best hr_best_of(const struct hr_early_stop *rule, const struct hr_curve_point *curve,
                          size_t n)
{
    struct hr_best best = {.any = false};
    for (size_t i = 0; i < n; i++)
        if (hr_best_is_beaten(rule, &best, &curve[i]))
            best = (struct hr_best){
                .any = true, .point = i, .value = hr_metric_at(rule->metric, &curve[i])};
        else if (ends_epoch(&curve[i]))
            best.since++;
    return best;
}
