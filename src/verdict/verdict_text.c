/* A verdict in sentences: the order of its subjects. */
#include <stdio.h>
#include <string.h>

#include "report/best.h"
#include "verdict/sentences.h"

static size_t count_tested(const struct hr_verdict *v)
{
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        n += hr_verdict_tested(v, g);
    return n;
}

char *hr_verdict_note(const struct hr_run_result *runs, size_t n,
                      const struct hr_verdict_wish *wish)
{
    char *text = NULL;
    size_t bytes;
    struct hr_groups groups;
    struct hr_verdict_wish without = wish ? *wish : (struct hr_verdict_wish){0};
    without.fair = NULL;
    if (hr_groups_make(&groups, runs, n) != HR_OK)
        return NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        hr_alike_print(out, &groups, &without, 0);
        if (fclose(out) == 0 && text)
            text[strcspn(text, "\n")] = '\0';
    }
    hr_groups_free(&groups);
    return text;
}

/* Of several rows. */
static void compare(FILE *out, const struct hr_verdict *v, bool details, size_t width)
{
    const bool tested = count_tested(v) > 1;
    hr_alike_print(out, &v->groups, &v->wish, width);
    if (v->unlike && details)
        hr_say_twins(out, v);
    else if (!v->unlike && tested)
        hr_say_scores(out, v, details);
    else if (!v->unlike)
        hr_say_untested(out, v, width);
    hr_say_margin(out, v, details);
    if (details)
        hr_say_orders(out, v);
    hr_best_epochs_print(out, &v->groups, details);
    hr_say_speed(out, &v->groups, details);
    hr_say_lost(out, &v->groups);
    hr_say_rising(out, &v->groups);
    if (!v->unlike && (tested || v->groups.most == 1))
        hr_say_target(out, v, details);
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n,
                      struct hr_verdict_wish wish, bool details, size_t width)
{
    struct hr_verdict v;
    if (n == 0)
        return;
    if (hr_verdict_make(&v, runs, n, wish) != HR_OK) {
        fprintf(out, "(no verdict: %s)\n", hr_error_message());
        return;
    }
    if (v.groups.n > 1)
        compare(out, &v, details, width);
    else
        hr_say_alone(out, &v);
    if (v.groups.n == 1 && details && runs[0].event_order)
        hr_say_orders(out, &v);
    hr_verdict_free(&v);
}
