#include "page/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/human.h"

/* --- text --- */

static const char *entity(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

/* U+0080 to U+009F are control characters too; as UTF-8, C2 80 to C2 9F. So are the marks that turn
 * the direction of all that follows: U+202A to U+202E, U+2066 to U+2069. */
static size_t control_bytes(const unsigned char *at)
{
    if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
        return 2;
    if (at[0] == 0xe2 && at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae)
        return 3;
    return at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9 ? 3 : 0;
}

void hr_html_text(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        const char *instead = entity(*at);
        const size_t control = control_bytes(at);
        if (control) {
            fputs("\xef\xbf\xbd", out);
            at += control - 1;
        } else if (instead) {
            fputs(instead, out);
        } else {
            fputc(*at, out);
        }
    }
}

static void say(FILE *out, const char *format, va_list values)
{
    char *text = NULL;
    if (vasprintf(&text, format, values) >= 0)
        hr_html_text(out, text);
    free(text);
}

void hr_html_say(FILE *out, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(out, format, values);
    va_end(values);
}

/* --- numbers --- */

char *hr_number_text(char text[HR_NUMBER_MAX], double x, int digits)
{
    if (!isfinite(x))
        snprintf(text, HR_NUMBER_MAX, "–");
    else if (x == floor(x) && fabs(x) < 1e15)
        snprintf(text, HR_NUMBER_MAX, "%.0f", x == 0 ? 0 : x);
    else
        snprintf(text, HR_NUMBER_MAX, "%.*g", digits, x);
    return text;
}

char *hr_number_short(char text[HR_NUMBER_MAX], double x)
{
    if (isfinite(x))
        return hr_human_short(text, x);
    return hr_number_text(text, x, 4);
}

char *hr_number_time(char text[HR_NUMBER_MAX], double seconds)
{
    if (!isfinite(seconds))
        return hr_number_text(text, seconds, 3);
    if (seconds >= 120)
        return hr_human_wait(text, seconds);
    if (seconds >= 1 || seconds <= 0)
        snprintf(text, HR_NUMBER_MAX, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, HR_NUMBER_MAX, "%.3g ms", 1e3 * seconds);
    else
        snprintf(text, HR_NUMBER_MAX, "%.3g µs", 1e6 * seconds);
    return text;
}

/* --- parts of a page --- */

void hr_html_section(FILE *out, const char *id, const char *title)
{
    fprintf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">", id, id);
    hr_html_text(out, title);
    fputs("</h2>\n", out);
}

void hr_html_section_end(FILE *out)
{
    fputs("</section>\n", out);
}

void hr_html_table(FILE *out, const char *caption, const char *class)
{
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
    hr_html_text(out, caption);
    fprintf(out, "\">\n<table class=\"%s\">\n<caption>", class);
    hr_html_text(out, caption);
    fputs("</caption>\n", out);
}

void hr_html_table_end(FILE *out)
{
    fputs("</tbody>\n</table>\n</div>\n", out);
}

void hr_html_column(FILE *out, const char *title, bool numbers)
{
    fprintf(out, "<th scope=\"col\"%s>", numbers ? " class=\"n\"" : "");
    hr_html_text(out, title);
    fputs("</th>", out);
}

void hr_html_row_head(FILE *out, const char *text)
{
    fputs("<th scope=\"row\">", out);
    hr_html_text(out, text);
    fputs("</th>", out);
}

void hr_html_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    hr_html_text(out, text);
    fputs("</td>", out);
}

void hr_html_cell_number(FILE *out, double x, int digits)
{
    char text[HR_NUMBER_MAX];
    fprintf(out, "<td class=\"n\">%s</td>", hr_number_text(text, x, digits));
}

/* As many decimals as give the mean its digits; the deviation has the same. */
static int decimals_of(double x, int digits)
{
    const int before = x == 0 ? 1 : (int)floor(log10(fabs(x))) + 1;
    return before > digits ? 0 : before < -3 ? -1 : digits - before;
}

void hr_html_cell_mean(FILE *out, const struct hr_mean *mean, double factor, int digits)
{
    char text[HR_NUMBER_MAX];
    const double x = mean->mean * factor, sd = mean->sd * fabs(factor);
    const int decimals = isfinite(x) ? decimals_of(x, digits) : -1;
    fputs("<td class=\"n\">", out);
    if (decimals < 0 || fabs(x) >= 1e9)
        fputs(hr_number_text(text, x, digits), out);
    else
        fprintf(out, "%.*f", decimals, x);
    if (mean->n > 1 && (decimals < 0 || sd >= 1e9))
        fprintf(out, " <span class=\"sd\">± %.2g</span>", sd);
    else if (mean->n > 1)
        fprintf(out, " <span class=\"sd\">± %.*f</span>", decimals, sd);
    fputs("</td>", out);
}

void hr_html_cell_short(FILE *out, const struct hr_mean *mean)
{
    char text[HR_NUMBER_MAX];
    fprintf(out, "<td class=\"n\">%s", hr_number_short(text, mean->mean));
    if (mean->n > 1)
        fprintf(out, " <span class=\"sd\">± %s</span>", hr_number_short(text, mean->sd));
    fputs("</td>", out);
}

void hr_html_details(FILE *out, const char *format, ...)
{
    va_list values;
    fputs("<details>\n<summary>", out);
    va_start(values, format);
    say(out, format, values);
    va_end(values);
    fputs("</summary>\n", out);
}

void hr_html_details_end(FILE *out)
{
    fputs("</details>\n", out);
}
