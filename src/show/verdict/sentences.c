/* A verdict in words. What is said briefly ends a comparison; details are the pairs, the tests and
 * their power behind it. A sentence is a line: terminals break it at blanks (terminal/output.h),
 * JSON has it whole. */
#include "verdict/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/size.h"
#include "report/human.h"
#include "report/report.h"
#include "terminal/grid.h"

static void say_head(FILE *out, const char *title)
{
    fprintf(out, "%s%s:%s ", hr_style(out, HR_BOLD), title, hr_style(out, HR_PLAIN));
}

/* --- lists of names --- */

typedef bool (*choose_fn)(const struct hr_verdict *v, size_t g, size_t than);

enum { NAMES_MAX = 600 };

/* Who is chosen, behind a head: a sentence, or nothing. */
__attribute__((format(printf, 5, 6))) static void say_names(FILE *out, const struct hr_verdict *v,
                                                            choose_fn choose, size_t than,
                                                            const char *head, ...)
{
    size_t n = 0;
    va_list values;
    va_start(values, head);
    for (size_t g = 0; g < v->groups.n; g++)
        if (choose(v, g, than)) {
            fprintf(out, "%s%s", n ? "" : hr_yields(out, HR_NOTICE), n ? ", " : "  ");
            if (n++ == 0)
                vfprintf(out, head, values);
            fputs(v->groups.group[g].name, out);
        }
    va_end(values);
    fputs(n ? ".\n" : "", out);
}

static size_t names_of(const struct hr_verdict *v, choose_fn choose, size_t than,
                       char text[NAMES_MAX])
{
    size_t n = 0, left = 0, used = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        left += choose(v, g, than);
    text[0] = '\0';
    for (size_t g = 0; g < v->groups.n && used < NAMES_MAX; g++)
        if (choose(v, g, than)) {
            const char *between = n == 0 ? "" : left == 1 ? " and " : ", ";
            used += (size_t)snprintf(text + used, NAMES_MAX - used, "%s%s", between,
                                     v->groups.group[g].name);
            n++;
            left--;
        }
    return n;
}

/* Pairs of which the first is significantly higher than the second. */
static size_t count_significant(const struct hr_family *family)
{
    size_t n = 0;
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = 0; b < family->groups; b++)
            n += hr_family_higher(family, a, b);
    return n;
}

/* --- scores: who is significantly worse, and what could have been detected --- */

static bool level_with(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_verdict_tested(v, g) && g != than && v->twin[g] != v->twin[than] &&
           !hr_verdict_worse_than(v, g, than);
}

static bool untested(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return !hr_verdict_tested(v, g);
}

/* "3 seeds", "2 to 3 seeds" */
static const char *seeds_text(const struct hr_verdict *v, char text[HR_HUMAN_MAX])
{
    const char *unit = v->groups.group[0].run[0]->folds ? "folds" : "seeds";
    if (v->least_seeds == v->most_seeds)
        snprintf(text, HR_HUMAN_MAX, "%zu %s", v->most_seeds, unit);
    else
        snprintf(text, HR_HUMAN_MAX, "%zu to %zu %s", v->least_seeds, v->most_seeds, unit);
    return text;
}

/* Who has the best score, or the least; groups: nobody has any. */
static size_t extreme(const struct hr_verdict *v, bool best, bool tested)
{
    size_t found = v->groups.n;
    for (size_t g = 0; g < v->groups.n; g++)
        if (isfinite(v->score[g].mean) && (!tested || hr_verdict_tested(v, g)) &&
            (found == v->groups.n ||
             (best ? hr_verdict_below(v, found, g) : hr_verdict_below(v, g, found))))
            found = g;
    return found;
}

/* "96.51 %", or four digits of a figure that is no share. */
static const char *score_text(const struct hr_verdict *v, size_t g, char text[HR_HUMAN_MAX])
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    snprintf(text, HR_HUMAN_MAX, kind->scale > 1 ? "%.2f%s" : "%.4g%s",
             kind->scale * v->score[g].mean, kind->unit);
    return text;
}

/* What was compared, of several targets by the mean over them. */
static const char *score_title(const struct hr_verdict *v)
{
    return v->metric == HR_METRIC_LOSS ? "Test loss" : hr_metric_kind(v->metric)->title;
}

/* "1.94 points", "0.0123": a difference that people read. */
static const char *size_text(const struct hr_verdict *v, double difference, char text[HR_HUMAN_MAX])
{
    const double scale = hr_metric_kind(v->metric)->scale;
    snprintf(text, HR_HUMAN_MAX, "%.2g", scale * difference);
    if (scale > 1)
        strcat(text, strcmp(text, "1") ? " points" : " point");
    return text;
}

static bool as_good(const struct hr_verdict *v, size_t g, size_t as)
{
    return isfinite(v->score[g].mean) && !hr_verdict_below(v, g, as) && !hr_verdict_below(v, as, g);
}

/* ", the best 96.51 % (a), the worst 95.10 % (b)" */
static void say_range(FILE *out, const struct hr_verdict *v, const char *best_names)
{
    char best[HR_HUMAN_MAX], least[HR_HUMAN_MAX], worsts[NAMES_MAX];
    const size_t last = extreme(v, false, true);
    score_text(v, v->best, best);
    names_of(v, as_good, last, worsts);
    if (!hr_verdict_below(v, last, v->best))
        fprintf(out, ": their means are equal, %s", best);
    else
        fprintf(out, ": best mean %s (%s), worst %s (%s)", best, best_names,
                score_text(v, last, least), worsts);
}

/* "; significantly worse: a (-1.20 points), b (-2.50 points)" */
static void say_chosen(FILE *out, const struct hr_verdict *v, const char *head, choose_fn choose)
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    const char *before = head;
    for (size_t g = 0; g < v->groups.n; g++)
        if (choose(v, g, v->best)) {
            fprintf(out, kind->scale > 1 ? "%s%s (%+.2f)" : "%s%s (%+.3g)", before,
                    v->groups.group[g].name,
                    kind->scale * hr_family_pair(&v->score_tests, g, v->best)->test.difference);
            before = ", ";
        }
}

/* Briefly what could have been found; with details by which measure. */
static void say_power(FILE *out, const struct hr_verdict *v, bool details)
{
    char size[HR_HUMAN_MAX];
    const size_t tests = v->score_tests.tests;
    const double ten_points = 0.1;
    struct hr_family_power power = hr_family_power(&v->score_tests, hr_verdict_margin(v));
    const bool none = v->metric == HR_METRIC_ACCURACY && power.difference > 1;
    if (power.pairs == 0)
        return;
    if (none && power.aim > 1) /* half of what cannot be */
        power = hr_family_power(&v->score_tests, ten_points);
    fprintf(out, details ? "  Power: %zu seeds " : ". %zu seeds ", power.pairs);
    if (none)
        fputs("are too few to detect any difference", out);
    else
        fprintf(out, "can detect differences of %s", size_text(v, power.difference, size));
    if (details)
        fprintf(out, " at %g %%%s with 80 %% power (they vary by %s)", 100 * HR_VERDICT_LEVEL,
                tests > 1 ? " over all pairs" : "", size_text(v, power.spread, size));
    fprintf(out, ", %s%zu seeds would detect %s", power.more < 10000 ? "" : "more than ",
            power.more, size_text(v, power.aim, size));
    fputs(details ? ".\n" : "", out);
}

static void say_best(FILE *out, const struct hr_verdict *v, bool details)
{
    char best[HR_HUMAN_MAX], seeds[HR_HUMAN_MAX], names[NAMES_MAX];
    const bool points = hr_metric_kind(v->metric)->scale > 1;
    const size_t bests = names_of(v, hr_verdict_shares_best, v->best, names);
    seeds_text(v, seeds);
    say_head(out, score_title(v));
    if (!count_significant(&v->score_tests)) {
        fprintf(out, "no significant difference over %s%s", seeds, v->at);
        say_range(out, v, names);
        if (!details)
            say_power(out, v, false);
    } else {
        fprintf(out, "%s %s the best mean, %s over %s%s", names, bests > 1 ? "share" : "has",
                score_text(v, v->best, best), seeds, v->at);
        say_chosen(out, v, points ? "; significantly worse in points: " : "; significantly worse: ",
                   hr_verdict_worse_than);
        say_chosen(out, v, "; not significantly different: ", level_with);
    }
    fputs(".\n", out);
}

static void say_scores(FILE *out, const struct hr_verdict *v, bool details)
{
    say_best(out, v, details);
    if (details && v->request.sure && v->request.sure[0])
        fprintf(out, "  %s\n", v->request.sure);
    say_names(out, v, untested, v->best, "Not tested (a single seed, or interrupted): ");
    if (details)
        say_power(out, v, true);
}

/* --- where nothing can be tested */

static void say_untested(FILE *out, const struct hr_verdict *v, size_t width)
{
    char first[HR_HUMAN_MAX], last[HR_HUMAN_MAX], bests[NAMES_MAX], worsts[NAMES_MAX];
    const size_t best = extreme(v, true, false), least = extreme(v, false, false);
    if (best == v->groups.n)
        return;
    score_text(v, best, first);
    names_of(v, as_good, best, bests);
    names_of(v, as_good, least, worsts);
    say_head(out, score_title(v));
    fprintf(out, "one seed cannot tell a difference from chance%s: ", v->at);
    if (hr_verdict_below(v, least, best))
        fprintf(out, "best %s (%s), worst %s (%s).", first, bests, score_text(v, least, last),
                worsts);
    else
        fprintf(out, "all reached %s.", first);
    hr_say_command(out, "To test it", &v->request.more, width);
    fputc('\n', out);
}

/* A single row: how far its own score can be relied on. */
static void say_alone(FILE *out, const struct hr_verdict *v)
{
    char score[HR_HUMAN_MAX], rate[HR_HUMAN_MAX];
    const struct hr_run_group *group = &v->groups.group[0];
    const struct hr_run_result *run = group->run[0];
    const double scale = hr_metric_kind(v->metric)->scale;
    struct hr_interval interval = {NAN, NAN};
    if (!isfinite(v->score[0].mean))
        return;
    if (group->n > 1)
        interval = hr_mean_interval(&v->score[0], 0.95);
    else if (v->metric == HR_METRIC_ACCURACY && run->test_samples)
        interval = hr_wilson_interval(run->test_accuracy, (double)run->test_samples);
    say_head(out, score_title(v));
    fputs(score_text(v, 0, score), out);
    if (group->n > 1)
        fprintf(out, " on average over %zu %s", group->n, hr_run_group_unit(group));
    else if (isfinite(interval.low))
        fprintf(out, " of %zu test samples", run->test_samples);
    if (isfinite(interval.low))
        fprintf(out,
                scale > 1 ? ", 95 %% interval %.1f to %.1f %%" : ", 95 %% interval %.4g to %.4g",
                scale * interval.low, scale * interval.high);
    if (run->tokens)
        fprintf(out, " nats per token, perplexity %.4g",
                hr_run_group_spread(group, hr_measure_perplexity).mean);
    fprintf(out, "; %s.\n",
            hr_human_rate(rate, hr_run_group_spread(group, hr_measure_rate).mean, run->tokens));
    if (group->n == 1)
        fprintf(out,
                "%sOne run proves little: run hogring compare --seeds 5 with the same options.\n",
                hr_yields(out, HR_REPEATED));
}

/* --- margins: who is no worse than the best by one, and who is equal --- */

/* How a strategy stands to the best one. */
enum { EQUAL, TRAILS, WORSE, UNDECIDED };

static bool stands(const struct hr_verdict *v, size_t g, size_t how)
{
    if (g == v->best || !hr_verdict_tested(v, g))
        return false;
    const bool trails = hr_verdict_not_worse(v, g, v->best);
    return how == (trails && hr_verdict_not_worse(v, v->best, g) ? EQUAL
                   : trails                                      ? TRAILS
                   : hr_verdict_worse(v, g)                      ? WORSE
                                                                 : UNDECIDED);
}

static void say_margin(FILE *out, const struct hr_verdict *v)
{
    const char *best = v->best < v->groups.n ? v->groups.group[v->best].name : "";
    const bool one = fabs(v->request.margin - 1) < 1e-12;
    const char *points = !(hr_metric_kind(v->metric)->scale > 1) ? "" : one ? " point" : " points";
    if (!(v->request.margin > 0) || v->score_tests.tests == 0)
        return;
    fputs(hr_yields(out, HR_NOTICE), out);
    say_head(out, "Margin");
    fprintf(out, "%g%s, tested at %g %% (one-sided, corrected over all pairs)%s.\n",
            v->request.margin, points, 100 * HR_VERDICT_LEVEL, v->at);
    say_names(out, v, stands, EQUAL, "Equal to %s within the margin: ", best);
    say_names(out, v, stands, TRAILS, "Not worse than %s by more than the margin: ", best);
    say_names(out, v, stands, WORSE, "Worse than %s, perhaps by more than the margin: ", best);
    say_names(out, v, stands, UNDECIDED,
              "Not decided, neither worse than %s nor within the margin: ", best);
}

/* --- seeds and orders of events --- */

static bool ran_once(const struct hr_verdict *v, size_t g, size_t than)
{
    const struct hr_run_group *group = &v->groups.group[g];
    (void)than;
    return group->run[0]->event_order && group->n == hr_run_group_seeds(group);
}

static void say_split(FILE *out, const struct hr_verdict *v, const struct hr_components *c)
{
    const double scale = hr_metric_kind(v->metric)->scale;
    fprintf(out, "deviation %.2g%s between seeds, %.2g%s between orders of a seed",
            scale * c->between, scale > 1 ? " points" : "", scale * c->within,
            scale > 1 ? " points" : "");
    if (isfinite(c->share))
        fprintf(out, "; %.0f %% of the variance is of orders", 100 * (1 - c->share));
    fprintf(out, " (%zu runs; that seeds do not matter: p %s%.2g).\n", c->n,
            c->p < 1e-4 ? "< " : "", fmax(c->p, 1e-4));
}

static void say_group(FILE *out, const struct hr_verdict *v, size_t g)
{
    struct hr_orders orders;
    const struct hr_run_group *group = &v->groups.group[g];
    if (!hr_run_group_orders(group, v->metric, &orders))
        return;
    fprintf(out, "  %s: ", group->name);
    if (orders.same)
        fputs("all orders of a seed end with the same weights.\n", out);
    else if (isfinite(orders.score.within))
        say_split(out, v, &orders.score);
    else
        fputs("too few runs to split their spread.\n", out);
}

static void say_orders(FILE *out, const struct hr_verdict *v)
{
    bool some = false;
    for (size_t g = 0; g < v->groups.n; g++)
        some |= v->groups.group[g].n > hr_run_group_seeds(&v->groups.group[g]);
    if (!some)
        return;
    say_head(out, "Orders of events");
    fputs("what seeds and orders add to the spread.\n", out);
    for (size_t g = 0; g < v->groups.n; g++)
        say_group(out, v, g);
    say_names(out, v, ran_once, 0, "Run once per seed, as no order changes their bits: ");
}

/* --- what a target took: seconds and samples, each tested over all pairs --- */

static size_t reached(const struct hr_run_group *group)
{
    return hr_run_group_target(group).n;
}

/* Mean over the runs, all of which reached it; NaN: not all did. */
static double mean_cost(const struct hr_run_group *group, enum hr_cost cost)
{
    double sum = 0;
    for (size_t i = 0; i < group->n; i++) {
        const double one = hr_run_target_cost(group->run[i], cost);
        sum += one < 0 ? (double)NAN : one;
    }
    return sum / (double)group->n;
}

/* The least mean of those that reached it with every run; groups: none did. */
static size_t first_of(const struct hr_groups *groups, enum hr_cost cost)
{
    size_t first = groups->n;
    for (size_t g = 0; g < groups->n; g++) {
        const double mean = mean_cost(&groups->group[g], cost);
        if (isfinite(mean) && (first == groups->n || mean < mean_cost(&groups->group[first], cost)))
            first = g;
    }
    return first;
}

/* Means of virtual time may be exactly equal. */
static bool as_soon(const struct hr_verdict *v, size_t g, size_t than)
{
    const double mean = mean_cost(&v->groups.group[g], HR_COST_SECONDS);
    const double least = mean_cost(&v->groups.group[than], HR_COST_SECONDS);
    return fabs(mean - least) <= 1e-12 * least;
}

static bool later(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_family_higher(&v->cost_tests[HR_COST_SECONDS], g, than);
}

static bool not_always(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return reached(&v->groups.group[g]) < v->groups.group[g].n;
}

static void say_target(FILE *out, const struct hr_verdict *v)
{
    char text[HR_HUMAN_MAX], names[NAMES_MAX] = "";
    const struct hr_groups *groups = &v->groups;
    const size_t first = first_of(groups, HR_COST_SECONDS);
    if (!(v->request.target.value > 0) || v->unlike_target)
        return;
    const size_t firsts = first < groups->n ? names_of(v, as_soon, first, names) : 0;
    const struct hr_metric_text asked =
        hr_target_text(v->request.target.metric, v->request.target.value);
    say_head(out, "Target");
    if (first == groups->n)
        fprintf(out, "no strategy reached %s with every seed%s.\n", asked.text, v->at);
    else
        fprintf(out, "%s reached %s first, %safter %s s on average%s.\n", names, asked.text,
                firsts > 1 ? "together, " : "",
                hr_human_seconds(text, mean_cost(&groups->group[first], HR_COST_SECONDS)), v->at);
    if (first < groups->n)
        say_names(out, v, later, first, "Significantly later: ");
    say_names(out, v, not_always, first, "Not reached by every run: ");
}

/* --- every pair, a row of a table: of the score, and of what a target took --- */

/* What is 0 when it is shown is not -0. */
static double without_sign(double x)
{
    return fabs(x) < 1e-12 ? 0 : x;
}

/* "-10.00 (-10.52 to -9.48)": of scores; "1.84 (1.62 to 2.09)": of costs, a ratio. */
static void print_difference(FILE *out, const struct hr_verdict *v, const struct hr_pair *pair,
                             bool ratio)
{
    const struct hr_metric_kind *kind = hr_metric_kind(v->metric);
    const struct hr_paired *t = &pair->test;
    const double x[] = {t->difference, t->interval.low, t->interval.high};
    const char *form = ratio ? "%s%.3g" : kind->scale > 1 ? "%s%+.2f" : "%s%+.3g";
    static const char *const before[] = {"", " (", " to "};
    const size_t n = isfinite(t->sd) ? 3 : 1; /* all differ alike, or are known from one side */
    for (size_t i = 0; i < n; i++)
        fprintf(out, form, before[i], ratio ? exp(x[i]) : without_sign(kind->scale * x[i]));
    fputs(n == 3 ? ")" : "", out);
}

/* a against b; what was tested of their twins is not shown once more. */
static void write_pair(FILE *cells, const struct hr_verdict *v, const struct hr_family *family,
                       size_t a, size_t b)
{
    const bool seconds = family == &v->cost_tests[HR_COST_SECONDS];
    const bool scores = family == &v->score_tests;
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    const char *word = hr_verdict_word(v, family, a, b);
    const bool repeated = pair->state == HR_PAIR_IDENTICAL ? v->twin[b] != a
                          : seconds                        ? false
                                                           : v->twin[a] != a || v->twin[b] != b;
    if (repeated || !hr_verdict_tested(v, a) || !hr_verdict_tested(v, b) ||
        (pair->state == HR_PAIR_TESTED && !isfinite(pair->test.difference)))
        return;
    fprintf(cells, "  %s\t%s\t%s\t",
            seconds                                ? "seconds"
            : !scores                              ? "samples"
            : hr_metric_kind(v->metric)->scale > 1 ? "points"
                                                   : hr_metric_kind(v->metric)->name,
            v->groups.group[a].name, v->groups.group[b].name);
    if (pair->state == HR_PAIR_TESTED) {
        print_difference(cells, v, pair, !scores);
        fprintf(cells, "\t%s%.2g", pair->p < 1e-4 ? "< " : "", fmax(pair->p, 1e-4));
    } else {
        fputc('\t', cells);
    }
    fprintf(cells, "\t%s\n", !strcmp(word, "not told") ? "-" : word);
}

/* Tests in which some times are not known cannot claim anything of a few seeds. */
static void say_method(FILE *out, const struct hr_verdict *v)
{
    const struct hr_family *family = &v->cost_tests[HR_COST_SECONDS];
    const size_t tests = v->score_tests.tests;
    bool exact = false;
    for (size_t i = 0; i < family->groups * family->groups; i++)
        exact |= family->pair[i].state == HR_PAIR_TESTED && family->pair[i].exact;
    fprintf(out,
            "  (-: not significant. Paired t test over the seeds, %stwo-sided, level "
            "%g %%%s.)\n",
            family->tests ? "of times of their logarithms, " : "", 100 * HR_VERDICT_LEVEL,
            tests > 1 ? ", Holm's correction over all pairs" : "");
    if (exact)
        fprintf(out,
                "  (Where a run did not reach the target, or had at its first evaluation, times "
                "are cut to what both could show, and signs are tested: that takes %zu seeds or "
                "more%s.)\n",
                hr_signs_needed(HR_VERDICT_LEVEL / (double)family->tests),
                family->tests > 1 ? " for a first claim over all pairs" : "");
}

static void print_pairs(FILE *out, const struct hr_verdict *v, size_t width)
{
    const struct hr_family *const families[] = {&v->score_tests, &v->cost_tests[HR_COST_SECONDS],
                                                &v->cost_tests[HR_COST_SAMPLES]};
    struct hr_grid grid;
    say_head(out, "All pairs");
    fprintf(out, "differences with 95 %% intervals, uncorrected%s.\n", v->at);
    hr_grid_begin(&grid, "-\t-a\t-b\ta - b, or a / b\tp\t-a is");
    grid.cure = "; --wide shows all";
    for (size_t f = 0; f < 3; f++)
        for (size_t a = 0; a < families[f]->groups; a++)
            for (size_t b = a + 1; b < families[f]->groups; b++)
                write_pair(grid.cells, v, families[f], a, b);
    hr_grid_end(&grid, out, width);
    say_method(out, v);
}

/* --- beside the scores: speed, losses, divergence; nothing of it is tested --- */

static struct hr_spread rates(const struct hr_groups *groups, size_t g)
{
    return hr_run_group_spread(&groups->group[g], hr_measure_shown_rate);
}

/* How many are faster, or as fast and before it. */
static size_t place_of(const struct hr_groups *groups, size_t g)
{
    const double mine = rates(groups, g).mean;
    size_t place = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const double its = rates(groups, i).mean;
        place += its > mine || (i < g && !(its < mine));
    }
    return place;
}

/* "hogwild 268k (251k to 285k)" */
static void say_rate(FILE *out, const struct hr_groups *groups, size_t g)
{
    char mean[HR_HUMAN_MAX], low[HR_HUMAN_MAX], high[HR_HUMAN_MAX];
    const struct hr_spread s = rates(groups, g);
    fprintf(out, "%s %s", groups->group[g].name, hr_human_short(mean, s.mean));
    if (s.n < 2 || !(s.sd > 0))
        return;
    const struct hr_interval interval = hr_mean_interval(&s, 0.95);
    fprintf(out, " (%s to %s)", hr_human_short(low, fmax(0, interval.low)),
            hr_human_short(high, interval.high));
}

/* One ranking, the fastest first: with several seeds intervals say what it is worth. */
static void say_speed(FILE *out, const struct hr_groups *groups, bool details)
{
    const size_t most = 5, last = groups->n - 1;
    const size_t first = details || groups->n <= most ? groups->n : 2; /* and the last */
    bool intervals = false;
    fputs(hr_yields(out, HR_REPEATED), out);
    say_head(out, "Speed");
    for (size_t place = 0; place < groups->n; place++)
        for (size_t g = 0; g < groups->n; g++) {
            if (place_of(groups, g) != place || (place >= first && place != last))
                continue;
            fputs(place == 0 ? "" : place == last && last > first ? ", ..., " : ", ", out);
            say_rate(out, groups, g);
            intervals |= rates(groups, g).n > 1 && rates(groups, g).sd > 0;
        }
    fprintf(out, " %s%s.\n", hr_rate_unit(groups->group[0].run[0]->tokens),
            intervals           ? ", 95 % intervals"
            : groups->most == 1 ? ", one run each"
                                : "");
}

/* The group whose first runs and last, which are equal work, differed most in speed. */
struct uneven {
    const struct hr_run_group *group; /* NULL: in no group did they differ by a third */
    double first, last;               /* samples/s: means over the first third, and the last */
};

/* False: they were too short to tell, or are not equally fast for a reason that is known. */
static bool measure_ends(const struct hr_run_group *group, struct uneven *ends)
{
    const double least = 0.1; /* seconds */
    const size_t third = hr_max_size(1, group->n / 3);
    *ends = (struct uneven){.group = group};
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seconds < least || group->run[i]->nlosses ||
            !strcmp(group->run[i]->clock, "virtual"))
            return false;
    for (size_t i = 0; i < third; i++) {
        ends->first += hr_measure_rate(group->run[i]) / (double)third;
        ends->last += hr_measure_rate(group->run[group->n - 1 - i]) / (double)third;
    }
    return true;
}

static struct uneven find_uneven(const struct hr_groups *groups)
{
    struct uneven found = {.group = NULL}, ends;
    double most = 4.0 / 3;
    for (size_t g = 0; g < groups->n; g++) {
        if (!measure_ends(&groups->group[g], &ends))
            continue;
        const double times = fmax(ends.first, ends.last) / fmin(ends.first, ends.last);
        found = times > most ? ends : found;
        most = fmax(times, most);
    }
    return found;
}

/* Runs are one after another: a processor that throttles, or a neighbour who has come, is taken for
 * a strategy that is slower. */
static void say_uneven(FILE *out, const struct hr_groups *groups)
{
    const struct uneven uneven = find_uneven(groups);
    char first[HR_HUMAN_MAX], last[HR_HUMAN_MAX];
    if (!uneven.group)
        return;
    const size_t tokens = uneven.group->run[0]->tokens;
    fprintf(out, "%sSpeeds are not comparable: %s made %s in its first runs, %s in its last.\n",
            hr_yields(out, HR_NOTICE), uneven.group->name,
            hr_human_rate(first, uneven.first, tokens),
            hr_human_short(last, hr_rate_shown(uneven.last, tokens)));
}

/* "Diverged: hogwild (2 of 5 seeds)": rows of which some runs are of that kind. Are there any? */
static bool say_rows(FILE *out, const struct hr_groups *groups, const char *head,
                     size_t (*count)(const struct hr_run_group *))
{
    const char *before = head;
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        if (count(group) == 0)
            continue;
        fputs(before == head ? hr_yields(out, HR_NOTICE) : "", out);
        fprintf(out, "%s%s (%zu of %zu %s)", before, group->name, count(group), group->n,
                hr_run_group_unit(group));
        before = ", ";
    }
    return before != head;
}

static size_t count_wavered(const struct hr_run_group *group)
{
    return hr_run_group_rose(group) - hr_run_group_diverged(group);
}

/* A strategy that learned nothing may be fast. */
static void say_rising(FILE *out, const struct hr_groups *groups)
{
    if (say_rows(out, groups, "Diverged: ", hr_run_group_diverged))
        fputs(".\n", out);
    if (say_rows(out, groups, "Training loss rose: ", count_wavered))
        fputs(".\n", out);
}

/* A strategy that lost a worker had less to compute with than one that lost none. */
static void say_lost(FILE *out, const struct hr_groups *groups)
{
    const size_t lost = groups->group[0].run[0]->nlosses;
    if (lost && hr_groups_lost_alike(groups))
        fprintf(out, "%sLost ranks: %zu in each run.\n", hr_yields(out, HR_NOTICE), lost);
    else if (say_rows(out, groups, "Lost ranks: ", hr_run_group_lost))
        fputs("; not like for like: some runs lost more.\n", out);
}

/* --- all of it --- */

static size_t count_tested(const struct hr_verdict *v)
{
    size_t n = 0;
    for (size_t g = 0; g < v->groups.n; g++)
        n += hr_verdict_tested(v, g);
    return n;
}

char *hr_verdict_note(const struct hr_run_result *runs, size_t n,
                      const struct hr_verdict_request *request)
{
    char *text = NULL;
    size_t bytes;
    struct hr_groups groups;
    struct hr_verdict_request without = request ? *request : (struct hr_verdict_request){0};
    without.fair.whole = NULL;
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
    hr_alike_print(out, &v->groups, &v->request, width);
    if (!v->unlike && tested)
        say_scores(out, v, details);
    else if (!v->unlike)
        say_untested(out, v, width);
    say_margin(out, v);
    if (details)
        say_orders(out, v);
    hr_best_epochs_print(out, &v->groups);
    say_speed(out, &v->groups, details);
    say_uneven(out, &v->groups);
    say_lost(out, &v->groups);
    say_rising(out, &v->groups);
    if (!v->unlike && (tested || v->groups.most == 1))
        say_target(out, v);
}

/* pairs: with their table, which is not of sentences. */
static void print(FILE *out, const struct hr_run_result *runs, size_t n,
                  struct hr_verdict_request request, bool details, bool pairs, size_t width)
{
    struct hr_verdict v;
    if (n == 0)
        return;
    if (hr_verdict_make(&v, runs, n, request) != HR_OK) {
        fprintf(out, "(no verdict: %s)\n", hr_error_message());
        return;
    }
    if (v.groups.n > 1)
        compare(out, &v, details, width);
    else
        say_alone(out, &v);
    if (pairs && v.score_tests.tests)
        print_pairs(out, &v, width);
    if (v.groups.n == 1 && details && runs[0].event_order)
        say_orders(out, &v);
    hr_verdict_free(&v);
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n,
                      struct hr_verdict_request request, bool details, size_t width)
{
    print(out, runs, n, request, details, details, width);
}

/* --- for programs --- */

static json_t *spread(const struct hr_run_group *group, hr_measure_fn measure)
{
    const struct hr_spread s = hr_run_group_spread(group, measure);
    return hr_json_object(HR_OF(&s, mean), HR_OF(&s, sd), "min", HR_JSON(s.least), "max",
                          HR_JSON(s.most), NULL);
}

/* null: each seed was run once. */
static json_t *orders(const struct hr_verdict *v, const struct hr_run_group *group)
{
    struct hr_orders o;
    if (!hr_run_group_orders(group, v->metric, &o))
        return json_null();
    return hr_json_object("runs", HR_JSON(o.score.n), "same_weights", json_boolean(o.same),
                          "sd_seeds", HR_JSON(o.score.between), "sd_orders",
                          HR_JSON(o.score.within), "share_of_seeds", HR_JSON(o.score.share),
                          "p_seeds", HR_JSON(o.score.p), NULL);
}

static json_t *strategy(const void *of, size_t g)
{
    const struct hr_verdict *v = of;
    const struct hr_run_group *group = &v->groups.group[g];
    const bool judged = v->best < v->groups.n && hr_verdict_tested(v, g) && g != v->best;
    return hr_json_object(
        HR_OF(group, label), HR_OF(group->run[0], strategy), "seeds",
        HR_JSON(hr_run_group_seeds(group)), "interrupted", json_boolean(group->interrupted),
        "test_accuracy", spread(group, hr_measure_accuracy), "test_balanced_accuracy",
        spread(group, hr_measure_balanced_accuracy), "test_macro_f1",
        spread(group, hr_measure_macro_f1), "test_roc_auc", spread(group, hr_measure_roc_auc),
        "test_rmse", spread(group, hr_measure_rmse), "test_mae", spread(group, hr_measure_mae),
        "test_r2", spread(group, hr_measure_r2), "test_perplexity",
        spread(group, hr_measure_perplexity), "test_bits_per_byte",
        spread(group, hr_measure_bits_per_byte), "test_loss", spread(group, hr_measure_test_loss),
        "train_loss", spread(group, hr_measure_train_loss), "seconds",
        spread(group, hr_measure_seconds), "samples_per_s", spread(group, hr_measure_rate),
        "tokens_per_s", group->run[0]->tokens ? spread(group, hr_measure_shown_rate) : json_null(),
        "updates", spread(group, hr_measure_updates), "p_against_best",
        judged ? hr_json_number(hr_verdict_p(v, g, v->best)) : json_null(), "worse_than_best",
        json_boolean(judged && hr_verdict_worse(v, g)), "runs_with_losses",
        HR_JSON(hr_run_group_lost(group)), "orders", orders(v, group), NULL);
}

static json_t *pair(const struct hr_verdict *v, size_t a, size_t b)
{
    const bool told = hr_verdict_worse_than(v, a, b) || hr_verdict_worse_than(v, b, a);
    const bool claims =
        v->request.tuned || hr_alike_pair(&v->groups.group[a], &v->groups.group[b]) != HR_UNLIKE;
    const struct hr_pair *tested = hr_family_pair(&v->score_tests, a, b);
    const double difference = tested->state == HR_PAIR_TESTED ? tested->test.difference
                                                              : v->score[a].mean - v->score[b].mean;
    return hr_json_object("a", HR_JSON(v->groups.group[a].label), "b",
                          HR_JSON(v->groups.group[b].label), "difference", HR_JSON(difference), "p",
                          claims ? hr_json_number(hr_verdict_p(v, a, b)) : json_null(),
                          "told_apart", claims ? json_boolean(told) : json_null(), NULL);
}

/* Of those tested, each with each. */
static json_t *pairs(const struct hr_verdict *v)
{
    json_t *array = json_array();
    for (size_t a = 0; a < v->groups.n; a++)
        for (size_t b = a + 1; b < v->groups.n; b++)
            if (hr_verdict_tested(v, a) && hr_verdict_tested(v, b))
                hr_json_append(&array, pair(v, a, b));
    return array;
}

/* --- tests */

/* null: from somewhere to somewhere, as far as is known. */
static json_t *interval(struct hr_interval x, bool ratio)
{
    if (!isfinite(x.low) || !isfinite(x.high))
        return json_null();
    return json_pack("[o, o]", hr_json_number(ratio ? exp(x.low) : x.low),
                     hr_json_number(ratio ? exp(x.high) : x.high));
}

static json_t *effect(const struct hr_paired *test)
{
    if (!isfinite(test->effect))
        return json_null();
    return hr_json_object("value", HR_JSON(test->effect), "interval",
                          interval(test->of_effect, false), NULL);
}

/* How much a margin leaves to chance, in both directions. */
static json_t *margin(const struct hr_verdict *v, size_t a, size_t b)
{
    const struct hr_family *family = &v->score_tests;
    if (!(v->request.margin > 0))
        return json_null();
    return hr_json_object("a_not_worse_p", HR_JSON(hr_family_pair(family, a, b)->not_worse_p),
                          "b_not_worse_p", HR_JSON(hr_family_pair(family, b, a)->not_worse_p),
                          NULL);
}

/* Of a metric the difference a - b, of costs the ratio a / b. */
static json_t *comparison(const struct hr_verdict *v, const struct hr_family *family,
                          const char *metric, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    const struct hr_paired *t = &pair->test;
    const bool ratio = family != &v->score_tests, tested = pair->state == HR_PAIR_TESTED;
    return hr_json_object(
        "a", HR_JSON(v->groups.group[a].label), "b", HR_JSON(v->groups.group[b].label), "metric",
        HR_JSON(metric), HR_OF(t, n), "difference",
        tested && !ratio ? hr_json_number(t->difference) : json_null(), "ratio",
        tested && ratio ? hr_json_number(exp(t->difference)) : json_null(), "interval",
        tested ? interval(t->interval, ratio) : json_null(), "p",
        tested ? hr_json_number(t->p) : json_null(), "p_adjusted",
        tested ? hr_json_number(pair->p) : json_null(), "effect", tested ? effect(t) : json_null(),
        "method",
        HR_JSON(!tested       ? "none"
                : pair->exact ? "signs"
                              : "paired t"),
        HR_OF(pair, unknown), "margin", tested && !ratio ? margin(v, a, b) : json_null(), "verdict",
        HR_JSON(hr_verdict_word(v, family, a, b)), NULL);
}

static void add_comparisons(json_t *array, const struct hr_verdict *v,
                            const struct hr_family *family, const char *metric)
{
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = a + 1; b < family->groups; b++)
            if (hr_verdict_tested(v, a) && hr_verdict_tested(v, b))
                hr_json_append(&array, comparison(v, family, metric, a, b));
}

static json_t *comparisons(const struct hr_verdict *v)
{
    json_t *array = json_array();
    add_comparisons(array, v, &v->score_tests, hr_metric_kind(v->metric)->name);
    add_comparisons(array, v, &v->cost_tests[HR_COST_SECONDS], "target_seconds");
    add_comparisons(array, v, &v->cost_tests[HR_COST_SAMPLES], "target_samples");
    return array;
}

static json_t *power(const struct hr_verdict *v)
{
    const struct hr_family_power power = hr_family_power(&v->score_tests, hr_verdict_margin(v));
    if (power.pairs == 0)
        return json_null();
    return hr_json_object("power", HR_JSON(HR_POWER_WANTED), HR_OF(&v->score_tests, tests), "seeds",
                          HR_JSON(power.pairs), HR_OF(&power, spread), HR_OF(&power, difference),
                          HR_OF(&power, aim), "seeds_for_aim", HR_JSON(power.more), NULL);
}

static json_t *uneven_speed(const struct hr_verdict *v)
{
    const struct uneven uneven = find_uneven(&v->groups);
    if (!uneven.group)
        return json_null();
    return hr_json_object(HR_OF(uneven.group, label), "first_samples_per_s", HR_JSON(uneven.first),
                          "last_samples_per_s", HR_JSON(uneven.last), NULL);
}

/* The verdict in words, without the blanks that lines begin with. */
static json_t *sentences(const struct hr_run_result *runs, size_t n,
                         struct hr_verdict_request request, bool details)
{
    char *text = NULL;
    size_t bytes;
    json_t *array = json_array();
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return array;
    print(out, runs, n, request, details, false, 0);
    if (fclose(out) == 0)
        for (char *rest, *line = strtok_r(text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            hr_json_append(&array, hr_json_text(line + strspn(line, " ")));
    free(text);
    return array;
}

json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n,
                           struct hr_verdict_request request)
{
    static const char *const compared_at[] = {"last", "best", "mixed"};
    static const char *const alike[] = {"yes", "as listed", "no"};
    struct hr_verdict v;
    if (hr_verdict_make(&v, runs, n, request) != HR_OK)
        return NULL;
    json_t *object = json_null();
    if (v.groups.n > 1 || (n && (runs[0].event_order || runs[0].folds)))
        object = hr_json_object(
            "test", HR_JSON("paired t over the seeds, two-sided, Holm over all pairs"), "level",
            HR_JSON(HR_VERDICT_LEVEL), "metric", HR_JSON(hr_metric_kind(v.metric)->name), "best",
            v.best < v.groups.n ? hr_json_text(v.groups.group[v.best].label) : json_null(),
            "margin", request.margin > 0 ? hr_json_number(hr_verdict_margin(&v)) : json_null(),
            "lost_alike", json_boolean(hr_groups_lost_alike(&v.groups)), "compared_at",
            HR_JSON(compared_at[hr_best_compared(&v.groups)]), "strategies",
            hr_json_list(v.groups.n, strategy, &v), "pairs", pairs(&v), "comparisons",
            comparisons(&v), "power", power(&v), "sentences", sentences(runs, n, request, true),
            "conclusion", sentences(runs, n, request, false), "like_for_like",
            HR_JSON(alike[hr_alikeness_of(&v.groups).kind]), "at",
            hr_json_text_or_null(request.at ? request.at : ""), "fair",
            hr_json_text_or_null(v.unlike && request.fair.whole ? request.fair.whole : ""), "tuned",
            json_boolean(request.tuned), "uneven_speed", uneven_speed(&v), NULL);
    hr_verdict_free(&v);
    return object;
}
