/* Runs: loss and accuracy (of values the rmse), each against samples, updates and seconds of
 * training; a line for runs with one label, the mean over them by number of evaluation, in a band
 * from least to most. Below them how stale updates were, and whose, and the stages of a pipeline,
 * where there are any. */
#include <stdint.h>
#include <stdlib.h>

#include "hogring/accounts.h"
#include "plot/drawing.h"
#include "report/colours.h"
#include "stats/spread.h"
#include "train/histogram.h"

/* --- what is drawn --- */

/* Runs of one label. */
struct group {
    const char *label, *strategy;
    size_t n;
    const json_t **run; /* (n) */
};

struct view {
    const json_t *runs, *first; /* the first run */
    bool values, validated, simulated;
    size_t n;
    struct group *group; /* (n) owned */
    const json_t **room; /* owned: behind the run[] of all groups */
};

static bool make_view(struct view *view, const json_t *document)
{
    const json_t *runs = json_object_get(document, "runs"), *run, *point;
    const size_t n = json_array_size(runs);
    size_t i;
    *view = (struct view){.runs = runs, .first = json_array_get(runs, 0)};
    view->group = calloc(n + 1, sizeof *view->group);
    view->room = calloc(n * n + 1, sizeof *view->room);
    json_array_foreach(runs, i, run)
    {
        const char *label = hr_json_text_at(run, "label");
        size_t g = 0;
        label = label[0] ? label : hr_json_text_at(run, "strategy");
        while (view->group && g < view->n && strcmp(view->group[g].label, label) != 0)
            g++;
        if (!view->group || !view->room)
            return false;
        if (g == view->n)
            view->group[view->n++] = (struct group){.label = label,
                                                    .strategy = hr_json_text_at(run, "strategy"),
                                                    .run = view->room + g * n};
        view->group[g].run[view->group[g].n++] = run;
    }
    point = json_array_get(json_object_get(view->first, "curve"), 0);
    view->values = json_is_object(json_object_get(point, "test_fit")) ||
                   json_is_object(json_object_get(point, "validation_fit"));
    view->validated = hr_json_number_at(view->first, "validation_samples") > 0;
    view->simulated = !strcmp(hr_json_text_at(view->first, "clock"), "virtual");
    return true;
}

/* --- data */

static size_t points_of(const json_t *run)
{
    return json_array_size(json_object_get(run, "curve"));
}

/* Evaluations that all runs of the group have. */
static size_t common_points(const struct group *group)
{
    size_t n = points_of(group->run[0]);
    for (size_t i = 1; i < group->n; i++)
        n = points_of(group->run[i]) < n ? points_of(group->run[i]) : n;
    return n;
}

enum field { SAMPLES, UPDATES, SECONDS, LOSS, SCORE }; /* accuracy, or of values the rmse */

/* Curves do not say how many updates there were: as many a sample as in the whole run. */
static double updates_at(const json_t *run, const json_t *point)
{
    const double samples = hr_json_number_at(run, "total_samples");
    return samples > 0 ? hr_json_number_at(point, "samples") *
                             hr_json_number_at(run, "total_updates") / samples
                       : 0;
}

static double field_of(const json_t *run, const json_t *point, enum field field)
{
    const bool validated = hr_json_number_at(run, "validation_samples") > 0;
    const double rmse =
        hr_json_number_at(point, validated ? "validation_fit.rmse" : "test_fit.rmse");
    switch (field) {
    case SAMPLES:
        return hr_json_number_at(point, "samples");
    case UPDATES:
        return updates_at(run, point);
    case SECONDS:
        return hr_json_number_at(point, "seconds");
    case LOSS:
        return hr_json_number_at(point, validated ? "validation_loss" : "test_loss");
    case SCORE:
        return isfinite(rmse) ? rmse
                              : 100 * hr_json_number_at(point, validated ? "validation_accuracy"
                                                                         : "test_accuracy");
    }
    return NAN;
}

static struct hr_spread spread_at(const struct group *group, size_t number, enum field field)
{
    double *values = malloc(group->n * sizeof *values);
    if (!values)
        return (struct hr_spread){.mean = NAN};
    for (size_t i = 0; i < group->n; i++)
        values[i] = field_of(
            group->run[i], json_array_get(json_object_get(group->run[i], "curve"), number), field);
    const struct hr_spread spread = hr_spread_of(values, group->n);
    free(values);
    return spread;
}

struct scale {
    double samples, updates; /* one unit of the axis */
    double most_samples, most_updates, most_seconds;
    double loss_top; /* < 0: no loss is a number; 0: gnuplot chooses */
};

/* Rows of samples, seconds, mean, least, most, updates. A mean that is NaN (a run diverged) becomes
 * an empty line, which interrupts line and band; NaN would draw the band down to the axis. */
static void write_block(FILE *out, const char *name, size_t g, const struct group *group,
                        const struct scale *scale, enum field field)
{
    fprintf(out, "$%s%zu << END\n", name, g);
    for (size_t i = 0; i < common_points(group); i++) {
        const struct hr_spread spread = spread_at(group, i, field);
        if (isfinite(spread.mean))
            fprintf(out, "%.9g %.9g %.9g %.9g %.9g %.9g\n",
                    spread_at(group, i, SAMPLES).mean / scale->samples,
                    spread_at(group, i, SECONDS).mean, spread.mean, spread.least, spread.most,
                    spread_at(group, i, UPDATES).mean / scale->updates);
        else
            fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_data(FILE *out, const struct view *view, const struct scale *scale)
{
    for (size_t g = 0; g < view->n; g++) {
        write_block(out, "loss", g, &view->group[g], scale, LOSS);
        write_block(out, "score", g, &view->group[g], scale, SCORE);
    }
}

/* --- axes */

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* A run that diverges must not press all others onto the axis: the axis ends at four times the
 * median loss. 0 when no loss is higher, -1 when no loss is a number. */
static double loss_top(const struct view *view)
{
    size_t n = 0, room = 1;
    for (size_t g = 0; g < view->n; g++)
        room += common_points(&view->group[g]);
    double *losses = malloc(room * sizeof *losses);
    for (size_t g = 0; losses && g < view->n; g++)
        for (size_t i = 0; i < common_points(&view->group[g]); i++) {
            const double loss = spread_at(&view->group[g], i, LOSS).mean;
            if (isfinite(loss))
                losses[n++] = loss;
        }
    double top = -1;
    if (n > 0) {
        qsort(losses, n, sizeof *losses, ascending);
        top = losses[n - 1] > 4 * losses[n / 2] ? 4 * losses[n / 2] : 0;
    }
    free(losses);
    return top;
}

static double unit_of(double most)
{
    return most >= 2e6 ? 1e6 : most >= 2e3 ? 1e3 : 1; /* longer numbers would touch */
}

static const char *unit_text(double unit)
{
    return unit >= 1e6 ? " (millions)" : unit >= 1e3 ? " (thousands)" : "";
}

static struct scale scale_of(const struct view *view)
{
    struct scale scale = {.loss_top = loss_top(view)};
    for (size_t g = 0; g < view->n; g++)
        for (size_t i = 0; i < common_points(&view->group[g]); i++) {
            const struct group *group = &view->group[g];
            scale.most_samples = fmax(scale.most_samples, spread_at(group, i, SAMPLES).mean);
            scale.most_updates = fmax(scale.most_updates, spread_at(group, i, UPDATES).mean);
            scale.most_seconds = fmax(scale.most_seconds, spread_at(group, i, SECONDS).mean);
        }
    scale.samples = unit_of(scale.most_samples);
    scale.updates = unit_of(scale.most_updates);
    return scale;
}

static const char *color_of(const struct group *group)
{
    return hr_colour_of(group->strategy)->on_light;
}

static void write_styles(FILE *out, const struct view *view)
{
    for (size_t g = 0; g < view->n; g++) {
        size_t every = common_points(&view->group[g]) / 12 + 1; /* a dozen points a line */
        fprintf(out, "set style line %zu lc rgb '%s' dt %s lw 2.2 pt %d ps 1 pi %zu\n", g + 1,
                color_of(&view->group[g]), hr_plot_dash(g), hr_plot_point(g), every);
    }
    fputs("set border 3 lc rgb '#404040'\n"
          "set tics nomirror out\n"
          "set grid lc rgb '#dddddd' lt 1 lw 0.8\n"
          "set offsets 0, 0, graph 0.04, graph 0.04\n"
          "set style fill transparent solid 0.15 noborder\n"
          "unset key\n",
          out);
}

/* --- panels */

struct panel {
    size_t row, column; /* in the picture */
    enum field x;       /* samples, updates, seconds */
    const char *y;      /* block of the data */
};

static void write_curves(FILE *out, const struct view *view, const struct panel *panel)
{
    const char *before = "plot";
    const int x = panel->x == SAMPLES ? 1 : panel->x == SECONDS ? 2 : 6; /* column of the data */
    for (size_t g = 0; g < view->n; g++)
        if (view->group[g].n > 1 && common_points(&view->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:4:5 with filledcurves lc rgb '%s'", before, panel->y,
                    g, x, color_of(&view->group[g]));
            before = ", \\\n ";
        }
    for (size_t g = 0; g < view->n; g++)
        if (common_points(&view->group[g]) > 0) {
            fprintf(out, "%s $%s%zu using %d:3 with linespoints ls %zu", before, panel->y, g, x,
                    g + 1);
            before = ", \\\n ";
        }
    fputc('\n', out);
}

/* The picture's height: that of two rows of panels was 860 pixels when its margins were chosen. */
struct layout {
    size_t rows, columns; /* of panels; of the legend */
    double legend, row;   /* heights, 1 being the picture's */
    double unit;          /* what was 1 in a picture of 860 pixels */
};

enum { TWO_ROWS = 860, ONE_ROW = 390, WIDTH = 1500 };

static int height_of(size_t rows)
{
    return TWO_ROWS + ((int)rows - 2) * ONE_ROW;
}

/* Columns of the legend: as many as the longest label allows in the picture's width. */
static size_t legend_columns(const struct view *view)
{
    size_t longest = 0;
    for (size_t g = 0; g < view->n; g++) {
        const size_t length = strlen(view->group[g].label);
        longest = length > longest ? length : longest;
    }
    return longest < 28 ? 3 : longest < 58 ? 2 : 1;
}

/* Of the first run that has one, and was watched; or NULL. */
static const json_t *pipeline_of(const struct view *view)
{
    for (size_t g = 0; g < view->n; g++) {
        const json_t *pipeline = json_object_get(view->group[g].run[0], "pipeline");
        if (json_array_size(json_object_get(pipeline, "step")))
            return pipeline;
    }
    return NULL;
}

/* --- staleness --- */

enum { BUCKETS = HR_RESULT_STALENESS_BUCKETS, BINS = 40 };

static double stale_max(const json_t *run)
{
    const double most = hr_json_number_at(run, "staleness.max");
    return isfinite(most) ? most : 0;
}

static bool is_stale(const struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (stale_max(group->run[i]) > 0)
            return true;
    return false;
}

static bool has_staleness(const struct view *view)
{
    for (size_t g = 0; g < view->n; g++)
        if (is_stale(&view->group[g]))
            return true;
    return false;
}

/* counts (BUCKETS) += those of the group's runs. */
static void add_counts(const struct group *group, uint64_t *counts)
{
    for (size_t i = 0; i < group->n; i++) {
        const json_t *histogram =
            json_object_get(json_object_get(group->run[i], "staleness"), "histogram");
        for (size_t bucket = 0; bucket < BUCKETS && bucket < json_array_size(histogram); bucket++)
            counts[bucket] += (uint64_t)json_integer_value(json_array_get(histogram, bucket));
    }
}

static const json_t *stale_workers(const json_t *run)
{
    return json_object_get(json_object_get(run, "staleness"), "workers");
}

/* Where the axis ends: a few very stale updates in ten thousand must not press all others to the
 * left. */
static size_t last_shown(const struct view *view)
{
    size_t last = 1;
    for (size_t g = 0; g < view->n; g++) {
        uint64_t counts[BUCKETS] = {0};
        add_counts(&view->group[g], counts);
        const size_t quantile = hr_histogram_quantile(counts, BUCKETS, 0.9995);
        last = quantile > last ? quantile : last;
    }
    return last;
}

static size_t bin_width(const struct view *view)
{
    return last_shown(view) / BINS + 1;
}

/* Rows of a bin's middle and its share in percent; an empty bin interrupts the line. */
static void write_shares(FILE *out, const struct group *group, size_t width, size_t last)
{
    uint64_t counts[BUCKETS] = {0}, total = 0;
    add_counts(group, counts);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        total += counts[bucket];
    for (size_t first = 0; first <= last; first += width) {
        uint64_t sum = 0;
        for (size_t bucket = first; bucket < first + width && bucket < BUCKETS; bucket++)
            sum += counts[bucket];
        if (sum > 0)
            fprintf(out, "%.6g %.6g\n", (double)first + (double)(width - 1) / 2,
                    100 * (double)sum / (double)total);
        else
            fputc('\n', out);
    }
}

/* A row of rank and mean, over all its updates. */
static void write_worker(FILE *out, const struct group *group, size_t rank)
{
    double updates = 0, sum = 0;
    for (size_t i = 0; i < group->n; i++) {
        const json_t *worker = json_array_get(stale_workers(group->run[i]), rank);
        const double its = hr_json_number_at(worker, "updates");
        updates += its > 0 ? its : 0;
        sum += its > 0 ? its * hr_json_number_at(worker, "mean") : 0;
    }
    if (updates > 0)
        fprintf(out, "%zu %.6g\n", rank, sum / updates);
}

static void write_staleness_data(FILE *out, const struct view *view)
{
    const size_t width = bin_width(view), last = last_shown(view);
    for (size_t g = 0; g < view->n; g++) {
        if (!is_stale(&view->group[g]))
            continue;
        fprintf(out, "$stale%zu << END\n", g);
        write_shares(out, &view->group[g], width, last);
        fprintf(out, "END\n$worker%zu << END\n", g);
        for (size_t rank = 0; rank < json_array_size(stale_workers(view->group[g].run[0])); rank++)
            write_worker(out, &view->group[g], rank);
        fputs("END\n", out);
    }
}

/* Say in the panel, at the bottom left, how much lies beyond the axis; nothing if all is shown. */
static void write_rest(FILE *out, const struct view *view, size_t width, size_t last)
{
    uint64_t all = 0, beyond = 0;
    double most = 0;
    const size_t end = (last / width + 1) * width; /* of the last bin */
    for (size_t g = 0; g < view->n; g++) {
        const struct group *group = &view->group[g];
        uint64_t counts[BUCKETS] = {0};
        add_counts(group, counts);
        for (size_t bucket = 0; is_stale(group) && bucket < BUCKETS; bucket++) {
            all += counts[bucket];
            beyond += bucket < end ? 0 : counts[bucket];
        }
        for (size_t i = 0; i < group->n; i++)
            most = fmax(most, stale_max(group->run[i]));
    }
    if (beyond > 0)
        fprintf(out,
                "set label 1 '%.2g %% of updates are beyond, up to %.0f' at graph 0.02, 0.06 "
                "left\n",
                100 * (double)beyond / (double)all, most);
}

static void write_staleness_shares(FILE *out, const struct view *view)
{
    const size_t width = bin_width(view), last = last_shown(view);
    const char *before = "plot";
    fprintf(out, "set xrange [-0.5:%zu.5]; set yrange [*:130]; set logscale y\n", last);
    fputs("set xlabel 'staleness: updates of others since the read'\n", out);
    write_rest(out, view, width, last);
    if (width > 1)
        fprintf(out, "set ylabel 'share of updates (%%, bins of %zu)'\n", width);
    else
        fputs("set ylabel 'share of updates (%)'\n", out);
    for (size_t g = 0; g < view->n; g++)
        if (is_stale(&view->group[g])) {
            fprintf(out, "%s $stale%zu using 1:2 with linespoints ls %zu pi 1", before, g, g + 1);
            before = ", \\\n ";
        }
    fputs("\nunset logscale y\nunset label 1\n", out);
}

static size_t most_workers(const struct view *view)
{
    size_t most = 1;
    for (size_t g = 0; g < view->n; g++)
        if (json_array_size(stale_workers(view->group[g].run[0])) > most)
            most = json_array_size(stale_workers(view->group[g].run[0]));
    return most;
}

static void write_staleness_workers(FILE *out, const struct view *view)
{
    const char *before = "plot";
    const size_t workers = most_workers(view);
    fprintf(out, "set xrange [-0.5:%zu.5]; set yrange [0:*]; set xtics %zu\n", workers - 1,
            (workers + 11) / 12);
    fputs("set xlabel 'worker'\nset ylabel 'mean staleness of its updates'\n", out);
    for (size_t g = 0; g < view->n; g++)
        if (is_stale(&view->group[g])) {
            fprintf(out, "%s $worker%zu using 1:2 with linespoints ls %zu pi %zu", before, g, g + 1,
                    workers / 24 + 1);
            before = ", \\\n ";
        }
    fputs("\nset xtics auto\n", out);
}
static struct layout layout_of(const struct view *view)
{
    struct layout layout = {.rows = 2 + has_staleness(view) + (pipeline_of(view) != NULL)};
    layout.unit = (double)TWO_ROWS / height_of(layout.rows);
    layout.columns = legend_columns(view);
    layout.legend =
        (0.03 + 0.03 * (double)((view->n + layout.columns - 1) / layout.columns)) * layout.unit;
    layout.row = (1 - 0.07 * layout.unit - layout.legend) / (double)layout.rows;
    return layout;
}

/* Panels have fixed places, so many beside each other; the legend is below them. */
static void set_margins(FILE *out, const struct layout *layout, size_t row, size_t column,
                        size_t columns)
{
    const double room = 0.99 / (double)columns, left = 0.07 + (double)column * room;
    const double bottom = layout->legend + (double)(layout->rows - 1 - row) * layout->row;
    fprintf(out, "set lmargin at screen %g; set rmargin at screen %g\n", left, left + room - 0.075);
    fprintf(out, "set bmargin at screen %.4f; set tmargin at screen %.4f\n",
            bottom + 0.075 * layout->unit, bottom + layout->row - 0.022 * layout->unit);
}

static const char *seconds_of(const struct view *view)
{
    return view->simulated ? "virtual seconds of training" : "seconds of training";
}

static void write_panel(FILE *out, const struct view *view, const struct scale *scale,
                        const struct panel *panel)
{
    const bool is_loss = !strcmp(panel->y, "loss");
    const double most = panel->x == SAMPLES   ? scale->most_samples / scale->samples
                        : panel->x == UPDATES ? scale->most_updates / scale->updates
                                              : scale->most_seconds;
    fprintf(out, "set xrange [0:%.6g]\n", most > 0 ? most * 1.03 : 1);
    if (is_loss && scale->loss_top > 0)
        fprintf(out, "set yrange [*:%.6g]\n", scale->loss_top);
    else if (is_loss && scale->loss_top < 0)
        fputs("set yrange [0:1]\n", out); /* gnuplot cannot choose a range without data */
    else
        fputs("set yrange [*:*]\n", out);
    fprintf(out, "set xlabel '%s%s'\n",
            panel->x == SAMPLES   ? "samples"
            : panel->x == UPDATES ? "updates"
                                  : seconds_of(view),
            unit_text(panel->x == SAMPLES   ? scale->samples
                      : panel->x == UPDATES ? scale->updates
                                            : 1));
    fprintf(out, "set ylabel '%s %s'\n", view->validated ? "validation" : "test",
            is_loss        ? "loss"
            : view->values ? "rmse"
                           : "accuracy (%)");
    write_curves(out, view, panel);
}

/* A plot that shows nothing but its key. */
static void write_legend(FILE *out, const struct view *view, const struct layout *layout)
{
    fputs("unset border; unset tics; unset grid; unset xlabel; unset ylabel\n"
          "set lmargin at screen 0.02; set rmargin at screen 0.98\n",
          out);
    fprintf(out, "set bmargin at screen 0.005; set tmargin at screen %.4f\n", layout->legend);
    fprintf(out,
            "set key center center horizontal maxcols %zu Left reverse spacing 1.25 samplen 4 "
            "width 1\nset xrange [0:1]; set yrange [0:1]\nplot",
            layout->columns);
    for (size_t g = 0; g < view->n; g++) {
        fprintf(out, "%s NaN with linespoints ls %zu title ", g ? ", \\\n " : "", g + 1);
        hr_plot_quote(out, view->group[g].label, 60);
    }
    fputc('\n', out);
}

static void write_staleness(FILE *out, const struct view *view, const struct layout *layout)
{
    fputs("set offsets 0, 0, 0, 0\n", out);
    set_margins(out, layout, 2, 0, 2);
    write_staleness_shares(out, view);
    set_margins(out, layout, 2, 1, 2);
    write_staleness_workers(out, view);
}

static struct hr_plot_step step_of(const struct view *view, char *title, size_t size)
{
    const json_t *pipeline = pipeline_of(view);
    snprintf(title, size, "%s: %s of worker 0, bubble of the run %.1f %%",
             hr_json_text_at(pipeline, "schedule"),
             view->simulated ? "a step (virtual time)" : "the last step",
             100 * hr_json_number_at(pipeline, "bubble"));
    return (struct hr_plot_step){.title = title,
                                 .stages = json_array_size(json_object_get(pipeline, "stages")),
                                 .step = json_object_get(pipeline, "step")};
}

/* The last row, all of it. */
static void write_schedule(FILE *out, const struct hr_plot_step *step, const struct layout *layout)
{
    set_margins(out, layout, layout->rows - 1, 0, 1);
    fprintf(out, "set offsets 0, 0, 0, 0\nset bmargin at screen %.4f\n",
            layout->legend + 0.115 * layout->unit);
    fprintf(out, "set tmargin at screen %.4f\n",
            layout->legend + layout->row - 0.045 * layout->unit);
    hr_plot_step_panel(out, step, 0);
}

static void write_script(FILE *out, enum hr_plot_format format, const json_t *document,
                         const struct view *view)
{
    static const struct panel panels[] = {{0, 0, SAMPLES, "loss"},  {0, 1, UPDATES, "loss"},
                                          {0, 2, SECONDS, "loss"},  {1, 0, SAMPLES, "score"},
                                          {1, 1, UPDATES, "score"}, {1, 2, SECONDS, "score"}};
    const struct scale scale = scale_of(view);
    const struct layout layout = layout_of(view);
    hr_plot_terminal(out, format, WIDTH, height_of(layout.rows));
    write_data(out, view, &scale);
    const bool stale = has_staleness(view), staged = pipeline_of(view) != NULL;
    struct hr_plot_step step = {0};
    const char *note = hr_json_text_at(document, "note");
    char about[160];
    if (stale)
        write_staleness_data(out, view);
    if (staged) {
        step = step_of(view, about, sizeof about);
        hr_plot_step_data(out, &step, 0);
    }
    write_styles(out, view);
    fputs("set multiplot\nset label 1 ", out);
    hr_plot_quote(out, hr_json_text_at(document, "title"), 110);
    fprintf(out, " at screen 0.5,%.4f center font ',16'\n", 1 - 0.026 * layout.unit);
    if (note[0]) {
        fputs("set label 2 ", out);
        hr_plot_quote(out, note, 160);
        fprintf(out, " at screen 0.5,%.4f center\n", 1 - 0.055 * layout.unit);
    }
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        set_margins(out, &layout, panels[i].row, panels[i].column, 3);
        write_panel(out, view, &scale, &panels[i]);
        fputs("unset label 1; unset label 2\n", out);
    }
    if (stale)
        write_staleness(out, view, &layout);
    if (staged)
        write_schedule(out, &step, &layout);
    write_legend(out, view, &layout);
    fputs("unset multiplot\n", out);
}

bool hr_plot_runs(FILE *out, enum hr_plot_format format, const json_t *document)
{
    struct view view;
    bool any = false;
    const bool made = make_view(&view, document);
    for (size_t g = 0; made && g < view.n; g++)
        for (size_t i = 0; i < view.group[g].n; i++)
            any = any || points_of(view.group[g].run[i]) > 0;
    if (any)
        write_script(out, format, document, &view);
    free(view.group);
    free(view.room);
    return any;
}
