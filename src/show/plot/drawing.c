#include "plot/plot.h"

#include <stdarg.h>

/* Bytes of the UTF-8 character at text; 0 when there is none. */
static size_t character_bytes(const char *text)
{
    const unsigned char first = (unsigned char)text[0];
    const size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (n > 1 && (first < 0xc2 || first > 0xf4))
        return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* In single quotes gnuplot takes text literally (in double quotes it would run commands in
 * backquotes); a quote is doubled. Unprintable bytes become '?', to keep an SVG valid. */
void hr_plot_quote(FILE *out, const char *text, size_t most_characters)
{
    size_t shown = 0;
    fputc('\'', out);
    for (; *text && shown < most_characters; shown++) {
        const size_t n = character_bytes(text);
        if (*text == '\'')
            fputs("''", out);
        else if (n == 0 || (unsigned char)*text < ' ' || *text == 0x7f)
            fputc('?', out);
        else
            fwrite(text, 1, n, out);
        text += n ? n : 1;
    }
    fputs(*text ? "...'" : "'", out);
}

/* Of what is no strategy (those have page/page.h): Okabe and Ito's colours for all kinds of
 * colour vision, without yellow, which is pale on white. Strategies with the same bits have one
 * curve: dashes show the colour below, and points differ in shape. */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000"};
static const char *const dashes[] = {"1", "(10,6)", "(3,4)", "(14,4,3,4)", "(6,3)"};
static const int points[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};

#define CYCLE(table, i) ((table)[(i) % (sizeof(table) / sizeof *(table))])

struct hr_plot_style hr_plot_style(size_t i)
{
    return (struct hr_plot_style){CYCLE(colors, i), CYCLE(dashes, i), CYCLE(points, i)};
}

void hr_plot_add(struct hr_plot_list *list, const char *format, ...)
{
    va_list values;
    fputs(list->n++ ? ", \\\n  " : "plot ", list->out);
    va_start(values, format);
    vfprintf(list->out, format, values);
    va_end(values);
}

void hr_plot_terminal(FILE *out, enum hr_plot_format format, int width, int height)
{
    fputs("set encoding utf8\n", out);
    if (format == HR_PLOT_SVG)
        fprintf(out,
                "set terminal svg size %d,%d dynamic noenhanced background rgb 'white' "
                "font 'Helvetica,Arial,sans-serif,15'\n",
                width, height);
    else
        fprintf(out,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) set terminal pngcairo size %d,%d "
                "noenhanced background rgb 'white' font 'Sans,12'; "
                "else set terminal png size %d,%d truecolor noenhanced\n",
                width, height, width, height);
}

void hr_plot_frame(FILE *out, const json_t *document)
{
    fputs("set title ", out);
    hr_plot_quote(out, hr_json_text_at(document, "title"), 110);
    fprintf(out, " font ',16'\n%s", HR_PLOT_AXES);
}
