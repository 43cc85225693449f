/* Runs: loss and accuracy (of values the rmse), each against samples, updates and seconds of
 * training; a line for runs with one label, the mean over them by number of evaluation, in a band
 * from least to most. And what the stages of a pipeline did when. */
#include "hogring/accounts.h"

#include <stdint.h>
#include <stdlib.h>

#include "page/page.h"
#include "plot/plot.h"
#include "stats/tests.h"
#include "train/dense_result.h"

/* --- what the stages of a pipeline did when --- */

/* A panel: what stages did when. A row a stage, time to the right: forward, backward (or its
 * halves, for the data and for the weights), and grey where it idles; every other chunk is paler.
 * The number is the micro-batch, where there is room for it. `step`: as in documents, a list of
 * [stage, work, micro-batch, chunk, start, end]; unit: of time, NULL for seconds. */
struct step_panel {
    const char *title, *unit;
    size_t stages;
    const json_t *step;
};
/* What is drawn in one colour. */
static const struct kind {
    char work;
    bool pale; /* every other chunk */
    const char *color, *name;
} kinds[] = {
    {'F', false, "#0072b2", "forward"},           {'F', true, "#56b4e9", "of every other chunk"},
    {'B', false, "#d55e00", "backward"},          {'B', true, "#f0a878", "of every other chunk"},
    {'D', false, "#d55e00", "backward for data"}, {'W', false, "#009e73", "backward for weights"},
};

enum { KINDS = sizeof kinds / sizeof *kinds, NUMBERED = 60 };

struct stage_span {
    size_t stage, micro_batch, chunk;
    char work;
    double start, end;
};

static struct stage_span span_at(const struct step_panel *step, size_t i)
{
    const json_t *span = json_array_get(step->step, i);
    const char *work = json_string_value(json_array_get(span, 1));
    return (struct stage_span){.stage = (size_t)json_integer_value(json_array_get(span, 0)),
                               .work = work ? work[0] : '\0',
                               .micro_batch = (size_t)json_integer_value(json_array_get(span, 2)),
                               .chunk = (size_t)json_integer_value(json_array_get(span, 3)),
                               .start = json_number_value(json_array_get(span, 4)),
                               .end = json_number_value(json_array_get(span, 5))};
}

static bool is_of(const struct stage_span *span, const struct kind *kind)
{
    return span->work == kind->work && (span->chunk % 2 == 1) == kind->pale;
}

static bool has(const struct step_panel *step, const struct kind *kind)
{
    for (size_t i = 0; i < json_array_size(step->step); i++) {
        const struct stage_span span = span_at(step, i);
        if (is_of(&span, kind))
            return true;
    }
    return false;
}

static double makespan_of(const struct step_panel *step)
{
    double end = 0;
    for (size_t i = 0; i < json_array_size(step->step); i++)
        end = fmax(end, span_at(step, i).end);
    return end;
}

struct time_unit {
    double seconds;
    const char *name;
};

static struct time_unit unit_of(const struct step_panel *step)
{
    const double end = makespan_of(step);
    if (step->unit)
        return (struct time_unit){1, step->unit};
    return end < 1e-3  ? (struct time_unit){1e-6, "us"}
           : end < 1.0 ? (struct time_unit){1e-3, "ms"}
                       : (struct time_unit){1, "s"};
}

/* The data blocks $schedule<number>..., and the panel's ranges, labels and plot command; margins
 * are set. */
static void write_step_data(FILE *out, const struct step_panel *step, size_t number)
{
    const double unit = unit_of(step).seconds, end = makespan_of(step);
    for (size_t k = 0; k < KINDS; k++) {
        fprintf(out, "$schedule%zu_%zu << END\n", number, k);
        for (size_t i = 0; i < json_array_size(step->step); i++) {
            const struct stage_span at = span_at(step, i), *span = &at;
            if (is_of(span, &kinds[k]))
                fprintf(out, "%.6g %zu %.6g %.6g\n", (span->start + span->end) / 2 / unit,
                        span->stage, span->start / unit, span->end / unit);
        }
        fputs("END\n", out);
    }
    fprintf(out, "$schedule%zu_numbers << END\n", number);
    for (size_t i = 0; i < json_array_size(step->step); i++) {
        const struct stage_span at = span_at(step, i), *span = &at;
        if (span->end - span->start > end / NUMBERED)
            fprintf(out, "%.6g %zu %zu\n", (span->start + span->end) / 2 / unit, span->stage,
                    span->micro_batch);
    }
    fputs("END\n", out);
}

/* A grey row behind each stage: what is not drawn over is idle. */
static void write_rows(FILE *out, const struct step_panel *step, double end)
{
    for (size_t k = 0; k < step->stages; k++)
        fprintf(out,
                "set object %zu rectangle from 0,%g to %.6g,%g behind fc rgb '#e4e4e4' fs solid "
                "noborder\n",
                k + 1, (double)k - 0.4, end, (double)k + 0.4);
}

static void write_boxes(FILE *out, const struct step_panel *step, size_t number)
{
    struct hr_plot_list list = {.out = out};
    for (size_t k = 0; k < KINDS; k++)
        if (has(step, &kinds[k]))
            hr_plot_add(&list,
                        "$schedule%zu_%zu using 1:2:3:4:($2-0.4):($2+0.4) with boxxyerror fc rgb "
                        "'%s' fs solid border lc rgb 'white' lw 0.3 title '%s'",
                        number, k, kinds[k].color, kinds[k].name);
    hr_plot_add(&list, "NaN with boxes fc rgb '#e4e4e4' fs solid title 'idle'");
    hr_plot_add(&list,
                "$schedule%zu_numbers using 1:2:3 with labels textcolor rgb 'white' font ',10' "
                "notitle\n",
                number);
}

static void write_step_panel(FILE *out, const struct step_panel *step, size_t number)
{
    const struct time_unit unit = unit_of(step);
    const double end = makespan_of(step) / unit.seconds;
    const size_t K = step->stages;
    fputs("set label 2 ", out);
    hr_plot_quote(out, step->title, 70);
    fprintf(out,
            " at graph 0,1.06 left\nset xrange [0:%.6g]; set yrange [%g:-0.7]; set xlabel '%s'; "
            "set ylabel 'stage'\n"
            "set ytics %zu; unset grid\n"
            "set key at graph 1,1.1 right horizontal maxrows 1 Left reverse samplen 1\n",
            end > 0 ? end : 1, (double)K - 0.3, unit.name, K / 16 + 1);
    write_rows(out, step, end);
    write_boxes(out, step, number);
    for (size_t k = 0; k < K; k++)
        fprintf(out, "unset object %zu\n", k + 1);
    fputs("unset label 2; set key default; unset key; set ytics auto\n", out);
}

/* --- a picture of its own --- */

enum { TITLE = 50, PANEL = 410, ABOVE = 50, BELOW = 70 };

static void set_step_margins(FILE *out, double height, size_t i)
{
    const double top = TITLE + PANEL * (double)i;
    fprintf(out,
            "set lmargin at screen 0.06; set rmargin at screen 0.985\n"
            "set tmargin at screen %.4f; set bmargin at screen %.4f\n",
            1 - (top + ABOVE) / height, 1 - (top + PANEL - BELOW) / height);
}

static size_t stages_of(const json_t *panel)
{
    const double stages = hr_json_number_at(panel, "stages");
    return stages > 0 && stages < 4096 ? (size_t)stages : 0;
}

bool hr_plot_steps(FILE *out, enum hr_plot_format format, const json_t *document)
{
    const json_t *panels = json_object_get(document, "steps"), *one;
    struct step_panel step[4];
    size_t i, n = 0;
    json_array_foreach(panels, i, one)
    {
        if (n == 4 || !json_array_size(json_object_get(one, "step")))
            break;
        step[n++] = (struct step_panel){.title = hr_json_text_at(one, "title"),
                                        .unit = json_string_value(json_object_get(one, "unit")),
                                        .stages = stages_of(one),
                                        .step = json_object_get(one, "step")};
    }
    const int height = TITLE + PANEL * (int)n;
    if (n == 0)
        return false;
    hr_plot_terminal(out, format, 1200, height);
    for (i = 0; i < n; i++)
        write_step_data(out, &step[i], i);
    fputs("set border 3 lc rgb '#404040'\nset tics nomirror out\nset multiplot\nset label 1 ", out);
    hr_plot_quote(out, hr_json_text_at(document, "title"), 90);
    fprintf(out, " at screen 0.5,%.4f center font ',16'\n", 1 - 0.5 * TITLE / height);
    for (i = 0; i < n; i++) {
        set_step_margins(out, height, i);
        write_step_panel(out, &step[i], i);
        fputs("unset label 1\n", out);
    }
    fputs("unset multiplot\n", out);
    return true;
}

/* --- what is drawn: runs of one label are a group; all of it is worked out at once --- */

enum abscissa { SAMPLES, UPDATES, SECONDS, ABSCISSAS };
enum ordinate { LOSS, SCORE, ORDINATES }; /* accuracy, of values the rmse, of text perplexity */

struct point {
    double x[ABSCISSAS]; /* means */
    struct hr_spread y[ORDINATES];
};

struct group {
    const char *label, *strategy;
    size_t n;
    const json_t **run;  /* (n) */
    struct point *point; /* (points) owned: evaluations that all its runs have */
    size_t points;
};

struct view {
    const json_t *first; /* run */
    const char *score;   /* its title */
    bool validated, simulated;
    size_t n;
    struct group *group; /* (n) owned */
    const json_t **room; /* owned: behind the run[] of all groups */
    double most[ABSCISSAS], unit[ABSCISSAS];
    double loss_top; /* < 0: no loss is a number; 0: gnuplot chooses */
};

static const json_t *curve_of(const json_t *run)
{
    return json_object_get(run, "curve");
}

/* Curves do not say how many updates there were: as many a sample as in the whole run. */
static double abscissa_of(const json_t *run, const json_t *point, enum abscissa x)
{
    const double all = hr_json_number_at(run, "total_samples");
    if (x == UPDATES)
        return all > 0 ? hr_json_number_at(point, "samples") *
                             hr_json_number_at(run, "total_updates") / all
                       : 0;
    return hr_json_number_at(point, x == SAMPLES ? "samples" : "seconds");
}

/* What of an evaluation is drawn beside its loss. */
struct score {
    const char *key[2]; /* of the test set, of a validation split */
    const char *title;
    double times; /* what is drawn is so many times it */
};

static const struct score *score_of(const json_t *point)
{
    static const struct score scores[] = {
        {{"test_fit.rmse", "validation_fit.rmse"}, "rmse", 1},
        {{"test_text.perplexity", "validation_text.perplexity"}, "perplexity", 1},
        {{"test_accuracy", "validation_accuracy"}, "accuracy (%)", 100}};
    size_t i = 0;
    while (i < 2 && !isfinite(hr_json_number_at(point, scores[i].key[0])) &&
           !isfinite(hr_json_number_at(point, scores[i].key[1])))
        i++;
    return &scores[i];
}

static double ordinate_of(const json_t *run, const json_t *point, enum ordinate y)
{
    const bool validated = hr_json_number_at(run, "validation_samples") > 0;
    const struct score *score = score_of(point);
    const double value = hr_json_number_at(point, score->key[validated]);
    if (y == LOSS)
        return hr_json_number_at(point, validated ? "validation_loss" : "test_loss");
    return score->times * value;
}

static struct point mean_point(const struct group *group, size_t number, double *values)
{
    struct point mean;
    for (int f = 0; f < ABSCISSAS + ORDINATES; f++) {
        for (size_t i = 0; i < group->n; i++) {
            const json_t *run = group->run[i], *point = json_array_get(curve_of(run), number);
            values[i] = f < ABSCISSAS ? abscissa_of(run, point, (enum abscissa)f)
                                      : ordinate_of(run, point, (enum ordinate)(f - ABSCISSAS));
        }
        const struct hr_spread spread = hr_spread_of(values, group->n);
        if (f < ABSCISSAS)
            mean.x[f] = spread.mean;
        else
            mean.y[f - ABSCISSAS] = spread;
    }
    return mean;
}

static bool measure(struct group *group)
{
    group->points = SIZE_MAX;
    for (size_t i = 0; i < group->n; i++) {
        const size_t points = json_array_size(curve_of(group->run[i]));
        group->points = points < group->points ? points : group->points;
    }
    double *values = malloc(group->n * sizeof *values);
    group->point = calloc(group->points + 1, sizeof *group->point);
    for (size_t p = 0; values && group->point && p < group->points; p++)
        group->point[p] = mean_point(group, p, values);
    free(values);
    return values && group->point;
}

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
        room += view->group[g].points;
    double *losses = malloc(room * sizeof *losses), top = -1;
    for (size_t g = 0; losses && g < view->n; g++)
        for (size_t p = 0; p < view->group[g].points; p++)
            if (isfinite(view->group[g].point[p].y[LOSS].mean))
                losses[n++] = view->group[g].point[p].y[LOSS].mean;
    if (n > 0) {
        qsort(losses, n, sizeof *losses, ascending);
        top = losses[n - 1] > 4 * losses[n / 2] ? 4 * losses[n / 2] : 0;
    }
    free(losses);
    return top;
}

/* Axes, over all groups. */
static void find_scales(struct view *view)
{
    for (size_t g = 0; g < view->n; g++)
        for (size_t p = 0; p < view->group[g].points; p++)
            for (int x = 0; x < ABSCISSAS; x++)
                view->most[x] = fmax(view->most[x], view->group[g].point[p].x[x]);
    for (int x = 0; x < ABSCISSAS; x++)
        view->unit[x] = x == SECONDS           ? 1
                        : view->most[x] >= 2e6 ? 1e6
                        : view->most[x] >= 2e3 ? 1e3
                                               : 1;
    view->loss_top = loss_top(view);
}

static bool make_view(struct view *view, const json_t *document)
{
    const json_t *runs = json_object_get(document, "runs"), *run, *point;
    const size_t n = json_array_size(runs);
    bool good;
    size_t i;
    *view = (struct view){.first = json_array_get(runs, 0)};
    view->group = calloc(n + 1, sizeof *view->group);
    view->room = calloc(n * n + 1, sizeof *view->room);
    good = view->group && view->room;
    json_array_foreach(runs, i, run)
    {
        const char *label = hr_json_text_at(run, "label");
        size_t g = 0;
        label = label[0] ? label : hr_json_text_at(run, "strategy");
        while (good && g < view->n && strcmp(view->group[g].label, label) != 0)
            g++;
        if (!good)
            break;
        if (g == view->n)
            view->group[view->n++] = (struct group){.label = label,
                                                    .strategy = hr_json_text_at(run, "strategy"),
                                                    .run = view->room + g * n};
        view->group[g].run[view->group[g].n++] = run;
    }
    for (size_t g = 0; g < view->n; g++)
        good = measure(&view->group[g]) && good;
    point = json_array_get(curve_of(view->first), 0);
    view->score = score_of(point)->title;
    view->validated = hr_json_number_at(view->first, "validation_samples") > 0;
    view->simulated = !strcmp(hr_json_text_at(view->first, "clock"), "virtual");
    if (good)
        find_scales(view);
    return good;
}

/* --- data --- */

/* Rows of samples, seconds, mean, least, most, updates. A mean that is NaN (a run diverged) becomes
 * an empty line, which interrupts line and band; NaN would draw the band down to the axis. */
static void write_curve(FILE *out, const struct view *view, size_t g, enum ordinate y)
{
    fprintf(out, "$%s%zu << END\n", y == LOSS ? "loss" : "score", g);
    for (size_t p = 0; p < view->group[g].points; p++) {
        const struct point *point = &view->group[g].point[p];
        if (isfinite(point->y[y].mean))
            fprintf(out, "%.9g %.9g %.9g %.9g %.9g %.9g", point->x[SAMPLES] / view->unit[SAMPLES],
                    point->x[SECONDS], point->y[y].mean, point->y[y].least, point->y[y].most,
                    point->x[UPDATES] / view->unit[UPDATES]);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_data(FILE *out, const struct view *view)
{
    for (size_t g = 0; g < view->n; g++) {
        write_curve(out, view, g, LOSS);
        write_curve(out, view, g, SCORE);
    }
}

static void write_styles(FILE *out, const struct view *view)
{
    for (size_t g = 0; g < view->n; g++)
        fprintf(out, "set style line %zu lc rgb '%s' dt %s lw 2.2 pt %d ps 1 pi %zu\n", g + 1,
                hr_colour_of(view->group[g].strategy)->on_light, hr_plot_style(g).dash,
                hr_plot_style(g).point,
                view->group[g].points / 12 + 1); /* a dozen points per line */
    fputs(HR_PLOT_AXES "set offsets 0, 0, graph 0.04, graph 0.04\n"
                       "set style fill transparent solid 0.15 noborder\n"
                       "unset key\n",
          out);
}

/* --- panels: they have fixed places, so many beside each other; the legend is below them --- */

enum { WIDTH = 1500, HEIGHT = 860, ROWS = ORDINATES };

/* Of the legend: columns, and its height, 1 being the picture's. */
struct layout {
    size_t columns;
    double legend;
};

/* The legend has as many columns as the longest label allows in the picture's width. */
static struct layout layout_of(const struct view *view)
{
    struct layout layout;
    size_t longest = 0;
    for (size_t g = 0; g < view->n; g++) {
        const size_t length = strlen(view->group[g].label);
        longest = length > longest ? length : longest;
    }
    layout.columns = longest < 28 ? 3 : longest < 58 ? 2 : 1;
    layout.legend = 0.03 + 0.03 * (double)((view->n + layout.columns - 1) / layout.columns);
    return layout;
}

static void set_margins(FILE *out, const struct layout *layout, size_t row, size_t column)
{
    const double room = 0.99 / ABSCISSAS, left = 0.07 + (double)column * room;
    const double height = (0.93 - layout->legend) / ROWS;
    const double bottom = layout->legend + (double)(ROWS - 1 - row) * height;
    fprintf(out, "set lmargin at screen %g; set rmargin at screen %g\n", left, left + room - 0.075);
    fprintf(out, "set bmargin at screen %.4f; set tmargin at screen %.4f\n", bottom + 0.075,
            bottom + height - 0.022);
}

static void write_curves(FILE *out, const struct view *view, enum abscissa x, enum ordinate y)
{
    struct hr_plot_list list = {.out = out};
    const int column = x == SAMPLES ? 1 : x == SECONDS ? 2 : 6; /* of the data */
    const char *name = y == LOSS ? "loss" : "score";
    for (size_t g = 0; g < view->n; g++)
        if (view->group[g].n > 1 && view->group[g].points > 0)
            hr_plot_add(&list, "$%s%zu using %d:4:5 with filledcurves lc rgb '%s'", name, g, column,
                        hr_colour_of(view->group[g].strategy)->on_light);
    for (size_t g = 0; g < view->n; g++)
        if (view->group[g].points > 0)
            hr_plot_add(&list, "$%s%zu using %d:3 with linespoints ls %zu", name, g, column, g + 1);
    fputc('\n', out);
}

static void write_panel(FILE *out, const struct view *view, enum abscissa x, enum ordinate y)
{
    const char *titles[] = {"samples", "updates",
                            view->simulated ? "virtual seconds of training"
                                            : "seconds of training"};
    const double most = view->most[x] / view->unit[x];
    fprintf(out, "set xrange [0:%.6g]\n", most > 0 ? most * 1.03 : 1);
    if (y == LOSS && view->loss_top > 0)
        fprintf(out, "set yrange [*:%.6g]\n", view->loss_top);
    else /* gnuplot cannot choose a range without data */
        fputs(y == LOSS && view->loss_top < 0 ? "set yrange [0:1]\n" : "set yrange [*:*]\n", out);
    fprintf(out, "set xlabel '%s%s'\n", titles[x],
            view->unit[x] >= 1e6   ? " (millions)"
            : view->unit[x] >= 1e3 ? " (thousands)"
                                   : "");
    fprintf(out, "set ylabel '%s %s'\n", view->validated ? "validation" : "test",
            y == LOSS ? "loss" : view->score);
    write_curves(out, view, x, y);
}

/* A plot that shows nothing but its key. */
static void write_legend(FILE *out, const struct view *view, const struct layout *layout)
{
    struct hr_plot_list list = {.out = out};
    fputs("unset border; unset tics; unset grid; unset xlabel; unset ylabel\n"
          "set lmargin at screen 0.02; set rmargin at screen 0.98\n",
          out);
    fprintf(out, "set bmargin at screen 0.005; set tmargin at screen %.4f\n", layout->legend);
    fprintf(out,
            "set key center center horizontal maxcols %zu Left reverse spacing 1.25 samplen 4 "
            "width 1\nset xrange [0:1]; set yrange [0:1]\n",
            layout->columns);
    for (size_t g = 0; g < view->n; g++) {
        hr_plot_add(&list, "NaN with linespoints ls %zu title ", g + 1);
        hr_plot_quote(out, view->group[g].label, 60);
    }
    fputc('\n', out);
}

static void write_script(FILE *out, enum hr_plot_format format, const json_t *document,
                         const struct view *view)
{
    const struct layout layout = layout_of(view);
    const char *note = hr_json_text_at(document, "note");
    hr_plot_terminal(out, format, WIDTH, HEIGHT);
    write_data(out, view);
    write_styles(out, view);
    fputs("set multiplot\nset label 1 ", out);
    hr_plot_quote(out, hr_json_text_at(document, "title"), 110);
    fputs(" at screen 0.5,0.974 center font ',16'\n", out);
    if (note[0]) {
        fputs("set label 2 ", out);
        hr_plot_quote(out, note, 160);
        fputs(" at screen 0.5,0.945 center\n", out);
    }
    for (int y = 0; y < ORDINATES; y++)
        for (int x = 0; x < ABSCISSAS; x++) {
            set_margins(out, &layout, (size_t)y, (size_t)x);
            write_panel(out, view, (enum abscissa)x, (enum ordinate)y);
            fputs("unset label 1; unset label 2\n", out);
        }
    write_legend(out, view, &layout);
    fputs("unset multiplot\n", out);
}

bool hr_plot_runs(FILE *out, enum hr_plot_format format, const json_t *document)
{
    struct view view;
    const json_t *run;
    size_t i;
    bool any = false;
    const bool made = make_view(&view, document);
    json_array_foreach(json_object_get(document, "runs"), i, run) any =
        any || json_array_size(curve_of(run)) > 0;
    if (made && any)
        write_script(out, format, document, &view);
    for (size_t g = 0; g < view.n; g++)
        free(view.group[g].point);
    free(view.group);
    free(view.room);
    return made && any;
}
