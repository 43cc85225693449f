/* Margins in words: who is no worse than the best by more than the margin, and who is equal. */
#include <stdio.h>

#include "terminal/style.h"
#include "verdict/sentences.h"

static bool may_trail(const struct hr_verdict *v, size_t g, size_t than)
{
    return g != than && hr_verdict_tested(v, g) && hr_verdict_not_worse(v, g, than) &&
           !hr_verdict_not_worse(v, than, g);
}

static bool equals(const struct hr_verdict *v, size_t g, size_t than)
{
    return g != than && hr_verdict_tested(v, g) && hr_verdict_not_worse(v, g, than) &&
           hr_verdict_not_worse(v, than, g);
}

static bool equals_later(const struct hr_verdict *v, size_t g, size_t than)
{
    return g > than && g != v->best && hr_verdict_tested(v, than) && equals(v, g, than);
}

static bool may_be_worse(const struct hr_verdict *v, size_t g, size_t than)
{
    return g != than && hr_verdict_tested(v, g) && !hr_verdict_not_worse(v, g, than) &&
           !hr_verdict_worse_than(v, g, than);
}

static bool is_worse(const struct hr_verdict *v, size_t g, size_t than)
{
    return g != than && !hr_verdict_not_worse(v, g, than) && hr_verdict_worse_than(v, g, than);
}

void hr_say_margin(FILE *out, const struct hr_verdict *v, bool details)
{
    char head[400], at[HR_VERDICT_AT];
    const char *best = v->best < v->groups.n ? v->groups.group[v->best].label : "";
    if (!(v->wish.margin > 0) || v->score_tests.tests == 0)
        return;
    fprintf(out,
            "%sMargin:%s %g%s, shown at %g %% (one-sided tests, corrected over all pairs)%s.\n",
            hr_style(out, HR_BOLD), hr_style(out, HR_PLAIN), v->wish.margin,
            hr_metric_kind(v->metric)->scale > 1 ? " points" : "", 100 * HR_VERDICT_LEVEL,
            hr_verdict_at(v, at));
    snprintf(head, sizeof head, "Equal to %s within it: ", best);
    hr_say_names(out, v, head, equals, v->best);
    snprintf(head, sizeof head, "No worse than %s by it: ", best);
    hr_say_names(out, v, head, may_trail, v->best);
    snprintf(head, sizeof head, "Worse than %s, perhaps by more than it: ", best);
    hr_say_names(out, v, head, is_worse, v->best);
    snprintf(head, sizeof head, "Neither shown to be worse than %s nor to be within it: ", best);
    hr_say_names(out, v, head, may_be_worse, v->best);
    for (size_t than = 0; details && than < v->groups.n; than++) {
        snprintf(head, sizeof head, "Equal to %s within it: ", v->groups.group[than].label);
        if (than != v->best)
            hr_say_names(out, v, head, equals_later, than);
    }
}
