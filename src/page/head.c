/* The head of a page: what was asked, and what came out. */
#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/headline.h"
#include "page/html.h"
#include "report/human.h"

/* --- what it is about --- */

static const json_t *document(const struct hr_view *view, size_t s)
{
    return view->source[s].document;
}

static size_t bench_rows(const struct hr_view *view)
{
    size_t n = 0;
    for (size_t s = 0; s < view->nsources; s++)
        n += json_array_size(json_object_get(document(view, s), "rows"));
    return n;
}

static const char *data_of(const struct hr_view *view)
{
    const char *first = "";
    for (size_t s = 0; s < view->nsources; s++) {
        const char *own = hr_field_text(document(view, s), "data"); /* eval's */
        const char *name =
            own[0] ? own
                   : hr_field_text(
                         hr_field_object(hr_field_object(document(view, s), "config"), "data"),
                         "name");
        if (s == 0)
            first = name;
        else if (strcmp(first, name) != 0)
            return "";
    }
    return first;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static const char *strategy_of(const struct hr_group *group)
{
    return hr_field_text(group->run[0], "strategy");
}

/* "5 strategies", "2 strategies, 8 settings"; of several documents rows. */
static void write_rows(FILE *out, const struct hr_view *view)
{
    size_t strategies = 0;
    for (size_t g = 0; g < view->ngroups; g++) {
        size_t o = 0;
        while (o < g && strcmp(strategy_of(&view->group[o]), strategy_of(&view->group[g])) != 0)
            o++;
        strategies += o == g;
    }
    if (view->nsources > 1)
        fprintf(out, "%zu rows of %zu documents", view->ngroups, view->nsources);
    else if (strategies == view->ngroups)
        fprintf(out, "%zu strategies", strategies);
    else
        fprintf(out, "%zu strateg%s, %zu settings", strategies, strategies == 1 ? "y" : "ies",
                view->ngroups);
}

/* "5 strategies on digits, 15 runs" */
static void write_subject(FILE *out, const struct hr_view *view)
{
    const char *data = data_of(view);
    const json_t *first = document(view, 0);
    if (view->ngroups == 1)
        fprintf(out, "%s", view->group[0].label);
    else if (view->ngroups > 1)
        write_rows(out, view);
    else if (bench_rows(view) > 0)
        fprintf(out, "%s",
                hr_field_text(json_array_get(json_object_get(first, "rows"), 0), "op")[0]
                    ? hr_field_text(json_array_get(json_object_get(first, "rows"), 0), "op")
                    : "Measurements");
    else if (hr_experiments_there(view))
        fprintf(out, "%zu published findings, checked",
                json_object_size(json_object_get(first, "experiments")));
    else if (json_object_get(first, "classes"))
        fputs("Evaluation of a model", out);
    else
        fputs("No run ended well", out);
    if (data[0])
        fprintf(out, " on %s", data);
    if (view->nruns > view->ngroups)
        fprintf(out, ", %zu runs", view->nruns);
}

/* --- what came out --- */

/* "92.94 %", "0.4123" */
static char *metric_text(char text[HR_NUMBER_MAX], const struct hr_metric *metric, double x)
{
    if (metric->share)
        snprintf(text, HR_NUMBER_MAX, "%.2f %%", 100 * x);
    else
        hr_number_text(text, x, 4);
    return text;
}

/* "test accuracy" within a sentence; RMSE and R² stay as they are. */
static void write_metric(FILE *out, const struct hr_metric *metric)
{
    fprintf(out, "%c%s", metric->title[0] | ' ', metric->title + 1);
}

static void write_one(FILE *out, const struct hr_view *view)
{
    char value[HR_NUMBER_MAX], time[HR_NUMBER_MAX], rate[HR_NUMBER_MAX];
    const struct hr_group *group = &view->group[0];
    const struct hr_mean seconds = hr_group_mean(group, "seconds");
    const bool virtual = !strcmp(hr_field_text(group->run[0], "clock"), "virtual");
    if (hr_group_count(group, NULL, "interrupted"))
        fputs("Interrupted: ", out);
    fprintf(out, "%s ", group->label);
    if (hr_view_best(view) == 0) {
        const struct hr_metric *metric = &view->metric[view->primary];
        fputs("ended at a ", out);
        write_metric(out, metric);
        fprintf(out, " of %s%s", metric_text(value, metric, hr_group_metric(group, metric).mean),
                group->n > 1 ? " on average" : "");
    } else {
        fputs("ran", out);
    }
    if (seconds.n)
        fprintf(out, ", after %s of %s%s (%s samples/s)", hr_number_time(time, seconds.mean),
                virtual ? "virtual time" : "training", group->n > 1 ? " each" : "",
                hr_number_short(rate, hr_group_mean(group, "samples_per_s").mean));
    fputs(hr_group_count(group, "divergence", "rose") ? ". It diverged." : ".", out);
}

/* Of the first operation's largest size, where several algorithms were measured. */
static void write_quickest(FILE *out, const json_t *rows)
{
    const json_t *row, *best = NULL;
    const char *op = hr_field_text(json_array_get(rows, 0), "op");
    char size[HR_HUMAN_MAX], time[HR_NUMBER_MAX];
    double most = 0, least_us = INFINITY;
    size_t i, n = 0;
    json_array_foreach(rows, i, row)
    {
        if (!strcmp(hr_field_text(row, "op"), op))
            most = fmin(1e15, fmax(most, hr_field_number(row, "bytes")));
    }
    json_array_foreach(rows, i, row)
    {
        const double p50 = hr_field_number(json_object_get(row, "time_us"), "p50");
        if (strcmp(hr_field_text(row, "op"), op) != 0 || !(p50 > 0) ||
            hr_field_number(row, "bytes") != most)
            continue;
        n++;
        if (p50 < least_us) {
            least_us = p50;
            best = row;
        }
    }
    if (n > 1 && hr_field_text(best, "algorithm")[0])
        fprintf(out, " Of %s bytes, %s is the fastest: %s.", hr_human_count(size, (uint64_t)most),
                hr_field_text(best, "algorithm"), hr_number_time(time, least_us * 1e-6));
}

static void write_bench(FILE *out, const struct hr_view *view)
{
    size_t wrong = 0, i;
    const json_t *row;
    for (size_t s = 0; s < view->nsources; s++)
        json_array_foreach(json_object_get(document(view, s), "rows"), i, row)
        {
            wrong += hr_field_number(row, "wrong") > 0;
        }
    fprintf(out, "%zu measurement%s", bench_rows(view), plural(bench_rows(view)));
    if (wrong)
        fprintf(out, "; %zu of them with wrong results", wrong);
    fputs(".", out);
    write_quickest(out, hr_field_list(document(view, 0), "rows"));
}

static void write_evaluation(FILE *out, const struct hr_view *view)
{
    const json_t *first = document(view, 0);
    char text[HR_NUMBER_MAX];
    const double accuracy = hr_field_number(first, "test_accuracy");
    if (!isnan(accuracy))
        fprintf(out, "Test accuracy %.2f %%, ", 100 * accuracy);
    fprintf(out, "test loss %s.", hr_number_text(text, hr_field_number(first, "test_loss"), 4));
}

/* Of the first document's experiments. */
static void write_findings(FILE *out, const struct hr_view *view)
{
    static const char *const verdicts[] = {"reproduced", "not reproduced", "undecided"};
    size_t count[3] = {0}, n = 0, i;
    const char *key;
    const json_t *experiment, *claim;
    json_object_foreach(json_object_get(document(view, 0), "experiments"), key, experiment)
    {
        json_array_foreach(json_object_get(experiment, "claims"), i, claim)
        {
            n++;
            for (size_t v = 0; v < 3; v++)
                count[v] += !strcmp(hr_field_text(claim, "verdict"), verdicts[v]);
        }
    }
    fprintf(out, "%zu of %zu claims are reproduced, %zu are not, %zu are undecided.", count[0], n,
            count[1], count[2]);
}

static void write_verdict(FILE *out, const struct hr_view *view)
{
    if (view->ngroups == 1)
        write_one(out, view);
    else if (view->ngroups > 1)
        hr_headline_write(out, view);
    else if (bench_rows(view) > 0)
        write_bench(out, view);
    else if (hr_experiments_there(view))
        write_findings(out, view);
    else if (hr_classes_there(view))
        write_evaluation(out, view);
    else
        fputs("There is nothing to show but why.", out);
}

/* --- the head --- */

static char *told(void (*write)(FILE *, const struct hr_view *), const struct hr_view *view)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    write(out, view);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *hr_head_title(const struct hr_view *view)
{
    return told(write_subject, view);
}

/* "hogring compare", of its first two words. */
static void write_origin(FILE *out, const struct hr_view *view)
{
    const json_t *command = hr_field_list(document(view, 0), "command");
    const char *word = json_string_value(json_array_get(command, 1));
    const char *date = hr_field_text(document(view, 0), "date");
    fputs("<p class=\"origin\">hogring", out);
    if (view->nsources == 1 && word)
        hr_html_say(out, " %.20s", word);
    else if (view->nsources > 1)
        fprintf(out, " report · %zu documents", view->nsources);
    if (view->nsources == 1 && date[0])
        hr_html_say(out, " · %s", date);
    fputs("</p>\n", out);
}

/* What the comparison says in words. */
static void write_sentences(FILE *out, const struct hr_view *view)
{
    size_t n = 0;
    for (size_t s = 0; s < view->nsources; s++) {
        const json_t *line,
            *lines = hr_field_list(json_object_get(document(view, s), "comparison"), "sentences");
        size_t i;
        json_array_foreach(lines, i, line)
        {
            if (!json_is_string(line))
                continue;
            if (n++ == 0)
                fputs("<ul class=\"sentences\">\n", out);
            fputs("<li>", out);
            hr_html_text(out, json_string_value(line));
            fputs("</li>\n", out);
        }
    }
    if (n)
        fputs("</ul>\n", out);
}

void hr_head_write(FILE *out, const struct hr_view *view)
{
    char *subject = told(write_subject, view), *verdict = told(write_verdict, view);
    fputs("<header>\n", out);
    write_origin(out, view);
    fputs("<h1>", out);
    hr_html_text(out, subject ? subject : "");
    fputs("</h1>\n<p class=\"verdict\">", out);
    hr_html_text(out, verdict ? verdict : "");
    fputs("</p>\n", out);
    write_sentences(out, view);
    fputs("</header>\n", out);
    free(subject);
    free(verdict);
}
