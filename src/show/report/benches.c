/* Benches as tables and JSON. Rates are per second, sizes in bytes, times in seconds. */
#include "report/benches.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "products/roofs.h"
#include "report/human.h"
#include "terminal/grid.h"

/* --- roof share --- */

static enum hr_share_lack lack(const struct hr_roof_share *share, size_t n)
{
    return n == 0                                                ? HR_SHARE_HAS_NO_ROOF
           : n < HR_SHARE_FEWEST_ROUNDS                          ? HR_SHARE_HAS_FEW_ROUNDS
           : hr_middle_spread(share->roof) > HR_ROOF_MOST_SPREAD ? HR_SHARE_ROOF_WAVERED
           : share->share.median > 1                             ? HR_SHARE_CANNOT_BE
                                                                 : HR_SHARE_IS_KNOWN;
}

struct hr_roof_share hr_roof_share(const struct hr_roof_round *rounds, size_t n)
{
    double roofs[2 * HR_SHARE_MOST_ROUNDS], shares[HR_SHARE_MOST_ROUNDS];
    struct hr_roof_share share = {.share = {NAN, NAN, NAN}};
    HR_ASSERT(n <= HR_SHARE_MOST_ROUNDS);
    for (size_t i = 0; i < n; i++) {
        roofs[2 * i] = rounds[i].before;
        roofs[2 * i + 1] = rounds[i].after;
        shares[i] = 2 * rounds[i].rate / (rounds[i].before + rounds[i].after);
    }
    if (n) {
        share.roof = hr_middle(roofs, 2 * n);
        share.share = hr_middle(shares, n);
    }
    share.lack = lack(&share, n);
    return share;
}

/* A spread in per cent, as people read it: "5.4", "12". Returns text. */
static const char *spread_text(double spread, char text[16])
{
    snprintf(text, 16, spread < 0.0995 ? "%.1f" : "%.0f", fmin(100 * spread, 9999));
    return text;
}

const char *hr_roof_share_lack(const struct hr_roof_share *share, char text[64])
{
    char number[16];
    text[0] = '\0';
    switch (share->lack) {
    case HR_SHARE_IS_KNOWN:
        break;
    case HR_SHARE_HAS_NO_ROOF:
        snprintf(text, 64, "virtual time has no roof");
        break;
    case HR_SHARE_HAS_FEW_ROUNDS:
        snprintf(text, 64, "it takes %d rounds to tell", HR_SHARE_FEWEST_ROUNDS);
        break;
    case HR_SHARE_ROOF_WAVERED:
        snprintf(text, 64, "the roof wavered by %s %%",
                 spread_text(hr_middle_spread(share->roof), number));
        break;
    case HR_SHARE_CANNOT_BE:
        snprintf(text, 64, "%.0f %% of the roof cannot be: it was disturbed",
                 100 * share->share.median);
        break;
    }
    return text;
}

/* --- speeds --- */

double hr_speed_flops(const struct hr_speed_row *row)
{
    return 2 * row->madds * row->result.samples_per_s;
}

double hr_speed_share(const struct hr_speed_row *row)
{
    return row->roof.lack == HR_SHARE_IS_KNOWN ? row->roof.share.median : NAN;
}

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
static void write_time(FILE *cells, const struct hr_run_result *result, bool real)
{
    double share[HR_SPEED_PARTS];
    hr_speed_parts(result, share);
    if (!real)
        share[HR_SPEED_FORWARD] += share[HR_SPEED_BACKWARD] + share[HR_SPEED_UPDATE];
    for (size_t i = 0; i < HR_SPEED_PARTS; i++)
        if (real || (i != HR_SPEED_BACKWARD && i != HR_SPEED_UPDATE))
            fprintf(cells, "%s%.0f", i ? "/" : "\t", 100 * share[i]);
    fputc('\n', cells);
}

static void print_lack(FILE *out, const struct hr_speed_row *row)
{
    char label[256], text[64];
    if (!row->measured || row->roof.lack == HR_SHARE_IS_KNOWN)
        return;
    write_label(row, false, label, sizeof label);
    fprintf(out, "%s: no share: %s\n", label, hr_roof_share_lack(&row->roof, text));
}

static void write_row(FILE *cells, const struct hr_speed_row *row, bool scaled)
{
    char label[256];
    write_label(row, false, label, sizeof label);
    fprintf(cells, "%s\t%.0f\t", label,
            hr_rate_shown(row->result.samples_per_s, row->result.tokens));
    if (scaled)
        fprintf(cells, "%.0f %%", 100 * row->result.samples_per_s / row->ideal);
    fprintf(cells, "\t%.4g\t%.1f\t", 2e-6 * row->madds, hr_speed_flops(row) * 1e-9);
    if (row->measured && row->roof.lack != HR_SHARE_IS_KNOWN)
        fputs("no share", cells);
    else if (row->measured)
        fprintf(cells, "%.0f %% [%.0f, %.0f]", 100 * row->roof.share.median,
                100 * row->roof.share.low, 100 * row->roof.share.high);
    write_time(cells, &row->result, row->measured);
}

void hr_speeds_print(FILE *out, const struct hr_speed_row *rows, size_t n)
{
    struct hr_grid table;
    char heads[96];
    bool scaled = false;
    for (size_t i = 0; i < n; i++)
        scaled = scaled || rows[i].result.workers != rows[0].result.workers;
    snprintf(heads, sizeof heads, "-model\t%s\tof ideal\tMFLOP\tGFLOP/s\tof roof [95 %%]\t-time %%",
             hr_rate_unit(n ? rows[0].result.tokens : 0)); /* all are on the same data */
    hr_grid_begin(&table, heads);
    for (size_t i = 0; i < n; i++)
        write_row(table.cells, &rows[i], scaled);
    hr_grid_end(&table, out, 0);
    fprintf(out, "%s, of the workers' time\n",
            n && rows[0].measured ? "time %: load / forward / backward / update / comm / wait"
                                  : "time %: load / gradient / comm / wait");
    if (n && rows[0].roof.lack != HR_SHARE_HAS_NO_ROOF)
        fputs("roof: the most that these threads can compute, measured beside each row\n", out);
    for (size_t i = 0; i < n; i++)
        print_lack(out, &rows[i]);
    if (scaled)
        fputs("ideal: the speed with the fewest workers, for each worker\n", out);
}

/* --- layers: the machine --- */

static void print_wavering(FILE *out, const char *name, double spread)
{
    char number[16];
    if (spread > HR_ROOF_MOST_SPREAD)
        fprintf(out, "# no share of %s: that roof wavered by %s %%\n", name,
                spread_text(spread, number));
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

/* "82%"; of a roof that wavered, or that is less than what was reached, nothing. */
static void write_part_share(FILE *cells, double of_roof, double spread)
{
    if (hr_roofs_is_share(of_roof, spread))
        fprintf(cells, "\t%.0f%%", 100 * of_roof);
    else
        fprintf(cells, "\t%s", spread > HR_ROOF_MOST_SPREAD ? "-" : "over");
}

static void write_part(FILE *cells, const struct hr_profile_row *row,
                       const struct hr_profile *profile)
{
    fprintf(cells, "%s\t%s\t%.1f\t%.1f%%", row->layer, hr_part_name(row->part), row->seconds * 1e6,
            100 * row->seconds / profile->step_s);
    if (!(row->seconds > 0)) {
        fputs("\t\t\t\t\t\ttoo short to be measured\n", cells);
        return;
    }
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    if (row->work.madds > 0) {
        fprintf(cells, "\t%.1f", j.flops * 1e-9);
        write_part_share(cells, j.of_compute, hr_roofs_flops_spread(&profile->roofs));
    } else
        fputs("\t-\t-", cells);
    fprintf(cells, "\t%.1f", j.bytes_per_s * 1e-9);
    write_part_share(cells, j.of_memory, profile->roofs.level_spread[j.level]);
    fprintf(cells, "\t%s\t%s\n", hr_level_name(j.level), hr_bound_name(j.bound));
}

static double seconds_of_rows(const struct hr_profile *profile)
{
    double sum = 0;
    for (size_t i = 0; i < profile->n; i++)
        sum += profile->rows[i].seconds;
    return sum;
}

static void write_totals(FILE *cells, const struct hr_profile *profile)
{
    const double rows = seconds_of_rows(profile);
    const double flops = 2 * profile->madds / profile->step_s;
    fprintf(cells, "between them\t\t%.1f\t%.1f%%\nwhole step\t\t%.1f\t100.0%%\t%.1f",
            (profile->step_s - rows) * 1e6, 100 * (1 - rows / profile->step_s),
            profile->step_s * 1e6, flops * 1e-9);
    write_part_share(cells, flops / hr_roofs_flops(&profile->roofs),
                     hr_roofs_flops_spread(&profile->roofs));
    fprintf(cells, "\t\t\t\t%.0f %s\n",
            hr_rate_shown((double)profile->batch_size / profile->step_s, profile->tokens),
            hr_rate_unit(profile->tokens));
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
    struct hr_grid table;
    hr_grid_begin(
        &table,
        "-layer\t-part\ttime\nus\tshare\tGFLOP\n/s\tof\nroof\tGB/s\tof\nroof\t-in\t-bound by");
    for (size_t i = 0; i < profile->n; i++)
        write_part(table.cells, &profile->rows[i], profile);
    write_totals(table.cells, profile);
    table.column[6].fit.expendable = 2; /* GB/s */
    table.column[4].fit.expendable = 1; /* GFLOP/s */
    table.cure = "; --wide shows all";
    hr_grid_end(&table, out, hr_output_width());
    if (over_a_roof(profile))
        fputs(
            "over: more than that roof, which cannot be: the machine was disturbed while it was "
            "measured,\nor the work reads more than it writes, and the roof does as much of both\n",
            out);
    fputc('\n', out);
    print_verdict(out, profile);
}

void hr_store_begin(struct hr_grid *cells, FILE *out, const struct hr_store_table *table)
{
    fprintf(out,
            "# store: push_pull of %zu key%s by every worker (%s, %s, %s buffers); 2W1PS is 2 "
            "workers and 1 server\n",
            table->keys, table->keys == 1 ? "" : "s", table->strategy, table->launch,
            table->buffers);
    if (table->link[0])
        fprintf(out,
                "# every server has a link of %s, emulated; law: data / total bandwidth = "
                "2 x bytes x workers / (servers x bandwidth)\n",
                table->link);
    hr_grid_begin(
        cells, "size (B)\t-setup\ttime (us)\t    p10\t    p90\t  GB/s\tlaw (us)\tbalance\t#wrong");
    hr_grid_flush(cells, out);
}

void hr_store_print_row(struct hr_grid *cells, FILE *out, const struct hr_store_row *row)
{
    char law[32] = "-";
    if (!isnan(row->law_us))
        snprintf(law, sizeof law, "%.2f", row->law_us);
    fprintf(cells->cells, "%zu\t%s\t%.2f\t%.2f\t%.2f\t%.3f\t%s\t%.2f\t%zu\n", row->bytes,
            row->setup, row->p50_us, row->p10_us, row->p90_us, row->gbs, law, row->balance,
            row->wrong);
    hr_grid_flush(cells, out);
}

/* --- for programs --- */

static json_t *time_object(double p10_us, double p50_us, double p90_us)
{
    return hr_json_object("p10", HR_JSON(p10_us), "p50", HR_JSON(p50_us), "p90", HR_JSON(p90_us),
                          NULL);
}

static json_t *bench_row(const void *rows, size_t i)
{
    const struct hr_bench_row *row = (const struct hr_bench_row *)rows + i;
    json_t *time = time_object(row->p10_us, row->p50_us, row->p90_us);
    return hr_json_object(HR_OF(row, op), HR_OF(row, algorithm), HR_OF(row, transport),
                          HR_OF(row, launch), HR_OF(row, type), HR_OF(row, redop),
                          HR_OF(row, buffers), HR_OF(row, loop), HR_OF(row, bytes),
                          HR_OF(row, count), HR_OF(row, ranks), "time_us", time,
                          HR_OF(row, algbw_gbs), HR_OF(row, busbw_gbs), HR_OF(row, wrong), NULL);
}

static json_t *calibration_object(const struct hr_machine_speed *c)
{
    if (!c)
        return json_null();
    return hr_json_object(HR_OF(c, handoff_us), HR_OF(c, message_ns), HR_OF(c, threads),
                          HR_OF(c, memory_gbs), "l2_bytes", HR_JSON((uint64_t)c->l2_bytes),
                          "l3_bytes", HR_JSON((uint64_t)c->l3_bytes), NULL);
}

json_t *hr_json_rows(const struct hr_machine_speed *calibration, const struct hr_bench_row *rows,
                     size_t n)
{
    return hr_json_object("calibration", calibration_object(calibration), "rows",
                          hr_json_list(n, bench_row, rows), NULL);
}

static json_t *store_row(const void *of, size_t i)
{
    const struct hr_store_table *table = of;
    const struct hr_store_row *row = &table->row[i];
    json_t *time = time_object(row->p10_us, row->p50_us, row->p90_us);
    return hr_json_object(
        "op", HR_JSON("store"), HR_OF(row, setup), HR_OF(row, placement), HR_OF(row, workers),
        HR_OF(row, servers), HR_OF(table, strategy), HR_OF(table, launch), HR_OF(table, buffers),
        "link", hr_json_text_or_null(table->link), HR_OF(table, keys), HR_OF(row, bytes), "time_us",
        time, HR_OF(row, gbs), HR_OF(row, law_us), HR_OF(row, balance), HR_OF(row, wrong), NULL);
}

json_t *hr_json_store(const struct hr_store_table *table)
{
    return hr_json_object("rows", hr_json_list(table->n, store_row, table), NULL);
}

/* A share of a roof; null where that wavered, and where it cannot be. */
static json_t *share(double of_roof, double spread)
{
    return hr_json_number(hr_roofs_is_share(of_roof, spread) ? of_roof : NAN);
}

static json_t *roofs_object(const struct hr_roofs *roofs)
{
    json_t *memory = json_array();
    for (enum hr_level level = 0; level < HR_LEVELS; level++)
        if (roofs->level_bytes[level] > 0)
            hr_json_append(&memory,
                           hr_json_object("level", HR_JSON(hr_level_name(level)), "holds_bytes",
                                          HR_JSON(roofs->level_bytes[level]), "bytes_per_s",
                                          HR_JSON(roofs->bytes_per_s[level]), "spread",
                                          HR_JSON(roofs->level_spread[level]), NULL));
    return hr_json_object(
        "kind", HR_JSON(hr_roof_kind_name(roofs->kind)), HR_OF(roofs, threads), "flops_per_s",
        HR_JSON(hr_roofs_flops(roofs)), "spread", HR_JSON(hr_roofs_flops_spread(roofs)), "source",
        HR_JSON(hr_roofs_flops_source(roofs)), "blas_flops_per_s", HR_JSON(roofs->blas_flops),
        "tile_flops_per_s", HR_JSON(roofs->tile_flops), "memory", memory, NULL);
}

static json_t *layer_row(const void *of, size_t i)
{
    const struct hr_profile *profile = of;
    const struct hr_profile_row *row = &profile->rows[i];
    const struct hr_judgement j = hr_roofs_judge(&profile->roofs, row->work, row->seconds);
    const int known = row->seconds > 0;
    return hr_json_object(
        HR_OF(row, layer), "part", HR_JSON(hr_part_name(row->part)), HR_OF(row, seconds), "share",
        HR_JSON(row->seconds / profile->step_s), HR_OF(&row->work, madds), HR_OF(&row->work, bytes),
        "flops_per_s", HR_JSON(j.flops), HR_OF(&j, bytes_per_s), "level",
        HR_JSON(hr_level_name(j.level)), "of_compute_roof",
        share(j.of_compute, hr_roofs_flops_spread(&profile->roofs)), "of_memory_roof",
        share(j.of_memory, profile->roofs.level_spread[j.level]), "bound",
        known ? json_string(hr_bound_name(j.bound)) : json_null(), NULL);
}

static json_t *total_object(const struct hr_profile *profile)
{
    const double flops = 2 * profile->madds / profile->step_s;
    return hr_json_object(
        "seconds", HR_JSON(profile->step_s), HR_OF(profile, steps), HR_OF(profile, madds),
        "flops_per_s", HR_JSON(flops), "of_compute_roof",
        share(flops / hr_roofs_flops(&profile->roofs), hr_roofs_flops_spread(&profile->roofs)),
        "samples_per_s", HR_JSON((double)profile->batch_size / profile->step_s), NULL);
}

json_t *hr_json_layers(const struct hr_profile *profile, const char *kernels)
{
    double share[HR_BOUNDS];
    hr_profile_shares(profile, share);
    json_t *bound = hr_json_object("compute", HR_JSON(share[HR_BOUND_COMPUTE]), "memory",
                                   HR_JSON(share[HR_BOUND_MEMORY]), "overhead",
                                   HR_JSON(share[HR_BOUND_OVERHEAD]), NULL);
    return hr_json_object("kernels", HR_JSON(kernels), "roofs", roofs_object(&profile->roofs),
                          HR_OF(profile, model), HR_OF(profile, params), HR_OF(profile, batch_size),
                          "threads_per_worker", HR_JSON(profile->threads), "rows",
                          hr_json_list(profile->n, layer_row, profile), "total",
                          total_object(profile), "bound", bound, NULL);
}

/* What a share was made of, and why there is none. */
static json_t *roof_object(const struct hr_speed_row *row)
{
    const struct hr_roof_share *roof = &row->roof;
    const bool known = roof->lack == HR_SHARE_IS_KNOWN;
    char text[64];
    json_t *rounds = json_array();
    for (size_t i = 0; i < row->rounds; i++)
        hr_json_append(&rounds,
                       hr_json_object("flops_per_s", HR_JSON(row->measured[i].rate), "roof_before",
                                      HR_JSON(row->measured[i].before), "roof_after",
                                      HR_JSON(row->measured[i].after), NULL));
    return hr_json_object(
        "kind", HR_JSON(hr_roof_kind_name(row->roof_kind)), "low_flops_per_s",
        HR_JSON(roof->roof.low), "high_flops_per_s", HR_JSON(roof->roof.high), "spread",
        HR_JSON(hr_middle_spread(roof->roof)), "share_low", HR_JSON(known ? roof->share.low : NAN),
        "share_high", HR_JSON(known ? roof->share.high : NAN), "no_share",
        hr_json_text_or_null(hr_roof_share_lack(roof, text)), "rounds", rounds, NULL);
}

static json_t *speed_object(const void *rows, size_t i)
{
    const struct hr_speed_row *row = (const struct hr_speed_row *)rows + i;
    const struct hr_run_result *r = &row->result;
    double share[HR_SPEED_PARTS];
    char label[256];
    hr_speed_parts(r, share);
    hr_speed_curve(row, label, sizeof label);
    json_t *time = hr_json_object(
        "load", HR_JSON(share[HR_SPEED_LOAD]), "forward", HR_JSON(share[HR_SPEED_FORWARD]),
        "backward", HR_JSON(share[HR_SPEED_BACKWARD]), "update", HR_JSON(share[HR_SPEED_UPDATE]),
        "communicate", HR_JSON(share[HR_SPEED_COMMUNICATE]), "wait", HR_JSON(share[HR_SPEED_WAIT]),
        NULL);
    return hr_json_object(
        HR_OF(row, model), "label", HR_JSON(label), "layers", HR_JSON(r->model), HR_OF(r, params),
        HR_OF(r, strategy), HR_OF(r, launch), HR_OF(r, kernels), HR_OF(r, workers),
        HR_OF(r, servers), HR_OF(r, clock), HR_OF(r, threads_per_worker), HR_OF(r, batch_size),
        HR_OF(r, samples_per_s), "tokens", r->tokens ? hr_json_count(r->tokens) : json_null(),
        HR_OF(row, rounds), "least_samples_per_s", HR_JSON(row->least), "most_samples_per_s",
        HR_JSON(row->most), "ideal_samples_per_s", HR_JSON(row->ideal), "flops_per_sample",
        HR_JSON(2 * row->madds), "flops_per_s", HR_JSON(hr_speed_flops(row)), "roof_flops_per_s",
        HR_JSON(row->measured ? row->roof.roof.median : NAN), "of_compute_roof",
        HR_JSON(hr_speed_share(row)), "roof", row->measured ? roof_object(row) : json_null(),
        "time", time, NULL);
}

json_t *hr_json_speed(const struct hr_speed_row *rows, size_t n)
{
    return hr_json_object("rows", hr_json_list(n, speed_object, rows), NULL);
}
