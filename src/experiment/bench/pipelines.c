#include "bench/pipelines.h"

#include <stdlib.h>

#include "pipeline/picture.h"
#include "terminal/grid.h"

/* "4", "4x2" */
static const char *stages_text(const struct hr_pipeline_shape *shape, char text[48])
{
    if (shape->chunks > 1)
        snprintf(text, 48, "%zux%zu", shape->stages, shape->chunks);
    else
        snprintf(text, 48, "%zu", shape->stages);
    return text;
}

void hr_pipelines_print_measured(FILE *out, const struct hr_pipelines_table *table)
{
    struct hr_grid cells;
    char stages[48];
    hr_grid_begin(&cells, "-measured\tstages\tmicro\tbubble\tleast to most\tpaper\tsamples/s\t"
                          "speed-up");
    for (size_t i = 0; i < table->n; i++) {
        const struct hr_pipelines_row *row = &table->row[i];
        const struct hr_pipelines_measured *m = &row->measured;
        fprintf(cells.cells, "%s\t%s\t%zu\t%.1f %%\t%.1f %6.1f %%\t%.1f %%\t%.0f\t%.2f\n",
                row->schedule->name, stages_text(&row->shape, stages), row->shape.micro_batches,
                100 * m->bubble, 100 * m->least, 100 * m->most, 100 * row->bubble, m->samples_per_s,
                m->speed_up);
    }
    fputc('\n', out);
    hr_grid_end(&cells, out, 0);
}

void hr_pipelines_print(FILE *out, const struct hr_pipelines_table *table)
{
    struct hr_grid cells;
    char stages[48];
    if (table->model)
        fprintf(out,
                "# %s on %s\n"
                "# on paper: time is multiply-adds, %.3g M a sample; messages take none\n",
                table->model, table->data, 1e-6 * table->madds);
    else
        fputs("# on paper: equal stages, forward takes 1, backward 2; messages take none\n", out);
    hr_grid_begin(&cells, "-schedule\tstages\tmicro\tmakespan\tspeed-up\tbubble\tformula\tstored\t"
                          "balance");
    for (size_t i = 0; i < table->n; i++) {
        const struct hr_pipelines_row *row = &table->row[i];
        fprintf(cells.cells, "%s\t%s\t%zu\t%.3f\t%.2f\t%.1f %%\t%.1f %%\t%zu\t%.2f\n",
                row->schedule->name, stages_text(&row->shape, stages), row->shape.micro_batches,
                row->makespan, 1 / row->makespan, 100 * row->bubble,
                100 * row->schedule->bubble(&row->shape), row->stored, row->balance);
    }
    hr_grid_end(&cells, out, 0);
}

/* --- one in full --- */

static void print_legend(FILE *out, const struct hr_pipelines_row *row)
{
    fprintf(out, "F forward, %s, . idle, number: micro-batch%s\n",
            row->schedule->splits_backward ? "D backward data, W backward weights" : "B backward",
            row->shape.chunks > 1 ? ";\nsmall letters: every other chunk" : "");
}

static void write_rank(FILE *cells, const struct hr_pipelines_one *one, size_t r)
{
    const struct hr_pipeline_schedule *schedule = one->row->schedule;
    const struct hr_pipeline_shape *shape = &one->row->shape;
    const struct hr_rank_walk *rank = &one->walk->rank[r];
    fprintf(cells, "%zu\t%s\t%.1f %%\t%.1f %%\t%zu", r, one->rank[r].layers,
            100 * one->rank[r].share, 100 * (double)rank->idle / (double)one->walk->makespan,
            rank->stored);
    if (!schedule->synchronous)
        fprintf(cells, "\t%zu\t%zu\t%zu", schedule->versions(shape, r),
                schedule->staleness(shape, r, HR_FORWARD),
                schedule->staleness(shape, r, HR_BACKWARD));
    fputs("\n", cells);
}

enum hr_status hr_pipelines_print_one(FILE *out, const struct hr_pipelines_one *one, size_t width)
{
    struct hr_grid table;
    char *picture;
    HR_TRY(hr_pipeline_picture(one->walk, width, &picture));
    fprintf(out, "\n%s\n", picture);
    free(picture);
    print_legend(out, one->row);
    fputs("\n", out);
    hr_grid_begin(&table, one->table->model
                              ? "-stage\t-layers\twork\tidle\tstored\tweight\nversions\t"
                                "forward\nstale\tbackward\nstale"
                              : "-stage\t-parts\twork\tidle\tstored\tweight\nversions\t"
                                "forward\nstale\tbackward\nstale");
    for (size_t r = 0; r < one->row->shape.stages; r++)
        write_rank(table.cells, one, r);
    hr_grid_end(&table, out, 0);
    return HR_OK;
}
