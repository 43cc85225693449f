#include "report/speeds.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double hr_speed_flops(const struct hr_speed_row *row)
{
    return 2 * row->madds * row->result.samples_per_s;
}

double hr_speed_share(const struct hr_speed_row *row)
{
    return row->roof.lack == HR_SHARE_IS_KNOWN ? row->roof.share.median : NAN;
}

/* --- workers --- */

static bool begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* The setting with blanks, as "ps-async, workers 2"; where `rest`, without the workers. The model
 * is named before it. */
static void write_setting(const struct hr_speed_row *row, bool rest, char *text, size_t size)
{
    const char *piece = row->setting;
    text[0] = '\0';
    while (*piece) {
        const size_t length = strcspn(++piece, ":"), used = strlen(text);
        const size_t name = strcspn(piece, "="), value = length - name - 1;
        const char *comma = used ? ", " : "";
        if (begins(piece, "strategy="))
            snprintf(text + used, size - used, "%s%.*s", comma, (int)value, piece + name + 1);
        else if (!begins(piece, "model=") && !(rest && begins(piece, "workers=")))
            snprintf(text + used, size - used, "%s%.*s %.*s", comma, (int)name, piece, (int)value,
                     piece + name + 1);
        piece += length;
    }
}

static void write_label(const struct hr_speed_row *row, bool rest, char *text, size_t size)
{
    char setting[HR_SPEED_SETTING + 32];
    write_setting(row, rest, setting, sizeof setting);
    snprintf(text, size, "%s%s%s", row->model, setting[0] ? " " : "", setting);
}

void hr_speed_curve(const struct hr_speed_row *row, char *text, size_t size)
{
    write_label(row, true, text, size);
}

void hr_speeds_set_ideal(struct hr_speed_row *rows, size_t n)
{
    char mine[256], other[256];
    for (size_t i = 0; i < n; i++) {
        const struct hr_speed_row *base = &rows[i];
        hr_speed_curve(&rows[i], mine, sizeof mine);
        for (size_t k = 0; k < n; k++) {
            hr_speed_curve(&rows[k], other, sizeof other);
            if (!strcmp(mine, other) && rows[k].result.workers < base->result.workers)
                base = &rows[k];
        }
        rows[i].ideal = base->result.samples_per_s * (double)rows[i].result.workers /
                        (double)base->result.workers;
    }
}

/* --- the table --- */

void hr_speed_parts(const struct hr_run_result *r, double share[HR_SPEED_PARTS])
{
    const double all = r->load_s + r->compute_s + r->communicate_s + r->wait_s;
    const double seconds[HR_SPEED_PARTS] = {
        [HR_SPEED_LOAD] = r->load_s,
        [HR_SPEED_FORWARD] = r->forward_s,
        [HR_SPEED_BACKWARD] = r->backward_s,
        [HR_SPEED_UPDATE] = fmax(0, r->compute_s - r->forward_s - r->backward_s),
        [HR_SPEED_COMMUNICATE] = r->communicate_s,
        [HR_SPEED_WAIT] = r->wait_s,
    };
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        share[i] = all > 0 ? seconds[i] / all : 0;
}

/* In virtual time a gradient takes as long as it is said to, and has no parts. */
static void print_time(FILE *out, const struct hr_run_result *result, bool real)
{
    double share[HR_SPEED_PARTS];
    hr_speed_parts(result, share);
    if (!real)
        share[HR_SPEED_FORWARD] += share[HR_SPEED_BACKWARD] + share[HR_SPEED_UPDATE];
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        if (real || (i != HR_SPEED_BACKWARD && i != HR_SPEED_UPDATE))
            fprintf(out, "%s%.0f", i ? "/" : "  ", 100 * share[i]);
    fputc('\n', out);
}

/* "  82 % [80, 84]" */
static void print_share(FILE *out, const struct hr_roof_share *roof)
{
    if (roof->lack == HR_SHARE_IS_KNOWN)
        fprintf(out, " %4.0f %% [%2.0f, %2.0f]", 100 * roof->share.median, 100 * roof->share.low,
                100 * roof->share.high);
    else
        fprintf(out, " %15s", "no share");
}

static void print_lack(FILE *out, const struct hr_speed_row *row)
{
    char label[256], text[64];
    if (!row->measured || row->roof.lack == HR_SHARE_IS_KNOWN)
        return;
    write_label(row, false, label, sizeof label);
    fprintf(out, "%s: no share: %s\n", label, hr_roof_share_lack(&row->roof, text));
}

static void print_row(FILE *out, const struct hr_speed_row *row, int width, bool scaled)
{
    char label[256];
    write_label(row, false, label, sizeof label);
    fprintf(out, "%-*s %9.0f", width, label, row->result.samples_per_s);
    if (scaled)
        fprintf(out, " %6.0f %%", 100 * row->result.samples_per_s / row->ideal);
    fprintf(out, " %8.4g %8.1f", 2e-6 * row->madds, hr_speed_flops(row) * 1e-9);
    if (row->measured)
        print_share(out, &row->roof);
    print_time(out, &row->result, row->measured);
}

void hr_speeds_print(FILE *out, const struct hr_speed_row *rows, size_t n)
{
    char label[256];
    int width = 5;
    bool scaled = false;
    for (size_t i = 0; i < n; i++) {
        write_label(&rows[i], false, label, sizeof label);
        width = (int)strlen(label) > width ? (int)strlen(label) : width;
        scaled = scaled || rows[i].result.workers != rows[0].result.workers;
    }
    const bool real = n && rows[0].measured;
    fprintf(out, "%-*s %9s%s %8s %8s%s  time %%\n", width, "model", "samples/s",
            scaled ? " of ideal" : "", "MFLOP", "GFLOP/s", real ? "  of roof [95 %]" : "");
    for (size_t i = 0; i < n; i++)
        print_row(out, &rows[i], width, scaled);
    fprintf(out, "%s, of the workers' time\n",
            real ? "time %: load / forward / backward / update / comm / wait"
                 : "time %: load / gradient / comm / wait");
    for (size_t i = 0; i < n; i++)
        print_lack(out, &rows[i]);
    if (scaled)
        fputs("ideal: the speed with the fewest workers, for each worker\n", out);
}
