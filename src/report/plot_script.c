/* Four panels: test loss and test accuracy, against samples and against seconds of training; a line
 * a strategy. With several seeds the line is their mean, and a band runs from the least to the
 * most. */
#include "report/plot_script.h"

#include <stdlib.h>
#include <string.h>

#include "report/entries.h"
#include "report/report.h"

/* Okabe and Ito's colours, which people with any colour vision can tell apart. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000"};

enum { NCOLOURS = sizeof colours / sizeof *colours };

static size_t shortest_curve(const struct hr_entry *entry)
{
    size_t points = entry->run[0]->ncurve;
    for (size_t i = 1; i < entry->n; i++)
        points = entry->run[i]->ncurve < points ? entry->run[i]->ncurve : points;
    return points;
}

static void print_spread(FILE *out, const struct hr_entry *entry, size_t point,
                         double (*value)(const struct hr_curve_point *))
{
    double values[HR_MAX_SEEDS];
    for (size_t i = 0; i < entry->n; i++)
        values[i] = value(&entry->run[i]->curve[point]);
    const struct hr_spread spread = hr_spread_of(values, entry->n);
    fprintf(out, " %.9g %.9g %.9g", spread.mean, spread.least, spread.most);
}

static double seconds_of(const struct hr_curve_point *point)
{
    return point->seconds;
}

static double loss_of(const struct hr_curve_point *point)
{
    return point->test_loss;
}

static double accuracy_of(const struct hr_curve_point *point)
{
    return 100 * point->test_accuracy;
}

/* Columns: 1 thousands of samples; then mean, least, most of seconds (2..4), loss (5..7), accuracy
 * (8..10). */
static void print_data(FILE *out, const struct hr_entry *entry, size_t number)
{
    fprintf(out, "$run%zu << EOD\n", number);
    for (size_t point = 0; point < shortest_curve(entry); point++) {
        fprintf(out, "%.9g", (double)entry->run[0]->curve[point].samples / 1000);
        print_spread(out, entry, point, seconds_of);
        print_spread(out, entry, point, loss_of);
        print_spread(out, entry, point, accuracy_of);
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

/* Later lines are thinner, so that one which lies on another (bit-equal strategies do) leaves it to
 * be seen at its sides. */
static const char *style_of(size_t entry, char style[80])
{
    const double width = entry < 5 ? 5.0 - 0.8 * (double)entry : 1.5;
    snprintf(style, 80, "lw %g pt 7 ps 0.4 dt %zu lc rgb \"%s\"", width, entry / NCOLOURS + 1,
             colours[entry % NCOLOURS]);
    return style;
}

static void print_panel(FILE *out, const struct hr_entry *entries, size_t count, int x, int y)
{
    const char *separator = "plot ";
    for (size_t i = 0; i < count; i++)
        if (entries[i].n > 1) {
            fprintf(out,
                    "%s$run%zu using %d:%d:%d with filledcurves fc rgb \"%s\" fs transparent solid "
                    "0.15 notitle",
                    separator, i, x, y + 1, y + 2, colours[i % NCOLOURS]);
            separator = ", ";
        }
    for (size_t i = 0; i < count; i++) {
        char style[80];
        fprintf(out, "%s$run%zu using %d:%d with linespoints %s notitle", separator, i, x, y,
                style_of(i, style));
        separator = ", ";
    }
    fputc('\n', out);
}

/* The legend has a strip of its own below the panels, so that it hides no curve. */
static void print_legend(FILE *out, const struct hr_entry *entries, size_t count)
{
    fputs("unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid\n"
          "set lmargin at screen 0.02; set rmargin at screen 0.98; set bmargin at screen 0.01; "
          "set tmargin at screen 0.09\n"
          "set key center center horizontal maxrows 2 samplen 3 width 2\nset xrange [0:1]; set "
          "yrange [0:1]\n",
          out);
    const char *separator = "plot ";
    for (size_t i = 0; i < count; i++) {
        char style[80];
        fprintf(out, "%sNaN with linespoints %s title \"%s\"", separator, style_of(i, style),
                entries[i].label);
        separator = ", ";
    }
    fputc('\n', out);
}

static void print_margins(FILE *out, int column, int row)
{
    static const double left[] = {0.075, 0.565}, right[] = {0.485, 0.975}, top[] = {0.93, 0.52},
                        bottom[] = {0.61, 0.20};
    fprintf(out,
            "set lmargin at screen %g; set rmargin at screen %g; set tmargin at screen %g; set "
            "bmargin at screen %g\n",
            left[column], right[column], top[row], bottom[row]);
}

/* Text inside gnuplot's double quotes. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void print_head(FILE *out, const char *terminal, const char *path, const char *title)
{
    fprintf(out, "set terminal %s size 1200,800 background rgb \"white\" font \"%s\"\nset output ",
            terminal, strcmp(terminal, "svg") ? "sans,11" : "sans-serif,14");
    print_quoted(out, path);
    fputs("\nset encoding utf8\nset multiplot\nset label 1 ", out);
    print_quoted(out, title);
    fputs(" at screen 0.5,0.965 center noenhanced\n"
          "set grid lc rgb \"#dddddd\" lt 1 lw 1\nset border 3 lc rgb \"#555555\"\nset tics "
          "nomirror out\nunset key\n",
          out);
}

static void print_panels(FILE *out, const struct hr_entry *entries, size_t count)
{
    static const struct {
        const char *label;
        int column;
    } x[] = {{"samples seen (thousands)", 1}, {"seconds of training", 2}},
      y[] = {{"test loss", 5}, {"test accuracy (%)", 8}};
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++) {
            print_margins(out, column, row);
            fprintf(out, "set xlabel \"%s\"; set ylabel \"%s\"; set xrange [0:*]\n",
                    x[column].label, y[row].label);
            print_panel(out, entries, count, x[column].column, y[row].column);
            fputs("unset label 1\n", out);
        }
}

void hr_plot_script(FILE *out, const char *terminal, const char *path, const char *title,
                    const struct hr_run_result *runs, size_t n)
{
    struct hr_entry *entries = calloc(HR_MAX_ENTRIES, sizeof *entries);
    if (!entries)
        return;
    const size_t count = hr_entries_of(runs, n, entries);
    for (size_t i = 0; i < count; i++)
        print_data(out, &entries[i], i);
    print_head(out, terminal, path, title);
    print_panels(out, entries, count);
    print_legend(out, entries, count);
    fputs("unset multiplot\nunset output\n", out);
    free(entries);
}
