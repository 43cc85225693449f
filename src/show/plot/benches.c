/* Pictures of measurements: lines over sizes or workers; layers under their roofs. */
#include "plot/plot.h"

#include <stdlib.h>

#include "report/human.h"

/* Measurements as lines, each in a band: times of collectives over sizes, of a store over sizes or
 * workers, and training speed over workers: does another worker help. */

enum { MOST_CURVES = 32, NAME = 256 };

struct lines {
    const json_t *document, *rows;
    bool speeds, store, sweep; /* sweep: of a store; it holds the size and varies workers */
    const char *x, *y, *low, *high;
    size_t curves;
    char name[MOST_CURVES][NAME];
    const json_t *first[MOST_CURVES]; /* row of each curve */
    double most;                      /* of all rows */
    double tokens; /* of a sample, of text: speeds are so many times what rows have; else 1 */
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
    const double tokens = hr_json_number_at(first, "tokens");
    lines->tokens = lines->speeds && tokens > 0 ? tokens : 1;
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
        lines->most = fmax(lines->most, lines->tokens * hr_json_number_at(row, lines->high));
        if (!there || lines->curves == MOST_CURVES || curve_of(lines, row) < lines->curves)
            continue;
        name_row(lines, row, lines->name[lines->curves]);
        lines->first[lines->curves++] = row;
    }
    return lines->curves > 0;
}

/* Speed at which the multiplications alone would reach the roof; NaN: there is none */
static double roof_of(const struct lines *lines, const json_t *row)
{
    return lines->tokens * hr_json_number_at(row, "roof_flops_per_s") /
           hr_json_number_at(row, "flops_per_sample");
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
            fprintf(out, "%.0f %.8g %.8g %.8g", x, lines->tokens * hr_json_number_at(row, lines->y),
                    lines->tokens * hr_json_number_at(row, lines->low),
                    lines->tokens * hr_json_number_at(row, lines->high));
            if (lines->speeds)
                fprintf(out, " %.8g %.8g",
                        lines->tokens * hr_json_number_at(row, "ideal_samples_per_s"),
                        roof_of(lines, row));
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
            lines->speeds ? hr_rate_unit(lines->tokens > 1) : "time (us), median");
    if (lines->speeds) {
        fputs("set xlabel 'workers'\nset xtics (", out);
        json_array_foreach(lines->rows, i, row)
            fprintf(out, "%s%.0f", i ? ", " : "", hr_json_number_at(row, "workers"));
        fprintf(out, ")\nset yrange [0:*]\nset format y '%s'\nset offsets graph 0.03, graph 0.03\n",
                lines->most < 5e5 ? "%.0s%c" : "%.1s%c");
    } else if (lines->sweep)
        fputs("set xlabel 'workers'\nset xtics 1\nset yrange [0:*]\nset offsets 0.2, 0.2\n", out);
    else
        fputs("set logscale xy\nset xlabel 'bytes per rank'\n"
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
    json_array_foreach(lines->rows, i,
                       row) if (strcmp(hr_json_text_at(row, "model"), model) != 0 ||
                                !(roof_of(lines, row) <= 3 * lines->most)) return false;
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
                    hr_plot_style(c).color);
    for (size_t c = 0; c < lines->curves; c++) {
        hr_plot_add(&list,
                    "$curve%zu using 1:2 with linespoints lc rgb '%s' dt %s lw 2.2 pt %d title ", c,
                    hr_plot_style(c).color, hr_plot_style(c).dash, hr_plot_style(c).point);
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

/* The roofline: a layer's speed over its operations for each byte that it must move. The parts of
 * a layer have the same ratio, so their points are above one another. Layers that multiply nothing
 * (relu, pools) have no place on a logarithmic axis. */

enum { MOST_LAYERS = 40 };

struct picture {
    const json_t *rows, *roofs;
    double peak;                      /* GFLOP/s */
    const json_t *first[MOST_LAYERS]; /* the first row of each layer that is drawn */
    size_t layers;
    double left, right, bottom, top; /* axes */
};

static double intensity(const json_t *row)
{
    return 2 * hr_json_number_at(row, "madds") / hr_json_number_at(row, "bytes");
}

static double gflops(const json_t *row)
{
    return 2e-9 * hr_json_number_at(row, "madds") / hr_json_number_at(row, "seconds");
}

static bool is_drawn(const json_t *row)
{
    return hr_json_number_at(row, "madds") > 0 && hr_json_number_at(row, "seconds") > 0;
}

/* Rows of a layer begin with its number. */
static bool same_layer(const json_t *x, const json_t *y)
{
    const char *a = hr_json_text_at(x, "layer"), *b = hr_json_text_at(y, "layer");
    const size_t length = strcspn(a, " ");
    return length == strcspn(b, " ") && !strncmp(a, b, length);
}

static void find_layers(struct picture *picture)
{
    const json_t *row, *level;
    double left = INFINITY, right = 0, bottom = INFINITY, steepest = 0;
    size_t i;
    json_array_foreach(picture->rows, i, row)
    {
        bool known = !is_drawn(row) || picture->layers == MOST_LAYERS;
        for (size_t l = 0; l < picture->layers; l++)
            known |= same_layer(row, picture->first[l]);
        if (!known)
            picture->first[picture->layers++] = row;
        if (is_drawn(row)) {
            left = fmin(left, intensity(row));
            right = fmax(right, intensity(row));
            bottom = fmin(bottom, gflops(row));
        }
    }
    /* Room for the bend of the roofs, and for labels. */
    json_array_foreach(json_object_get(picture->roofs, "memory"), i, level) steepest =
        fmax(steepest, hr_json_number_at(level, "bytes_per_s"));
    picture->peak = hr_json_number_at(picture->roofs, "flops_per_s") * 1e-9;
    picture->left = fmin(left / 2, picture->peak * 1e9 / steepest / 4);
    picture->right = fmax(right, 40) * 2.5;
    picture->top = picture->peak * 1.6;
    picture->bottom = fmin(bottom / 2.5, picture->top / 50);
}

static const char *const parts[] = {"forward", "backward weights", "backward data"};
enum { PARTS = sizeof parts / sizeof *parts };

static void write_layers(FILE *out, const struct picture *picture)
{
    const json_t *row;
    size_t i;
    for (size_t l = 0; l < picture->layers; l++)
        for (int part = 0; part < PARTS; part++) {
            fprintf(out, "$layer%zu_%d << EOD\n", l, part);
            json_array_foreach(picture->rows, i,
                               row) if (!strcmp(hr_json_text_at(row, "part"), parts[part]) &&
                                        is_drawn(row) && same_layer(row, picture->first[l]))
                fprintf(out, "%.6g %.6g\n", intensity(row), gflops(row));
            fputs("EOD\n", out);
        }
}

static void write_label(FILE *out, const char *text)
{
    fputs("set label ", out);
    hr_plot_quote(out, text, 60);
}

/* The level's line from the left edge to where it meets the compute roof, its name beside it. */
static void write_roofs(FILE *out, const struct picture *picture)
{
    const json_t *memory = json_object_get(picture->roofs, "memory"), *roof;
    const double peak = picture->peak;
    char name[80];
    double bend = picture->right;
    size_t level;
    json_array_foreach(memory, level, roof)
    {
        const double gbs = hr_json_number_at(roof, "bytes_per_s") * 1e-9;
        const double from = fmax(picture->left, picture->bottom / gbs), to = peak / gbs;
        if (from >= to)
            continue;
        bend = fmin(bend, to);
        fprintf(out, "set arrow from %.6g,%.6g to %.6g,%.6g nohead lc rgb '#909090' lw 1.6 back\n",
                from, from * gbs, to, peak);
        /* Lines may nearly coincide: names are by turns above the line, and below it further on. */
        const bool above = level % 2 == 0;
        const double at = from * pow(to / from, above ? 0.08 : 0.4);
        snprintf(name, sizeof name, "%s %.3g GB/s", hr_json_text_at(roof, "level"), gbs);
        write_label(out, name);
        fprintf(out, " at %.6g,%.6g rotate by slope offset %s left font ',12' tc rgb '#606060'\n",
                at, at * gbs, above ? "-0.9,0.5" : "1.0,-0.4");
    }
    fprintf(out, "set arrow from %.6g,%.6g to %.6g,%.6g nohead lc rgb '#404040' lw 2 back\n", bend,
            peak, picture->right, peak);
    snprintf(name, sizeof name, "%.3g GFLOP/s (%s)", peak,
             hr_json_text_at(picture->roofs, "source"));
    write_label(out, name);
    fprintf(out, " at %.6g,%.6g right offset 0,0.6 font ',12'\n", picture->right / 1.05, peak);
}

/* `slope`: the angle on the page of a line of slope 1, in degrees, for the names of the roofs. */
static void write_roof_axes(FILE *out, const struct picture *picture)
{
    fprintf(out,
            "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n"
            "slope = atan2(680.0 / (log10(%.6g)), 1060.0 / (log10(%.6g))) * 180 / pi\n",
            picture->left, picture->right, picture->bottom, picture->top,
            picture->top / picture->bottom, picture->right / picture->left);
    fputs("set xlabel 'floating-point operations for each byte that must be moved'\n"
          "set ylabel 'GFLOP/s'\n"
          "set key right bottom Left reverse spacing 1.2 samplen 1 box lc rgb '#dddddd' opaque\n",
          out);
}

static void write_points(FILE *out, const struct picture *picture)
{
    static const int shapes[PARTS] = {7, 5, 9}; /* a disc, a square, a triangle */
    struct hr_plot_list list = {.out = out};
    for (size_t l = 0; l < picture->layers; l++)
        for (int part = 0; part < PARTS; part++)
            hr_plot_add(&list,
                        "$layer%zu_%d using 1:2 with points lc rgb '%s' pt %d ps 1.6 notitle", l,
                        part, hr_plot_style(l).color, shapes[part]);
    for (size_t l = 0; l < picture->layers; l++) {
        hr_plot_add(&list, "keyentry with points lc rgb '%s' pt 13 ps 1.8 title ",
                    hr_plot_style(l).color);
        hr_plot_quote(out, hr_json_text_at(picture->first[l], "layer"), 60);
    }
    for (int part = 0; part < PARTS; part++)
        hr_plot_add(&list, "keyentry with points lc rgb '#606060' pt %d ps 1.6 title '%s'",
                    shapes[part], parts[part]);
    fputc('\n', out);
}

/* The layer's number beside its fastest part. */
static void write_numbers(FILE *out, const struct picture *picture)
{
    const json_t *row;
    size_t i;
    for (size_t l = 0; l < picture->layers; l++) {
        const char *layer = hr_json_text_at(picture->first[l], "layer");
        char number[16];
        double high = 0;
        json_array_foreach(picture->rows, i,
                           row) if (is_drawn(row) && same_layer(row, picture->first[l])) high =
            fmax(high, gflops(row));
        snprintf(number, sizeof number, "%.*s", (int)strcspn(layer, " "), layer);
        write_label(out, number);
        fprintf(out, " at %.6g,%.6g right offset -0.9,0 font ',14' tc rgb '%s' front\n",
                intensity(picture->first[l]), high, hr_plot_style(l).color);
    }
}

bool hr_plot_roofline(FILE *out, enum hr_plot_format format, const json_t *document)
{
    struct picture picture = {.rows = json_object_get(document, "rows"),
                              .roofs = json_object_get(document, "roofs")};
    find_layers(&picture);
    if (!picture.layers || !(picture.peak > 0))
        return false;
    hr_plot_terminal(out, format, 1200, 860);
    write_layers(out, &picture);
    hr_plot_frame(out, document);
    write_roof_axes(out, &picture);
    write_roofs(out, &picture);
    write_numbers(out, &picture);
    write_points(out, &picture);
    return true;
}
