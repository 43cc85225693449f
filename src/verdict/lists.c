/* Lists of pairs and of names, which all sentences share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verdict/sentences.h"

enum { LABEL_MOST = 34 };

/* Names that are longer than most do not move the others. */
static int label_width(const struct hr_verdict *v, const struct hr_pair_list *list)
{
    size_t width = 0;
    for (size_t g = 0; g < v->groups.n; g++) {
        const size_t length = strlen(v->groups.group[g].label);
        if (list->choose(v, g, list->than) && length <= LABEL_MOST && length > width)
            width = length;
    }
    return (int)width;
}

/* What is 0 when it is shown is not -0. */
static double without_sign(double x)
{
    return fabs(x) < 1e-12 ? 0 : x;
}

/* "-10.00 (-10.52 to -9.48)": of scores; "1.84 times (1.62 to 2.09)": of costs. */
static void print_difference(FILE *out, const struct hr_verdict *v, const struct hr_pair *pair,
                             bool ratio)
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    const struct hr_paired *t = &pair->test;
    const char *form = ratio             ? "%.3g times (%.3g to %.3g)"
                       : kind->scale > 1 ? "%+.2f (%+.2f to %+.2f)"
                                         : "%+.3g (%+.3g to %+.3g)";
    const double x[] = {t->difference, t->interval.low, t->interval.high};
    double shown[3];
    for (size_t i = 0; i < 3; i++)
        shown[i] = ratio ? exp(x[i]) : without_sign(kind->scale * x[i]);
    if (isfinite(t->sd))
        fprintf(out, form, shown[0], shown[1], shown[2]);
    else if (ratio)
        fprintf(out, "%.3g times, of what was waited for", shown[0]);
    else
        fprintf(out, kind->scale > 1 ? "%+.2f, without any spread" : "%+.3g, without any spread",
                shown[0]);
}

static void print_pair(FILE *out, const struct hr_verdict *v, const struct hr_pair_list *list,
                       size_t g, int width)
{
    const struct hr_pair *pair = hr_family_pair(list->family, g, list->than);
    fprintf(out, "    %-*s  ", width, v->groups.group[g].label);
    if (pair->state != HR_PAIR_TESTED) {
        fputs(pair->state == HR_PAIR_IDENTICAL ? "the same weights\n" : "no seeds in common\n",
              out);
        return;
    }
    print_difference(out, v, pair, list->family != &v->score_tests);
    fprintf(out, ", p %s%.2g\n", pair->p < 1e-4 ? "< " : "", fmax(pair->p, 1e-4));
}

size_t hr_say_pairs(FILE *out, const struct hr_verdict *v, const struct hr_pair_list *list)
{
    const int width = label_width(v, list);
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++) {
        if (g == list->than || !list->choose(v, g, list->than))
            continue;
        if (n++ == 0)
            fprintf(out, "  %s\n", list->head);
        print_pair(out, v, list, g, width);
    }
    return n;
}

void hr_say_names(FILE *out, const struct hr_verdict *v, const char *head, hr_choose_fn choose,
                  size_t than)
{
    const char *before = head;
    for (size_t g = 0; g < v->groups.n; g++)
        if (choose(v, g, than)) {
            fprintf(out, "%s%s", before == head ? "  " : "", before);
            fputs(v->groups.group[g].label, out);
            before = ", ";
        }
    if (before != head)
        fputs(".\n", out);
}

size_t hr_names_of(const struct hr_verdict *v, hr_choose_fn choose, size_t than,
                   char text[HR_NAMES_MAX])
{
    size_t n = 0, left = 0, used = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        left += choose(v, g, than);
    text[0] = '\0';
    for (size_t g = 0; g < v->groups.n && used < HR_NAMES_MAX; g++)
        if (choose(v, g, than)) {
            const char *between = n == 0 ? "" : left == 1 ? " and " : ", ";
            used += (size_t)snprintf(text + used, HR_NAMES_MAX - used, "%s%s", between,
                                     v->groups.group[g].label);
            n++;
            left--;
        }
    return n;
}
