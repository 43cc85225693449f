#include "bench/pipelines.h"

#include <stdlib.h>

#include "pipeline/picture.h"

/* "4", "4x2" */
static const char *stages_text(const struct hr_pipeline_shape *shape, char text[48])
{
    if (shape->chunks > 1)
        snprintf(text, 48, "%zux%zu", shape->stages, shape->chunks);
    else
        snprintf(text, 48, "%zu", shape->stages);
    return text;
}

void hr_pipelines_print_measured_head(FILE *out)
{
    fprintf(out, "\n%-11s %6s %6s %8s %15s %8s %10s %8s\n", "measured", "stages", "micro", "bubble",
            "least to most", "paper", "samples/s", "speed-up");
}

void hr_pipelines_print_measured(FILE *out, const struct hr_pipelines_row *row)
{
    const struct hr_pipelines_measured *m = &row->measured;
    char stages[48];
    fprintf(out, "%-11s %6s %6zu %6.1f %% %6.1f %6.1f %% %6.1f %% %10.0f %8.2f\n",
            row->schedule->name, stages_text(&row->shape, stages), row->shape.micro_batches,
            100 * m->bubble, 100 * m->least, 100 * m->most, 100 * row->bubble, m->samples_per_s,
            m->speed_up);
}

static void print_row(FILE *out, const struct hr_pipelines_row *row)
{
    char stages[48];
    const struct hr_pipeline_shape *shape = &row->shape;
    fprintf(out, "%-11s %6s %6zu %9.3f %9.2f %6.1f %% %6.1f %% %7zu %8.2f\n", row->schedule->name,
            stages_text(shape, stages), shape->micro_batches, row->makespan, 1 / row->makespan,
            100 * row->bubble, 100 * row->schedule->bubble(shape), row->stored, row->balance);
}

static void print_head(FILE *out, const struct hr_pipelines_table *table)
{
    if (table->model)
        fprintf(out,
                "# %s on %s\n"
                "# on paper: time is multiply-adds, %.3g M a sample; messages take none\n",
                table->model, table->data, 1e-6 * table->madds);
    else
        fputs("# on paper: equal stages, forward takes 1, backward 2; messages take none\n", out);
    fprintf(out, "%-11s %6s %6s %9s %9s %8s %8s %7s %8s\n", "schedule", "stages", "micro",
            "makespan", "speed-up", "bubble", "formula", "stored", "balance");
}

void hr_pipelines_print(FILE *out, const struct hr_pipelines_table *table)
{
    print_head(out, table);
    for (size_t i = 0; i < table->n; i++)
        print_row(out, &table->row[i]);
}

/* --- one in full --- */

static void print_legend(FILE *out, const struct hr_pipelines_row *row)
{
    fprintf(out, "F forward, %s, . idle, number: micro-batch%s\n",
            row->schedule->splits_backward ? "D backward data, W backward weights" : "B backward",
            row->shape.chunks > 1 ? ";\nsmall letters: every other chunk" : "");
}

static void print_rank(FILE *out, const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_pipeline_schedule *schedule = one->row->schedule;
    const struct hr_pipeline_shape *shape = &one->row->shape;
    const struct hr_rank_walk *rank = &one->walk->rank[r];
    fprintf(out, "%-6zu %-20s %5.1f %% %5.1f %% %7zu", r, one->rank[r].layers,
            100 * one->rank[r].share, 100 * (double)rank->idle / (double)one->walk->makespan,
            rank->stored);
    if (!schedule->synchronous)
        fprintf(out, " %8zu %8zu %8zu", schedule->versions(shape, r),
                schedule->staleness(shape, r, HR_FORWARD),
                schedule->staleness(shape, r, HR_BACKWARD));
    fputs("\n", out);
}

enum hr_status hr_pipelines_print_one(FILE *out, const struct hr_pipelines_one *one, size_t width)
{
    char *picture;
    HR_TRY(hr_pipeline_picture(one->walk, width, &picture));
    fprintf(out, "\n%s\n", picture);
    free(picture);
    print_legend(out, one->row);
    fputs("\n", out);
    if (!one->row->schedule->synchronous)
        fprintf(out, "%51s %8s %8s %8s\n", "", "weight", "forward", "backward");
    fprintf(out, "%-6s %-20s %7s %7s %7s%s\n", "stage", one->table->model ? "layers" : "parts",
            "work", "idle", "stored",
            one->row->schedule->synchronous ? "" : " versions    stale    stale");
    for (size_t r = 0; r < one->row->shape.stages; r++)
        print_rank(out, one, r);
    return HR_OK;
}
