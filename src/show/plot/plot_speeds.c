/* Training speed over workers as a picture: does another worker help. */
#include <math.h>
#include <string.h>

#include "plot/gnuplot.h"
#include "plot/plot.h"

enum { MOST_CURVES = 32, NAME = 256 };

struct picture {
    const char *title;
    const struct hr_speed_row *rows;
    size_t n;
    size_t first[MOST_CURVES], curves; /* the first row of each curve */
    double most;                       /* samples/s of all */
};

static bool same_curve(const struct hr_speed_row *a, const struct hr_speed_row *b)
{
    char x[NAME], y[NAME];
    hr_speed_curve(a, x, sizeof x);
    hr_speed_curve(b, y, sizeof y);
    return !strcmp(x, y);
}

static void find_curves(struct picture *picture)
{
    for (size_t i = 0; i < picture->n; i++) {
        bool known = false;
        for (size_t c = 0; c < picture->curves; c++)
            known |= same_curve(&picture->rows[i], &picture->rows[picture->first[c]]);
        if (!known && picture->curves < MOST_CURVES)
            picture->first[picture->curves++] = i;
        picture->most = fmax(picture->most, picture->rows[i].most);
    }
}

/* samples/s at which the multiplications alone would reach the roof */
static double roof_of(const struct hr_speed_row *row)
{
    return row->roof.roof.median / (2 * row->madds);
}

static void write_data(FILE *out, const struct picture *picture)
{
    for (size_t c = 0; c < picture->curves; c++) {
        fprintf(out, "$curve%zu << EOD\n", c);
        for (size_t i = 0; i < picture->n; i++) {
            const struct hr_speed_row *row = &picture->rows[i];
            if (same_curve(row, &picture->rows[picture->first[c]]))
                fprintf(out, "%zu %.8g %.8g %.8g %.8g %.8g\n", row->result.workers,
                        row->result.samples_per_s, row->least, row->most, row->ideal, roof_of(row));
        }
        fputs("EOD\n", out);
    }
}

/* The curve whose ideal is the highest. */
static size_t steepest(const struct picture *picture)
{
    size_t best = 0;
    double most = 0;
    for (size_t c = 0; c < picture->curves; c++) {
        const struct hr_speed_row *row = &picture->rows[picture->first[c]];
        const double each = row->ideal / (double)row->result.workers;
        best = each > most ? c : best;
        most = fmax(each, most);
    }
    return best;
}

/* One model has one roof; a roof far above would press the curves to the ground. */
static bool draws_roof(const struct picture *picture)
{
    for (size_t i = 0; i < picture->n; i++) {
        const struct hr_speed_row *row = &picture->rows[i];
        if (strcmp(row->model, picture->rows[0].model) || !row->measured ||
            roof_of(row) > 3 * picture->most)
            return false;
    }
    return true;
}

static void write_tics(FILE *out, const struct picture *picture)
{
    fputs("set xlabel 'workers'\nset xtics (", out);
    for (size_t i = 0; i < picture->n; i++)
        fprintf(out, "%s%zu", i ? ", " : "", picture->rows[i].result.workers);
    fputs(")\nset yrange [0:*]\nset format y ", out);
    fputs(picture->most < 5e5 ? "'%.0s%c'" : "'%.1s%c'", out);
    fputs("\nset offsets graph 0.03, graph 0.03\n", out);
}

static void write_curves(FILE *out, const struct picture *picture)
{
    const size_t ideal = steepest(picture);
    fprintf(out,
            "plot $curve%zu using 1:5 with lines lc rgb '#808080' dt (4,4) lw 1.4 title "
            "'ideal: as many times the fewest'",
            ideal);
    if (draws_roof(picture))
        fprintf(out, ", \\\n  $curve0 using 1:6 with lines lc rgb '#404040' lw 1.4 title "
                     "'compute roof of the threads'");
    for (size_t c = 0; c < picture->curves; c++)
        fprintf(out, ", \\\n  $curve%zu using 1:3:4 with filledcurves lc rgb '%s' notitle", c,
                hr_plot_color(c));
    for (size_t c = 0; c < picture->curves; c++) {
        char name[NAME];
        hr_speed_curve(&picture->rows[picture->first[c]], name, sizeof name);
        fprintf(
            out,
            ", \\\n  $curve%zu using 1:2 with linespoints lc rgb '%s' dt %s lw 2.2 pt %d title ", c,
            hr_plot_color(c), hr_plot_dash(c), hr_plot_point(c));
        hr_plot_quote(out, name, 60);
    }
    fputc('\n', out);
}

static void write_script(FILE *out, enum hr_plot_format format, const void *arg)
{
    const struct picture *picture = arg;
    hr_plot_terminal(out, format, 1200, 760);
    write_data(out, picture);
    fputs("set title ", out);
    hr_plot_quote(out, picture->title, 110);
    fputs(" font ',16'\nset ylabel 'samples/s'\n", out);
    write_tics(out, picture);
    fputs("set border 3 lc rgb '#404040'\nset tics nomirror out\n"
          "set grid lc rgb '#dddddd' lt 1 lw 0.8\n"
          "set style fill transparent solid 0.15 noborder\n"
          "set key left top Left reverse spacing 1.25 samplen 4\n",
          out);
    write_curves(out, picture);
}

enum hr_status hr_plot_speeds(const char *path, const char *title, const struct hr_speed_row *rows,
                              size_t n)
{
    struct picture picture = {.title = title, .rows = rows, .n = n};
    find_curves(&picture);
    if (!picture.curves)
        return hr_fail(HR_E_USAGE, "%s: nothing was measured, so there is nothing to draw", path);
    return hr_gnuplot_draw(path, write_script, &picture);
}
