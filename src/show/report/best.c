#include "report/best.h"

#include <math.h>

#include "report/human.h"

static void print_value(FILE *out, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    enum hr_metric metric = HR_METRIC_LOSS;
    char loss[HR_HUMAN_MAX];
    hr_metric_parse(best->metric, &metric);
    fprintf(out, "%s %s %s", run->validation_samples ? "validation" : "test", best->metric,
            metric == HR_METRIC_LOSS ? hr_human_loss(loss, best->value)
                                     : hr_metric_text(metric, best->value).text);
}

static void print_run(FILE *out, const struct hr_run_group *group, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    fputs(group->label, out);
    if (group->n > 1)
        fprintf(out, ", seed %llu", (unsigned long long)run->seed);
    fprintf(out, ": %s epoch %.4g; ", best->stopped ? "stopped early, at" : "ended at",
            best->ended);
    if (!isfinite(best->value)) {
        fputs("no evaluation at the end of an epoch was a number\n", out);
        return;
    }
    fprintf(out, "%s epoch %.4g, the best by ", best->restored ? "has the weights of" : "kept",
            best->epoch);
    print_value(out, run);
    fputc('\n', out);
}

void hr_best_print(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i]->best.metric[0])
                print_run(out, &groups->group[g], groups->group[g].run[i]);
}

/* --- what a comparison compares --- */

enum hr_compared hr_best_compared(const struct hr_groups *groups)
{
    size_t runs = 0, restored = 0;
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++, runs++)
            restored += groups->group[g].run[i]->best.restored;
    return restored == 0      ? HR_COMPARED_LAST
           : restored == runs ? HR_COMPARED_BEST
                              : HR_COMPARED_MIXED;
}

static double last_epoch(const struct hr_run_result *run)
{
    return run->ncurve ? run->curve[run->ncurve - 1].epoch : (double)NAN;
}

static double epoch_of_weights(const struct hr_run_result *run)
{
    return run->best.restored ? run->best.epoch : last_epoch(run);
}

/* "2", or "2 to 5" */
static void print_epochs(FILE *out, const struct hr_run_group *group, hr_measure_fn measure)
{
    const struct hr_spread s = hr_run_group_spread(group, measure);
    fprintf(out, "%.4g", s.least);
    if (s.most > s.least)
        fprintf(out, " to %.4g", s.most);
}

static bool are_alike(const struct hr_groups *groups)
{
    const double first = epoch_of_weights(groups->group[0].run[0]);
    bool alike = true;
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_spread s = hr_run_group_spread(&groups->group[g], epoch_of_weights);
        alike = alike && !(s.least < first) && !(s.most > first);
    }
    return alike;
}

void hr_best_epochs_print(FILE *out, const struct hr_groups *groups, bool details)
{
    if (hr_best_compared(groups) == HR_COMPARED_LAST)
        return;
    if (!details) {
        fputs(
            "Compared are the weights of each run's best epoch; seconds and updates are of all.\n",
            out);
        return;
    }
    fputs("Compared: the weights of each run's best epoch, ", out);
    fputs(are_alike(groups) ? "for all the same: " : "not of the same one: ", out);
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        const struct hr_groups one = {.n = 1, .group = groups->group + g};
        fprintf(out, "%s%s: ", g ? "; " : "", group->label);
        print_epochs(out, group, epoch_of_weights);
        if (hr_best_compared(&one) == HR_COMPARED_LAST) {
            fputs(" (its last: it looked for no best)", out);
            continue;
        }
        fputs(" (ended at ", out);
        print_epochs(out, group, last_epoch);
        fputc(')', out);
    }
    fputs(".\n  Seconds and updates are of all epochs that were trained.\n", out);
}
