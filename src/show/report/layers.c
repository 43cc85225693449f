#include "report/layers.h"

#include <math.h>
#include <string.h>

#include "report/roof_share.h"

/* --- the machine --- */

static void print_wavering(FILE *out, const char *name, double spread)
{
    char number[16];
    if (spread > HR_ROOF_MOST_SPREAD)
        fprintf(out, "# no share of %s: that roof wavered by %s %%\n", name,
                hr_spread_text(spread, number));
}

void hr_roofs_print(FILE *out, const struct hr_roofs *roofs)
{
    fprintf(out, "# roofs, %zu thread%s: compute %.1f GFLOP/s (%s, %s", roofs->threads,
            roofs->threads == 1 ? "" : "s", hr_roofs_flops(roofs) * 1e-9,
            hr_roof_kind_name(roofs->kind), hr_roofs_flops_source(roofs));
    if (roofs->blas_flops > 0)
        fprintf(out, "; OpenBLAS at 1024^3 %.1f, register tile in L1 %.1f",
                roofs->blas_flops * 1e-9, roofs->tile_flops * 1e-9);
    fputs("); memory, read and written,", out);
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            fprintf(out, " %s %.1f", hr_level_name(level), roofs->bytes_per_s[level] * 1e-9);
    fputs(" GB/s\n", out);
    print_wavering(out, "compute", hr_roofs_flops_spread(roofs));
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            print_wavering(out, hr_level_name(level), roofs->level_spread[level]);
}

/* --- layers --- */

static int widest_name(const struct hr_profile *profile)
{
    size_t widest = strlen("whole step");
    for (size_t i = 0; i < profile->n; i++)
        if (strlen(profile->rows[i].layer) > widest)
            widest = strlen(profile->rows[i].layer);
    return (int)widest;
}

/* "      82%"; of a roof that wavered, or that is less than what was reached, nothing. */
static void print_share(FILE *out, double of_roof, double spread)
{
    if (hr_roofs_is_share(of_roof, spread))
        fprintf(out, " %7.0f%%", 100 * of_roof);
    else
        fprintf(out, " %8s", spread > HR_ROOF_MOST_SPREAD ? "-" : "over");
}

static void print_row(FILE *out, const struct hr_profile_row *row, const struct hr_profile *profile,
                      int width)
{
    fprintf(out, "%-*s  %-16s %10.1f %6.1f%%", width, row->layer, hr_part_name(row->part),
            row->seconds * 1e6, 100 * row->seconds / profile->step_s);
    if (!(row->seconds > 0)) {
        fprintf(out, "   too short to be measured\n");
        return;
    }
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    if (row->work.madds > 0) {
        fprintf(out, " %9.1f", j.flops * 1e-9);
        print_share(out, j.of_compute, hr_roofs_flops_spread(&profile->roofs));
    } else
        fprintf(out, " %9s %8s", "-", "-");
    fprintf(out, " %9.1f", j.bytes_per_s * 1e-9);
    print_share(out, j.of_memory, profile->roofs.level_spread[j.level]);
    fprintf(out, " %-5s %s\n", hr_level_name(j.level), hr_bound_name(j.bound));
}

static double seconds_of_rows(const struct hr_profile *profile)
{
    double sum = 0;
    for (size_t i = 0; i < profile->n; i++)
        sum += profile->rows[i].seconds;
    return sum;
}

static void print_totals(FILE *out, const struct hr_profile *profile, int width)
{
    const double rows = seconds_of_rows(profile);
    const double flops = 2 * profile->madds / profile->step_s;
    fprintf(out, "%-*s  %-16s %10.1f %6.1f%%\n", width, "between them", "",
            (profile->step_s - rows) * 1e6, 100 * (1 - rows / profile->step_s));
    fprintf(out, "%-*s  %-16s %10.1f %6.1f%% %9.1f", width, "whole step", "", profile->step_s * 1e6,
            100.0, flops * 1e-9);
    print_share(out, flops / hr_roofs_flops(&profile->roofs),
                hr_roofs_flops_spread(&profile->roofs));
    fprintf(out, "   %.0f samples/s\n", (double)profile->batch_size / profile->step_s);
}

/* The longest row among those with this bound; NULL: none. */
static const struct hr_profile_row *longest(const struct hr_profile *profile, enum hr_bound bound)
{
    const struct hr_profile_row *found = NULL;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        if (row->seconds > 0 &&
            hr_roofs_judge(&profile->roofs, row->work, row->seconds).bound == bound &&
            (!found || row->seconds > found->seconds))
            found = row;
    }
    return found;
}

/* " (74 % of the compute roof)" */
static void print_binding_share(FILE *out, const struct hr_roofs *roofs,
                                const struct hr_profile_row *row)
{
    const struct hr_judgement j = hr_roofs_judge(roofs, row->work, row->seconds);
    const bool compute = j.of_compute >= j.of_memory;
    const double of_roof = fmax(j.of_compute, j.of_memory);
    const double spread = compute ? hr_roofs_flops_spread(roofs) : roofs->level_spread[j.level];
    if (hr_roofs_is_share(of_roof, spread))
        fprintf(out, " (%.0f %% of the %s roof)", 100 * of_roof,
                compute ? "compute" : hr_level_name(j.level));
}

static bool a_roof_wavered(const struct hr_roofs *roofs)
{
    bool wavered = hr_roofs_flops_spread(roofs) > HR_ROOF_MOST_SPREAD;
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        wavered = wavered || (roofs->level_bytes[level] > 0 &&
                              roofs->level_spread[level] > HR_ROOF_MOST_SPREAD);
    return wavered;
}

/* "83 % of the layers' time is bound by compute (most in 1 dense 256, backward weights: 74 % of
 * that roof)" */
static void print_verdict(FILE *out, const struct hr_profile *profile)
{
    double share[HR_BOUNDS];
    const char *lead = "";
    hr_profile_shares(profile, share);
    for (enum hr_bound bound = 0; bound < HR_BOUNDS; bound++) {
        const struct hr_profile_row *row = longest(profile, bound);
        if (!row || share[bound] < 0.005)
            continue;
        fprintf(out, "%s%.0f %% of the layers' time is bound by %s, most of it in \"%s\" %s", lead,
                100 * share[bound], hr_bound_name(bound), row->layer, hr_part_name(row->part));
        print_binding_share(out, &profile->roofs, row);
        lead = ";\n";
    }
    if (*lead)
        fputs(".\n", out);
    if (*lead && a_roof_wavered(&profile->roofs))
        fputs("What binds is a guess, since a roof wavered: measure again on an idle machine.\n",
              out);
}

static bool over_a_roof(const struct hr_profile *profile)
{
    const struct hr_roofs *roofs = &profile->roofs;
    for (size_t i = 0; i < profile->n; i++) {
        const struct hr_profile_row *row = &profile->rows[i];
        if (!(row->seconds > 0))
            continue;
        const struct hr_judgement j = hr_roofs_judge(roofs, row->work, row->seconds);
        if ((j.of_compute > 1 && hr_roofs_flops_spread(roofs) <= HR_ROOF_MOST_SPREAD) ||
            (j.of_memory > 1 && roofs->level_spread[j.level] <= HR_ROOF_MOST_SPREAD))
            return true;
    }
    return false;
}

void hr_layers_print(FILE *out, const struct hr_profile *profile)
{
    const int width = widest_name(profile);
    fprintf(out, "%-*s  %-16s %10s %7s %9s %8s %9s %8s %-5s %s\n", width, "layer", "part",
            "time (us)", "share", "GFLOP/s", "of roof", "GB/s", "of roof", "in", "bound by");
    for (size_t i = 0; i < profile->n; i++)
        print_row(out, &profile->rows[i], profile, width);
    print_totals(out, profile, width);
    if (over_a_roof(profile))
        fputs(
            "over: more than that roof, which cannot be: the machine was disturbed while it was "
            "measured,\nor the work reads more than it writes, and the roof does as much of both\n",
            out);
    fputc('\n', out);
    print_verdict(out, profile);
}
