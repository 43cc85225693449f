#include "session/best.h"

#include <math.h>

static double value_of(const struct hr_early_stop *rule, const struct hr_curve_point *point)
{
    return rule->by_accuracy ? hr_curve_accuracy(point) : hr_curve_loss(point);
}

bool hr_best_is_beaten(const struct hr_early_stop *rule, const struct hr_best *best,
                       const struct hr_curve_point *point)
{
    const double value = value_of(rule, point);
    if (!isfinite(value))
        return false;
    const double gain = rule->by_accuracy ? value - best->value : best->value - value;
    return !best->any || gain > rule->min_delta;
}

struct hr_best hr_best_of(const struct hr_early_stop *rule, const struct hr_curve_point *curve,
                          size_t n)
{
    struct hr_best best = {.any = false};
    for (size_t i = 0; i < n; i++)
        if (hr_best_is_beaten(rule, &best, &curve[i]))
            best = (struct hr_best){.any = true, .point = i, .value = value_of(rule, &curve[i])};
        else
            best.since++;
    return best;
}
