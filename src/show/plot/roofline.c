/* The roofline: a layer's speed over its operations for each byte that it must move. The parts of
 * a layer have the same ratio, so their points are above one another. Layers that multiply nothing
 * (relu, pools) have no place on a logarithmic axis. */
#include "plot/drawing.h"

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

static void write_data(FILE *out, const struct picture *picture)
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
static void write_axes(FILE *out, const struct picture *picture)
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
                        part, hr_plot_color(l), shapes[part]);
    for (size_t l = 0; l < picture->layers; l++) {
        hr_plot_add(&list, "keyentry with points lc rgb '%s' pt 13 ps 1.8 title ",
                    hr_plot_color(l));
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
                intensity(picture->first[l]), high, hr_plot_color(l));
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
    write_data(out, &picture);
    hr_plot_frame(out, document);
    write_axes(out, &picture);
    write_roofs(out, &picture);
    write_numbers(out, &picture);
    write_points(out, &picture);
    return true;
}
