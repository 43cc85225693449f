/* Who trains what, how, and what is promised: a few lines at the start of a run. */
#include "report/report.h"

#include <string.h>

static void print_ranks(FILE *out, const struct hr_run_info *info)
{
    fprintf(out, "hogring: %s", info->strategy);
    if (info->algorithm)
        fprintf(out, " (%s: %s)", info->algorithm, info->order);
    if (info->bounded)
        fprintf(out, " (staleness <= %llu)", (unsigned long long)info->staleness);
    fprintf(out, ", %zu worker%s", info->workers, info->workers == 1 ? "" : "s");
    if (info->served)
        fprintf(out, " and %zu server%s", info->servers, info->servers == 1 ? "" : "s");
    const bool plays = strcmp(info->launch, "thread") != 0 && strcmp(info->launch, "process") != 0;
    fprintf(out, ", %s%s on %zu processor%s\n", plays ? "" : "each a ", info->launch,
            info->processors, info->processors == 1 ? "" : "s");
}

void hr_banner_print(FILE *out, const struct hr_run_info *info, const char *data)
{
    print_ranks(out, info);
    fprintf(out, "  model     %s (%zu parameters)\n", info->model, info->params);
    fprintf(out, "  data      %s, seed %llu; kernels %s, one thread a worker\n", data,
            (unsigned long long)info->seed, info->kernels);
    if (info->synchronous)
        fprintf(out, "  steps     %zu a worker, %zu global: one update a step at lr %g",
                info->batch_size, info->global_batch, info->lr);
    else
        fprintf(out, "  steps     minibatches of %zu: one update each at lr %g", info->batch_size,
                info->lr);
    fprintf(out, "; %zu epochs, %llu updates", info->epochs, (unsigned long long)info->steps);
    if (info->first)
        fprintf(out, ", from %llu on", (unsigned long long)info->first);
    fprintf(out, "\n  promise   %s\n", info->guarantee);
}
