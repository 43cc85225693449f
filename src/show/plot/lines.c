/* Measurements as lines, each in a band: times of collectives over sizes, of a store over sizes or
 * workers, and training speed over workers: does another worker help. */
#include <stdlib.h>

#include "plot/drawing.h"

enum { MOST_CURVES = 32, NAME = 256 };

struct lines {
    const json_t *document, *rows;
    bool speeds, store, sweep; /* sweep: of a store; it holds the size and varies workers */
    const char *x, *y, *low, *high;
    size_t curves;
    char name[MOST_CURVES][NAME];
    const json_t *first[MOST_CURVES]; /* row of each curve */
    double most;                      /* of all rows */
};

/* What tells a row's curve from others. */
static void name_row(const struct lines *lines, const json_t *row, char name[NAME])
{
    const size_t servers = (size_t)json_integer_value(json_object_get(row, "servers"));
    const char *op = hr_json_text_at(row, "op");
    if (lines->sweep)
        snprintf(name, NAME, "%zu server%s%s", servers, servers == 1 ? "" : "s",
                 strcmp(hr_json_text_at(row, "placement"), "dedicated") ? " colocated" : "");
    else
        snprintf(name, NAME, "%s",
                 lines->speeds              ? hr_json_text_at(row, "label")
                 : lines->store             ? hr_json_text_at(row, "setup")
                 : strcmp(op, "all_reduce") ? op
                                            : hr_json_text_at(row, "algorithm"));
}

static size_t curve_of(const struct lines *lines, const json_t *row)
{
    char name[NAME];
    size_t c = 0;
    name_row(lines, row, name);
    while (c < lines->curves && (strcmp(lines->name[c], name) != 0 ||
                                 strcmp(hr_json_text_at(lines->first[c], "algorithm"),
                                        hr_json_text_at(row, "algorithm"))))
        c++;
    return c;
}

static bool find_lines(struct lines *lines, const json_t *document)
{
    const json_t *rows = json_object_get(document, "rows"), *first = json_array_get(rows, 0), *row;
    size_t i;
    *lines = (struct lines){.document = document, .rows = rows};
    lines->speeds = isfinite(hr_json_number_at(first, "least_samples_per_s"));
    lines->store = !strcmp(hr_json_text_at(first, "op"), "store");
    lines->sweep = lines->store && json_array_size(rows) > 1;
    json_array_foreach(rows, i, row) lines->sweep =
        lines->sweep &&
        !(fabs(hr_json_number_at(row, "bytes") - hr_json_number_at(first, "bytes")) > 0);
    lines->x = lines->speeds || lines->sweep ? "workers" : "bytes";
    lines->y = lines->speeds ? "samples_per_s" : "time_us.p50";
    lines->low = lines->speeds ? "least_samples_per_s" : "time_us.p10";
    lines->high = lines->speeds ? "most_samples_per_s" : "time_us.p90";
    json_array_foreach(rows, i, row)
    {
        const bool there = isfinite(hr_json_number_at(row, lines->y));
        lines->most = fmax(lines->most, hr_json_number_at(row, lines->high));
        if (!there || lines->curves == MOST_CURVES || curve_of(lines, row) < lines->curves)
            continue;
        name_row(lines, row, lines->name[lines->curves]);
        lines->first[lines->curves++] = row;
    }
    return lines->curves > 0;
}

/* samples/s at which the multiplications alone would reach the roof; NaN: there is none */
static double roof_of(const json_t *row)
{
    return hr_json_number_at(row, "roof_flops_per_s") / hr_json_number_at(row, "flops_per_sample");
}

static void write_data(FILE *out, const struct lines *lines)
{
    const json_t *row;
    size_t i;
    for (size_t c = 0; c < lines->curves; c++) {
        fprintf(out, "$curve%zu << EOD\n", c);
        json_array_foreach(lines->rows, i, row)
        {
            const double x = hr_json_number_at(row, lines->x);
            if (curve_of(lines, row) != c || !(x > 0))
                continue;
            fprintf(out, "%.0f %.8g %.8g %.8g", x, hr_json_number_at(row, lines->y),
                    hr_json_number_at(row, lines->low), hr_json_number_at(row, lines->high));
            if (lines->speeds)
                fprintf(out, " %.8g %.8g", hr_json_number_at(row, "ideal_samples_per_s"),
                        roof_of(row));
            fputc('\n', out);
        }
        fputs("EOD\n", out);
    }
}

static void write_axes(FILE *out, const struct lines *lines)
{
    const json_t *row;
    size_t i;
    fprintf(out, "set ylabel '%s'\nset style fill transparent solid 0.15 noborder\n",
            lines->speeds ? "samples/s" : "time (us), median");
    if (lines->speeds) {
        fputs("set xlabel 'workers'\nset xtics (", out);
        json_array_foreach(lines->rows, i, row)
            fprintf(out, "%s%.0f", i ? ", " : "", hr_json_number_at(row, "workers"));
        fprintf(out, ")\nset yrange [0:*]\nset format y '%s'\nset offsets graph 0.03, graph 0.03\n",
                lines->most < 5e5 ? "%.0s%c" : "%.1s%c");
    } else if (lines->sweep)
        fputs("set xlabel 'workers'\nset xtics 1\nset yrange [0:*]\nset offsets 0.2, 0.2\n", out);
    else
        fputs("set logscale xy\nset xlabel 'bytes a rank'\n"
              "set xtics ('4' 4, '64' 64, '1K' 1024, '16K' 16384, '256K' 262144, '4M' 4194304, "
              "'64M' 67108864)\n",
              out);
    fputs("set key left top Left reverse spacing 1.25 samplen 4\n", out);
}

/* The curve whose ideal is the highest. */
static size_t steepest(const struct lines *lines)
{
    size_t best = 0;
    double most = 0;
    for (size_t c = 0; c < lines->curves; c++) {
        const json_t *row = lines->first[c];
        const double each =
            hr_json_number_at(row, "ideal_samples_per_s") / hr_json_number_at(row, "workers");
        best = each > most ? c : best;
        most = fmax(each, most);
    }
    return best;
}

/* One model has one roof; a roof far above would press the curves to the ground. */
static bool draws_roof(const struct lines *lines)
{
    const char *model = hr_json_text_at(json_array_get(lines->rows, 0), "model");
    const json_t *row;
    size_t i;
    json_array_foreach(lines->rows, i, row) if (strcmp(hr_json_text_at(row, "model"), model) != 0 ||
                                                !(roof_of(row) <= 3 * lines->most)) return false;
    return true;
}

static void write_curves(FILE *out, const struct lines *lines)
{
    struct hr_plot_list list = {.out = out};
    if (lines->speeds)
        hr_plot_add(&list,
                    "$curve%zu using 1:5 with lines lc rgb '#808080' dt (4,4) lw 1.4 title 'ideal: "
                    "as many times the fewest'",
                    steepest(lines));
    if (lines->speeds && draws_roof(lines))
        hr_plot_add(&list, "$curve0 using 1:6 with lines lc rgb '#404040' lw 1.4 title 'compute "
                           "roof of the threads'");
    for (size_t c = 0; c < lines->curves; c++)
        hr_plot_add(&list, "$curve%zu using 1:3:4 with filledcurves lc rgb '%s' notitle", c,
                    hr_plot_color(c));
    for (size_t c = 0; c < lines->curves; c++) {
        hr_plot_add(&list,
                    "$curve%zu using 1:2 with linespoints lc rgb '%s' dt %s lw 2.2 pt %d title ", c,
                    hr_plot_color(c), hr_plot_dash(c), hr_plot_point(c));
        hr_plot_quote(out, lines->name[c], 60);
    }
    fputc('\n', out);
}

bool hr_plot_lines(FILE *out, enum hr_plot_format format, const json_t *document)
{
    struct lines *lines = malloc(sizeof *lines);
    const bool any = lines && find_lines(lines, document);
    if (any) {
        hr_plot_terminal(out, format, 1200, lines->speeds ? 760 : 860);
        write_data(out, lines);
        hr_plot_frame(out, document);
        write_axes(out, lines);
        write_curves(out, lines);
    }
    free(lines);
    return any;
}
