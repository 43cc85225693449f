#include "plot/plot_schedule.h"

#include "plot/gnuplot.h"
#include "plot/plot.h"

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

static bool is_of(const struct hr_stage_span *span, const struct kind *kind)
{
    return span->work == kind->work && (span->chunk % 2 == 1) == kind->pale;
}

static bool has(const struct hr_plot_schedule *schedule, const struct kind *kind)
{
    for (size_t i = 0; i < schedule->n; i++)
        if (is_of(&schedule->span[i], kind))
            return true;
    return false;
}

static double makespan_of(const struct hr_plot_schedule *schedule)
{
    double end = 0;
    for (size_t i = 0; i < schedule->n; i++)
        end = schedule->span[i].end_s > end ? schedule->span[i].end_s : end;
    return end;
}

struct unit {
    double seconds;
    const char *name;
};

static struct unit unit_of(const struct hr_plot_schedule *schedule)
{
    const double end = makespan_of(schedule);
    if (schedule->unit)
        return (struct unit){1, schedule->unit};
    return end < 1e-3  ? (struct unit){1e-6, "us"}
           : end < 1.0 ? (struct unit){1e-3, "ms"}
                       : (struct unit){1, "s"};
}

void hr_plot_schedule_data(FILE *out, const struct hr_plot_schedule *schedule, size_t number)
{
    const double unit = unit_of(schedule).seconds, end = makespan_of(schedule);
    for (size_t k = 0; k < KINDS; k++) {
        fprintf(out, "$schedule%zu_%zu << END\n", number, k);
        for (size_t i = 0; i < schedule->n; i++) {
            const struct hr_stage_span *span = &schedule->span[i];
            if (is_of(span, &kinds[k]))
                fprintf(out, "%.6g %zu %.6g %.6g\n", (span->start_s + span->end_s) / 2 / unit,
                        span->stage, span->start_s / unit, span->end_s / unit);
        }
        fputs("END\n", out);
    }
    fprintf(out, "$schedule%zu_numbers << END\n", number);
    for (size_t i = 0; i < schedule->n; i++) {
        const struct hr_stage_span *span = &schedule->span[i];
        if (span->end_s - span->start_s > end / NUMBERED)
            fprintf(out, "%.6g %zu %zu\n", (span->start_s + span->end_s) / 2 / unit, span->stage,
                    span->micro_batch);
    }
    fputs("END\n", out);
}

/* A grey row behind each stage: what is not drawn over is idle. */
static void write_rows(FILE *out, const struct hr_plot_schedule *schedule, double end)
{
    for (size_t k = 0; k < schedule->stages; k++)
        fprintf(out,
                "set object %zu rectangle from 0,%g to %.6g,%g behind fc rgb '#e4e4e4' fs solid "
                "noborder\n",
                k + 1, (double)k - 0.4, end, (double)k + 0.4);
}

static void write_boxes(FILE *out, const struct hr_plot_schedule *schedule, size_t number)
{
    const char *before = "plot";
    for (size_t k = 0; k < KINDS; k++) {
        if (!has(schedule, &kinds[k]))
            continue;
        fprintf(out,
                "%s $schedule%zu_%zu using 1:2:3:4:($2-0.4):($2+0.4) with boxxyerror fc rgb '%s' "
                "fs solid border lc rgb 'white' lw 0.3 title '%s'",
                before, number, k, kinds[k].color, kinds[k].name);
        before = ", \\\n ";
    }
    fprintf(out,
            "%s NaN with boxes fc rgb '#e4e4e4' fs solid title 'idle', \\\n "
            "$schedule%zu_numbers using 1:2:3 with labels textcolor rgb 'white' font ',10' "
            "notitle\n",
            before, number);
}

void hr_plot_schedule_panel(FILE *out, const struct hr_plot_schedule *schedule, size_t number)
{
    const struct unit unit = unit_of(schedule);
    const double end = makespan_of(schedule) / unit.seconds;
    const size_t K = schedule->stages;
    fputs("set label 2 ", out);
    hr_plot_quote(out, schedule->title, 70);
    fprintf(out,
            " at graph 0,1.06 left\nset xrange [0:%.6g]; set yrange [%g:-0.7]; set xlabel '%s'; "
            "set ylabel 'stage'\n"
            "set ytics %zu; unset grid\n"
            "set key at graph 1,1.1 right horizontal maxrows 1 Left reverse samplen 1\n",
            end > 0 ? end : 1, (double)K - 0.3, unit.name, K / 16 + 1);
    write_rows(out, schedule, end);
    write_boxes(out, schedule, number);
    for (size_t k = 0; k < K; k++)
        fprintf(out, "unset object %zu\n", k + 1);
    fputs("unset label 2; set key default; unset key; set ytics auto\n", out);
}

/* --- a picture of its own --- */

enum { TITLE = 50, PANEL = 410, ABOVE = 50, BELOW = 70 };

struct picture {
    const char *title;
    const struct hr_plot_schedule *panel; /* (n) */
    size_t n;
};

static void set_margins(FILE *out, double height, size_t i)
{
    const double top = TITLE + PANEL * (double)i;
    fprintf(out,
            "set lmargin at screen 0.06; set rmargin at screen 0.985\n"
            "set tmargin at screen %.4f; set bmargin at screen %.4f\n",
            1 - (top + ABOVE) / height, 1 - (top + PANEL - BELOW) / height);
}

static void write_script(FILE *out, enum hr_plot_format format, const void *arg)
{
    const struct picture *picture = arg;
    const int height = TITLE + PANEL * (int)picture->n;
    hr_plot_terminal(out, format, 1200, height);
    for (size_t i = 0; i < picture->n; i++)
        hr_plot_schedule_data(out, &picture->panel[i], i);
    fputs("set border 3 lc rgb '#404040'\nset tics nomirror out\nset multiplot\nset label 1 ", out);
    hr_plot_quote(out, picture->title, 90);
    fprintf(out, " at screen 0.5,%.4f center font ',16'\n", 1 - 0.5 * TITLE / height);
    for (size_t i = 0; i < picture->n; i++) {
        set_margins(out, height, i);
        hr_plot_schedule_panel(out, &picture->panel[i], i);
        fputs("unset label 1\n", out);
    }
    fputs("unset multiplot\n", out);
}

enum hr_status hr_plot_schedules(const char *path, const char *title,
                                 const struct hr_plot_schedule *panel, size_t n)
{
    const struct picture picture = {title, panel, n};
    for (size_t i = 0; i < n; i++)
        if (!panel[i].n)
            return hr_fail(HR_E_USAGE,
                           "%s: these are too many actions, or none, and so there is nothing to "
                           "draw; expected fewer stages or micro-batches",
                           path);
    return hr_gnuplot_draw(path, write_script, &picture);
}
