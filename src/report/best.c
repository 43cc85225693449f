#include "report/best.h"

#include <math.h>

#include "report/human.h"

static void print_value(FILE *out, const struct hr_run_result *run)
{
    const struct hr_best_evaluation *best = &run->best;
    char loss[HR_HUMAN_MAX];
    fprintf(out, "%s %s ", run->validation_samples ? "validation" : "test", best->metric);
    if (best->metric[0] == 'a')
        fprintf(out, "%.2f %%", 100 * best->value);
    else
        fputs(hr_human_loss(loss, best->value), out);
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
        fputs("no evaluation was a number\n", out);
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
