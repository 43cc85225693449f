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

void hr_verdict_print_above(FILE *out, const struct hr_run_result *runs, size_t n,
                            struct hr_verdict_wish wish, size_t width)
{
    struct hr_groups groups;
    if (hr_groups_make(&groups, runs, n) != HR_OK)
        return; /* as the table below says */
    hr_alike_print(out, &groups, &wish, width);
    hr_groups_free(&groups);
}

char *hr_verdict_note(const struct hr_run_result *runs, size_t n,
                      const struct hr_verdict_wish *wish)
{
    char *text = NULL;
    size_t bytes;
    struct hr_verdict_wish without = wish ? *wish : (struct hr_verdict_wish){0};
    without.fair = NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    hr_verdict_print_above(out, runs, n, without, 0);
    if (fclose(out) == 0 && text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n,
                      struct hr_verdict_wish wish)
{
    struct hr_verdict v;
    if (hr_verdict_make(&v, runs, n, wish) != HR_OK) {
        fprintf(out, "(no verdict: %s)\n", hr_error_message());
        return;
    }
    if (count_tested(&v) > 1) {
        fputc('\n', out);
        if (v.unlike)
            hr_say_unlike(out, &v);
        else
            hr_say_scores(out, &v);
        hr_say_margin(out, &v);
        hr_say_orders(out, &v);
        hr_best_epochs_print(out, &v.groups);
        hr_say_speed(out, &v.groups);
        hr_say_lost(out, &v.groups);
        hr_say_rising(out, &v.groups);
        if (!v.unlike)
            hr_say_target(out, &v);
    } else if (n && runs[0].event_order) {
        fputc('\n', out);
        hr_say_orders(out, &v);
    }
    hr_verdict_free(&v);
}
