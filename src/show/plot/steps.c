/* What the stages of a pipeline did when: as a panel, and as a picture of its own. */
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

struct span {
    size_t stage, micro_batch, chunk;
    char work;
    double start, end;
};

static struct span span_at(const struct hr_plot_step *step, size_t i)
{
    const json_t *span = json_array_get(step->step, i);
    const char *work = json_string_value(json_array_get(span, 1));
    return (struct span){.stage = (size_t)json_integer_value(json_array_get(span, 0)),
                         .work = work ? work[0] : '\0',
                         .micro_batch = (size_t)json_integer_value(json_array_get(span, 2)),
                         .chunk = (size_t)json_integer_value(json_array_get(span, 3)),
                         .start = json_number_value(json_array_get(span, 4)),
                         .end = json_number_value(json_array_get(span, 5))};
}

static bool is_of(const struct span *span, const struct kind *kind)
{
    return span->work == kind->work && (span->chunk % 2 == 1) == kind->pale;
}

static bool has(const struct hr_plot_step *step, const struct kind *kind)
{
    for (size_t i = 0; i < json_array_size(step->step); i++) {
        const struct span span = span_at(step, i);
        if (is_of(&span, kind))
            return true;
    }
    return false;
}

static double makespan_of(const struct hr_plot_step *step)
{
    double end = 0;
    for (size_t i = 0; i < json_array_size(step->step); i++)
        end = fmax(end, span_at(step, i).end);
    return end;
}

struct unit {
    double seconds;
    const char *name;
};

static struct unit unit_of(const struct hr_plot_step *step)
{
    const double end = makespan_of(step);
    if (step->unit)
        return (struct unit){1, step->unit};
    return end < 1e-3  ? (struct unit){1e-6, "us"}
           : end < 1.0 ? (struct unit){1e-3, "ms"}
                       : (struct unit){1, "s"};
}

void hr_plot_step_data(FILE *out, const struct hr_plot_step *step, size_t number)
{
    const double unit = unit_of(step).seconds, end = makespan_of(step);
    for (size_t k = 0; k < KINDS; k++) {
        fprintf(out, "$schedule%zu_%zu << END\n", number, k);
        for (size_t i = 0; i < json_array_size(step->step); i++) {
            const struct span at = span_at(step, i), *span = &at;
            if (is_of(span, &kinds[k]))
                fprintf(out, "%.6g %zu %.6g %.6g\n", (span->start + span->end) / 2 / unit,
                        span->stage, span->start / unit, span->end / unit);
        }
        fputs("END\n", out);
    }
    fprintf(out, "$schedule%zu_numbers << END\n", number);
    for (size_t i = 0; i < json_array_size(step->step); i++) {
        const struct span at = span_at(step, i), *span = &at;
        if (span->end - span->start > end / NUMBERED)
            fprintf(out, "%.6g %zu %zu\n", (span->start + span->end) / 2 / unit, span->stage,
                    span->micro_batch);
    }
    fputs("END\n", out);
}

/* A grey row behind each stage: what is not drawn over is idle. */
static void write_rows(FILE *out, const struct hr_plot_step *step, double end)
{
    for (size_t k = 0; k < step->stages; k++)
        fprintf(out,
                "set object %zu rectangle from 0,%g to %.6g,%g behind fc rgb '#e4e4e4' fs solid "
                "noborder\n",
                k + 1, (double)k - 0.4, end, (double)k + 0.4);
}

static void write_boxes(FILE *out, const struct hr_plot_step *step, size_t number)
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

void hr_plot_step_panel(FILE *out, const struct hr_plot_step *step, size_t number)
{
    const struct unit unit = unit_of(step);
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

static void set_margins(FILE *out, double height, size_t i)
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
    struct hr_plot_step step[4];
    size_t i, n = 0;
    json_array_foreach(panels, i, one)
    {
        if (n == 4 || !json_array_size(json_object_get(one, "step")))
            break;
        step[n++] = (struct hr_plot_step){.title = hr_json_text_at(one, "title"),
                                          .unit = json_string_value(json_object_get(one, "unit")),
                                          .stages = stages_of(one),
                                          .step = json_object_get(one, "step")};
    }
    const int height = TITLE + PANEL * (int)n;
    if (n == 0)
        return false;
    hr_plot_terminal(out, format, 1200, height);
    for (i = 0; i < n; i++)
        hr_plot_step_data(out, &step[i], i);
    fputs("set border 3 lc rgb '#404040'\nset tics nomirror out\nset multiplot\nset label 1 ", out);
    hr_plot_quote(out, hr_json_text_at(document, "title"), 90);
    fprintf(out, " at screen 0.5,%.4f center font ',16'\n", 1 - 0.5 * TITLE / height);
    for (i = 0; i < n; i++) {
        set_margins(out, height, i);
        hr_plot_step_panel(out, &step[i], i);
        fputs("unset label 1\n", out);
    }
    fputs("unset multiplot\n", out);
    return true;
}
