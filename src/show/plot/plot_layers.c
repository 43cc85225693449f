/* The roofline: a layer's speed over its operations for each byte that it must move. The parts of
 * a layer have the same ratio, so their points are above one another. Layers that multiply nothing
 * (relu, pools) have no place on a logarithmic axis. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "plot/gnuplot.h"
#include "plot/plot.h"

enum { MOST_LAYERS = 40 };

struct picture {
    const char *title;
    const struct hr_profile *profile;
    size_t first[MOST_LAYERS], layers; /* the first row of each layer that is drawn */
    double left, right, bottom, top;   /* axes */
};

static double intensity(const struct hr_profile_row *row)
{
    return 2 * row->work.madds / row->work.bytes;
}

static double gflops(const struct hr_profile_row *row)
{
    return 2e-9 * row->work.madds / row->seconds;
}

static bool is_drawn(const struct hr_profile_row *row)
{
    return row->work.madds > 0 && row->seconds > 0;
}

/* Rows of a layer begin with its number. */
static bool same_layer(const struct hr_profile_row *a, const struct hr_profile_row *b)
{
    const size_t length = strcspn(a->layer, " ");
    return length == strcspn(b->layer, " ") && !strncmp(a->layer, b->layer, length);
}

static void find_layers(struct picture *picture)
{
    const struct hr_profile *profile = picture->profile;
    double left = INFINITY, right = 0, bottom = INFINITY;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        bool known = !is_drawn(row) || picture->layers == MOST_LAYERS;
        for (size_t l = 0; l < picture->layers; l++)
            known |= same_layer(row, &profile->rows[picture->first[l]]);
        if (!known)
            picture->first[picture->layers++] = i;
        if (is_drawn(row)) {
            left = fmin(left, intensity(row));
            right = fmax(right, intensity(row));
            bottom = fmin(bottom, gflops(row));
        }
    }
    /* Room for the bend of the roofs, and for labels. */
    const struct hr_roofs *roofs = &profile->roofs;
    double steepest = 0;
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            steepest = fmax(steepest, roofs->bytes_per_s[level]);
    picture->left = fmin(left / 2, hr_roofs_flops(roofs) / steepest / 4);
    picture->right = fmax(right, 40) * 2.5;
    picture->top = hr_roofs_flops(&profile->roofs) * 1e-9 * 1.6;
    picture->bottom = fmin(bottom / 2.5, picture->top / 50);
}

static void write_data(FILE *out, const struct picture *picture)
{
    const struct hr_profile *profile = picture->profile;
    for (size_t l = 0; l < picture->layers; l++)
        for (enum hr_part part = 0; part < HR_PART_LOSS; part++) {
            fprintf(out, "$layer%zu_%d << EOD\n", l, (int)part);
            for (size_t i = 0; i < profile->n; i++) {
                const struct hr_profile_row *row = &profile->rows[i];
                if (row->part == part && is_drawn(row) &&
                    same_layer(row, &profile->rows[picture->first[l]]))
                    fprintf(out, "%.6g %.6g\n", intensity(row), gflops(row));
            }
            fputs("EOD\n", out);
        }
}

/* The level's line from the left edge to where it meets the compute roof, its name beside it. */
static void write_roofs(FILE *out, const struct picture *picture)
{
    const struct hr_roofs *roofs = &picture->profile->roofs;
    const double peak = hr_roofs_flops(roofs) * 1e-9;
    double bend = picture->right;
    for (enum hr_level level = 0; level < HR_LEVELS; level++) {
        const double gbs = roofs->bytes_per_s[level] * 1e-9;
        if (!(roofs->level_bytes[level] > 0))
            continue;
        const double from = fmax(picture->left, picture->bottom / gbs), to = peak / gbs;
        if (from >= to)
            continue;
        bend = fmin(bend, to);
        fprintf(out, "set arrow from %.6g,%.6g to %.6g,%.6g nohead lc rgb '#909090' lw 1.6 back\n",
                from, from * gbs, to, peak);
        /* Lines may nearly coincide: names are by turns above the line, and below it further on. */
        const bool above = level % 2 == 0;
        const double at = from * pow(to / from, above ? 0.08 : 0.4);
        fprintf(out,
                "set label '%s %.3g GB/s' at %.6g,%.6g rotate by slope offset %s left "
                "font ',12' tc rgb '#606060'\n",
                hr_level_name(level), gbs, at, at * gbs, above ? "-0.9,0.5" : "1.0,-0.4");
    }
    fprintf(out, "set arrow from %.6g,%.6g to %.6g,%.6g nohead lc rgb '#404040' lw 2 back\n", bend,
            peak, picture->right, peak);
    fprintf(out, "set label '%.3g GFLOP/s (%s)' at %.6g,%.6g right offset 0,0.6 font ',12'\n", peak,
            hr_roofs_flops_source(roofs), picture->right / 1.05, peak);
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
          "set border 3 lc rgb '#404040'\nset tics nomirror out\n"
          "set grid lc rgb '#dddddd' lt 1 lw 0.8\n"
          "set key right bottom Left reverse spacing 1.2 samplen 1 box lc rgb '#dddddd' opaque\n",
          out);
}

static void write_points(FILE *out, const struct picture *picture)
{
    static const int shapes[HR_PART_LOSS] = {7, 5, 9}; /* a disc, a square, a triangle */
    const char *lead = "plot ";
    for (size_t l = 0; l < picture->layers; l++)
        for (enum hr_part part = 0; part < HR_PART_LOSS; part++, lead = ", \\\n  ")
            fprintf(out, "%s$layer%zu_%d using 1:2 with points lc rgb '%s' pt %d ps 1.6 notitle",
                    lead, l, (int)part, hr_plot_color(l), shapes[part]);
    for (size_t l = 0; l < picture->layers; l++) {
        fprintf(out, "%skeyentry with points lc rgb '%s' pt 13 ps 1.8 title ", lead,
                hr_plot_color(l));
        hr_plot_quote(out, picture->profile->rows[picture->first[l]].layer, 60);
    }
    for (enum hr_part part = 0; part < HR_PART_LOSS; part++)
        fprintf(out, "%skeyentry with points lc rgb '#606060' pt %d ps 1.6 title '%s'", lead,
                shapes[part], hr_part_name(part));
    fputc('\n', out);
}

/* The layer's number beside its fastest part. */
static void write_numbers(FILE *out, const struct picture *picture)
{
    const struct hr_profile *profile = picture->profile;
    for (size_t l = 0; l < picture->layers; l++) {
        const struct hr_profile_row *first = &profile->rows[picture->first[l]];
        double high = 0;
        for (size_t i = 0; i < profile->n; i++)
            if (is_drawn(&profile->rows[i]) && same_layer(&profile->rows[i], first))
                high = fmax(high, gflops(&profile->rows[i]));
        fprintf(out,
                "set label '%.*s' at %.6g,%.6g right offset -0.9,0 font ',14' tc rgb '%s' front\n",
                (int)strcspn(first->layer, " "), first->layer, intensity(first), high,
                hr_plot_color(l));
    }
}

static void write_script(FILE *out, enum hr_plot_format format, const void *arg)
{
    const struct picture *picture = arg;
    hr_plot_terminal(out, format, 1200, 860);
    write_data(out, picture);
    fputs("set title ", out);
    hr_plot_quote(out, picture->title, 110);
    fputs(" font ',16'\n", out);
    write_axes(out, picture);
    write_roofs(out, picture);
    write_numbers(out, picture);
    write_points(out, picture);
}

enum hr_status hr_plot_layers(const char *path, const char *title, const struct hr_profile *profile)
{
    struct picture picture = {.title = title, .profile = profile};
    find_layers(&picture);
    if (!picture.layers)
        return hr_fail(HR_E_USAGE, "%s: no layer multiplies, so there is nothing to draw", path);
    return hr_gnuplot_draw(path, write_script, &picture);
}
