/* Times of collectives over sizes, or of a store over workers, as a picture: a curve an algorithm
 * or setup, a band from p10 to p90. */
#include <math.h>
#include <string.h>

#include "plot/gnuplot.h"
#include "plot/plot.h"

enum { MOST_CURVES = 32 };

struct picture {
    const char *title;
    const struct hr_bench_row *rows;
    size_t n;
    enum hr_plot_over over;
    size_t first[MOST_CURVES], curves; /* the first row of each curve */
};

static bool same_curve(const struct hr_bench_row *a, const struct hr_bench_row *b)
{
    return !strcmp(a->op, b->op) && !strcmp(a->algorithm, b->algorithm);
}

static size_t place(const struct picture *picture, const struct hr_bench_row *row)
{
    return picture->over == HR_PLOT_OVER_RANKS ? row->ranks : row->bytes;
}

static void find_curves(struct picture *picture)
{
    for (size_t i = 0; i < picture->n && picture->curves < MOST_CURVES; i++) {
        bool known = false;
        for (size_t c = 0; c < picture->curves; c++)
            known |= same_curve(&picture->rows[i], &picture->rows[picture->first[c]]);
        if (!known)
            picture->first[picture->curves++] = i;
    }
}

static void write_data(FILE *out, const struct picture *picture)
{
    for (size_t c = 0; c < picture->curves; c++) {
        fprintf(out, "$curve%zu << EOD\n", c);
        for (size_t i = 0; i < picture->n; i++) {
            const struct hr_bench_row *row = &picture->rows[i];
            const size_t at = place(picture, row);
            if (same_curve(row, &picture->rows[picture->first[c]]) && at)
                fprintf(out, "%zu %.6g %.6g %.6g\n", at, row->p50_us, row->p10_us, row->p90_us);
        }
        fputs("EOD\n", out);
    }
}

static void write_axes(FILE *out, const struct picture *picture)
{
    if (picture->over == HR_PLOT_OVER_RANKS)
        fputs("set xlabel 'workers'\nset xtics 1\nset yrange [0:*]\nset offsets 0.2, 0.2\n", out);
    else
        fputs("set logscale xy\nset xlabel 'bytes a rank'\n"
              "set xtics ('4' 4, '64' 64, '1K' 1024, '16K' 16384, '256K' 262144, '4M' 4194304, "
              "'64M' 67108864)\n",
              out);
}

static void write_script(FILE *out, enum hr_plot_format format, const void *arg)
{
    const struct picture *picture = arg;
    hr_plot_terminal(out, format, 1200, 860);
    write_data(out, picture);
    fputs("set title ", out);
    hr_plot_quote(out, picture->title, 110);
    fputs(" font ',16'\nset ylabel 'time (us), median'\n", out);
    write_axes(out, picture);
    fputs("set border 3 lc rgb '#404040'\nset tics nomirror out\n"
          "set grid lc rgb '#dddddd' lt 1 lw 0.8\n"
          "set style fill transparent solid 0.12 noborder\n"
          "set key left top Left reverse spacing 1.25 samplen 4\n",
          out);
    for (size_t c = 0; c < picture->curves; c++)
        fprintf(out, "%s $curve%zu using 1:3:4 with filledcurves lc rgb '%s' notitle",
                c ? ", \\\n " : "plot", c, hr_plot_color(c));
    for (size_t c = 0; c < picture->curves; c++) {
        const struct hr_bench_row *first = &picture->rows[picture->first[c]];
        fprintf(
            out,
            ", \\\n  $curve%zu using 1:2 with linespoints lc rgb '%s' dt %s lw 2.2 pt %d title ", c,
            hr_plot_color(c), hr_plot_dash(c), hr_plot_point(c));
        hr_plot_quote(out, strcmp(first->op, "all_reduce") ? first->op : first->algorithm, 60);
    }
    fputc('\n', out);
}

enum hr_status hr_plot_bench(const char *path, const char *title, const struct hr_bench_row *rows,
                             size_t n, enum hr_plot_over over)
{
    struct picture picture = {.title = title, .rows = rows, .n = n, .over = over};
    find_curves(&picture);
    if (!picture.curves)
        return hr_fail(HR_E_USAGE, "%s: nothing was measured, so there is nothing to draw", path);
    return hr_gnuplot_draw(path, write_script, &picture);
}
