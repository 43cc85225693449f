/* Who trains what, how, and what the strategy guarantees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/human.h"
#include "report/report.h"

enum { MACHINES_SAID = 8 };

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* What there is to say of one thing, if anything. */
static void print_named(FILE *out, const char *name, const char *text)
{
    if (text && text[0])
        fprintf(out, "  %-8s %s\n", name, text);
}

static void print_launch(FILE *out, const struct hr_run_info *info)
{
    if (!strcmp(info->launch, "thread"))
        fputs(" as threads", out);
    else if (!strcmp(info->launch, "process"))
        fputs(" as processes", out);
    else
        fprintf(out, " (%s)", info->launch); /* "one thread runs all ranks" */
    if (info->nmachines)
        fprintf(out, " on %zu machines\n", info->nmachines);
    else
        fprintf(out, " on %zu processor%s\n", info->processors, plural(info->processors));
}

/* "m0 (workers 0 to 1, 2 processors, v4), m1 (workers 2 to 3, 2 processors, v4, clock to 12 us)" */
static void print_machines(FILE *out, const struct hr_run_info *info)
{
    const size_t said = info->nmachines < MACHINES_SAID ? info->nmachines : MACHINES_SAID;
    for (size_t i = 0; i < said; i++) {
        const struct hr_machine_report *m = &info->machines[i];
        fprintf(out, "%s%s (", i ? ", " : "  machines ", m->host);
        if (m->workers)
            fprintf(out, "worker%s %zu", plural(m->workers), m->first_worker);
        else
            fputs("stages", out);
        if (m->workers > 1)
            fprintf(out, " to %zu", m->first_worker + m->workers - 1);
        fprintf(out, ", %zu processor%s, %s", m->processors, plural(m->processors), m->isa);
        if (i)
            fprintf(out, ", clock to %.3g us", 1e6 * m->clock_error_s);
        fputc(')', out);
    }
    if (said < info->nmachines)
        fprintf(out, ", and %zu more", info->nmachines - said);
    fputc('\n', out);
}

/* "hogring: allreduce (direct, fixed order), 2 workers as threads on 2 processors" */
static void print_head(FILE *out, const struct hr_run_info *info)
{
    const char *hosts = info->server_hosts ? info->server_hosts : "";
    fprintf(out, "hogring: %s", info->strategy);
    if (info->algorithm && info->algorithm[0])
        fprintf(out, " (%s, fixed order)", info->algorithm);
    else if (info->bounded)
        fprintf(out, " (staleness at most %llu)", (unsigned long long)info->staleness);
    if (info->stages)
        fprintf(out, ", %zu replica%s x %zu stage%s", info->workers, plural(info->workers),
                info->stages, plural(info->stages));
    else
        fprintf(out, ", %zu %s%s", info->workers, info->team > 1 ? "replica" : "worker",
                plural(info->workers));
    if (info->team > 1)
        fprintf(out, " x %zu tensor ranks", info->team);
    if (info->served)
        fprintf(out, " and %zu server%s%s%s%s%s", info->servers, plural(info->servers),
                hosts[0] ? " (" : "", hosts, hosts[0] ? ")" : "",
                info->colocated      ? " colocated in them"
                : info->servers_rest ? ", served by the workers,"
                                     : "");
    print_launch(out, info);
}

static void print_recompute(FILE *out, const struct hr_recompute_report *recompute)
{
    fprintf(out,
            "           recompute: activations take %s a replica, %s without; %.1f %% more "
            "multiply-adds\n",
            hr_bytes_text(recompute->bytes).text, hr_bytes_text(recompute->bytes_without).text,
            100 * recompute->share);
}

/* Who has which layers, and how even that is. */
static void print_pipeline(FILE *out, const struct hr_run_info *info)
{
    char count[HR_HUMAN_MAX];
    if (info->micro_batches)
        fprintf(out, "  pipeline %s, %zu micro-batch%s of %zu\n", info->pipeline_schedule,
                info->micro_batches, info->micro_batches == 1 ? "" : "es",
                info->batch_size / info->micro_batches);
    else
        fprintf(out,
                "  pipeline %s, an update each minibatch of %zu, empty at the ends of epochs\n",
                info->pipeline_schedule, info->batch_size);
    for (size_t k = 0; k < info->stages; k++)
        fprintf(out, "           stage %zu: layers %s, %s parameters, %.1f %% of multiply-adds\n",
                k, info->stage[k].layers, hr_human_count(count, info->stage[k].params),
                100 * info->stage[k].madds_share);
    if (info->recompute.on)
        print_recompute(out, &info->recompute);
}

/* "tensor 4 shards, on 2 ranks of each stage: by columns 1; by rows 3, 5" */
static void print_shards(FILE *out, const struct hr_run_info *info)
{
    fprintf(out, "  tensor   %zu shards, on %zu rank%s of each %s: layers %s\n", info->shards,
            info->team, plural(info->team), info->stages ? "stage" : "worker", info->split);
}

static void print_engine(FILE *out, const struct hr_run_info *info)
{
    fprintf(out, "  engine   kernels %s, ", info->kernels);
    if (info->threads_per_worker > 1)
        fprintf(out, "%zu threads per worker", info->threads_per_worker);
    else
        fputs("one thread per worker", out);
    if (!info->played)
        fprintf(out, "; transport zero-copy in shared memory%s",
                info->nmachines ? ", MPI between machines" : "");
    fputc('\n', out);
    print_named(out, "times", info->times);
}

/* "  length   10 epochs, 230 updates" */
static void print_length(FILE *out, const struct hr_run_info *info)
{
    char count[HR_HUMAN_MAX];
    if (info->length_s > 0)
        fprintf(out, "  length   %g s of training", info->length_s);
    else
        fprintf(out, "  length   %.4g epoch%s, %s update%s", info->length,
                info->length == 1 ? "" : "s", hr_human_count(count, info->steps),
                plural(info->steps));
}

/* What one update is made of: comparisons depend on it. Its rate stands with the optimizer, where
 * there is one. */
static void print_batch(FILE *out, const struct hr_run_info *info)
{
    char count[HR_HUMAN_MAX], rate[40] = "";
    if (!info->optimizer)
        snprintf(rate, sizeof rate, ", lr %.6g", info->lr);
    if (info->averages)
        fprintf(out,
                "  batch    %zu per worker, %zu global: each worker updates with its share%s\n",
                info->batch_size, info->global_batch, rate);
    else if (info->shares_batch)
        fprintf(out, "  batch    %zu per worker, %zu global: one update per step%s\n",
                info->batch_size, info->global_batch, rate);
    else if (info->lr > 0 && info->node_workers) /* an update is of several */
        fprintf(out, "  batch    minibatches of %zu%s\n", info->batch_size, rate);
    else if (info->lr > 0)
        fprintf(out, "  batch    one update for each minibatch of %zu%s\n", info->batch_size, rate);
    if (info->optimizer)
        fprintf(out, "  update   %s; %s\n", info->optimizer, info->lr_schedule);
    print_named(out, "manner", info->manner);
    print_named(out, "pushes", info->pushes);
    print_named(out, "overlap", info->overlap);
    print_named(out, "compress", info->compress);
    if (info->micro_shards)
        fprintf(out,
                "  reduce   repro: %zu micro-shards a batch, added in T(%zu) whoever has them\n",
                info->micro_shards, info->micro_shards);
    if (info->stages)
        print_pipeline(out, info);
    if (info->shards)
        print_shards(out, info);
    print_length(out, info);
    fputs(", ", out);
    if (info->first)
        fprintf(out, "resumed at %s, ", hr_human_count(count, info->first));
    fprintf(out, "seed %llu\n", (unsigned long long)info->seed);
    print_engine(out, info);
}

/* How often rows of these data will conflict under Hogwild. */
static void print_conflicts(FILE *out, const struct hr_run_info *info)
{
    const struct hr_conflicts *c = info->conflicts;
    fprintf(
        out,
        "  rows     Omega %zu (features of the largest), Delta %.3f (most frequent feature), rho "
        "%.3f (rows that meet one row)\n",
        c->omega, c->delta, c->rho);
    if (info->workers < 2)
        fprintf(out, "  advice   one worker: nobody to conflict with\n");
    else if (c->overlap < 0.05)
        fprintf(out, "  advice   two rows share %.1f %% of their features: made for hogwild\n",
                100 * c->overlap);
    else if (c->overlap < 0.5)
        fprintf(out,
                "  advice   two rows share %.0f %% of their features: hogwild works, but workers "
                "wait for each other's cache lines\n",
                100 * c->overlap);
    else
        fprintf(out,
                "  advice   two rows share %.0f %% of their features: too dense for hogwild, use "
                "--workers 1 or a network with --strategy allreduce\n",
                100 * c->overlap);
}

static void print_split(FILE *out, const struct hr_run_info *info)
{
    const size_t n = info->validation_samples;
    const bool of_file = info->validation_data && info->validation_data[0];
    char count[HR_HUMAN_MAX];
    if (n)
        fprintf(
            out,
            "  split    %s %ssample%s %s%s to validate; the test set is read once, at the end\n",
            hr_human_count(count, n), of_file ? "" : "training ", plural(n),
            of_file ? "of " : "held out", of_file ? info->validation_data : "");
}

static void print_banner(FILE *out, const struct hr_run_info *info, const char *data)
{
    char count[HR_HUMAN_MAX];
    print_head(out, info);
    if (info->nmachines)
        print_machines(out, info);
    print_named(out, "task", info->task);
    fprintf(out, "  model    %s (%s parameters)\n", info->model,
            hr_human_count(count, info->params));
    if (info->frozen && info->frozen[0])
        fprintf(out, "  frozen   %s parameters, %s\n", hr_human_count(count, info->frozen_params),
                info->frozen);
    print_named(out, "data", data);
    print_split(out, info);
    print_batch(out, info);
    if (info->conflicts)
        print_conflicts(out, info);
    print_named(out, "memory", info->memory);
    print_named(out, "guarantee", info->guarantee);
}

/* --- brief */

static void print_brief(FILE *out, const struct hr_run_info *info, const char *data,
                        const char *head)
{
    enum { COLUMNS = 80 };
    char size[HR_HUMAN_MAX + 20], count[HR_HUMAN_MAX];
    if (head) {
        fprintf(out, "hogring: %s, %zu processor%s\n", head, info->processors,
                plural(info->processors));
    } else {
        fprintf(out, "hogring: %s, seed %llu, %zu worker%s", info->strategy,
                (unsigned long long)info->seed, info->workers, plural(info->workers));
        print_launch(out, info);
    }
    if (info->model) {
        snprintf(size, sizeof size, " (%s parameters)", hr_human_count(count, info->params));
        const size_t room = COLUMNS - strlen("  model    ") - strlen(size);
        const bool fits = strlen(info->model) <= room;
        size_t shown = fits ? room : room - 3;
        while (!fits && shown > room / 2 && info->model[shown - 1] != ' ')
            shown--; /* whole layers */
        fprintf(out, "  model    %.*s%s%s\n", (int)shown, info->model, fits ? "" : "...", size);
    }
    print_named(out, "data", data);
    if (info->tokens)
        print_named(out, "task", info->task);
    if (head)
        return;
    print_length(out, info);
    if (info->shares_batch)
        fprintf(out, " of %zu samples", info->global_batch);
    if (info->optimizer && info->lr > 0)
        fprintf(out, "; %s, lr %.6g", info->optimizer, info->lr);
    if (info->first)
        fprintf(out, "; resumed at %s", hr_human_count(count, info->first));
    fputc('\n', out);
}

/* Written in one call, since concurrent runs print at the same time. */
static void print_at_once(FILE *out, const struct hr_run_info *info, const char *data,
                          const char *head, bool brief)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes), *to = memory ? memory : out;
    if (brief)
        print_brief(to, info, data, head);
    else
        print_banner(to, info, data);
    if (memory) {
        fclose(memory);
        fwrite(text, 1, bytes, out);
    }
    free(text);
}

void hr_banner_print(FILE *out, const struct hr_run_info *info, const char *data)
{
    print_at_once(out, info, data, NULL, false);
}

void hr_banner_print_brief(FILE *out, const struct hr_run_info *info, const char *data,
                           const char *head)
{
    print_at_once(out, info, data, head, true);
}
