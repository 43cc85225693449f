#include "bench/link_times.h"

#include <math.h>

/* 160000000 -> "160 MB", 16e9 -> "16 GB". */
static char *decimal(double bytes, char text[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, 32, "%.6g %s", bytes, units[unit]);
    return text;
}

/* The column of an emulation, if there was one. */
static const char *emulated_cell(const struct hr_links_table *table, const struct hr_links_row *row,
                                 char text[32])
{
    text[0] = '\0';
    if (table->slower > 0 && isnan(row->emulated_s))
        snprintf(text, 32, " %14s", "-");
    else if (table->slower > 0)
        snprintf(text, 32, " %14.3f", 1e3 * row->emulated_s);
    return text;
}

static void print_row(FILE *out, const struct hr_links_table *table, const struct hr_links_row *row)
{
    char name[HR_CHANNEL_NAME], textbook[32] = "-", emulated[32];
    const struct hr_walk *walk = &row->walk;
    const size_t busiest = hr_links_busiest(&walk->links);
    const double busy = (double)walk->links.channel[busiest].busy_ps;
    if (!isnan(row->textbook_s))
        snprintf(textbook, sizeof textbook, "%.6f", 1e3 * row->textbook_s);
    fprintf(out, "%-26s %6zu %14.6f%s %14s  %-22s %-20s %6.1f %%\n", row->algorithm, walk->nsteps,
            1e3 * hr_ps_seconds(walk->ps), emulated_cell(table, row, emulated), textbook,
            row->formula[0] ? row->formula : "-",
            hr_channel_name(walk->links.topology, busiest, name),
            walk->ps ? 100 * busy / (double)walk->ps : 0);
}

void hr_links_print(FILE *out, const struct hr_links_table *table)
{
    char bytes[32], bandwidth[32];
    const struct hr_topology *topology = table->topology;
    fprintf(out, "# %s: %zu nodes, %zu links; N = %s, P = %zu workers, B = %s/s, master %s\n",
            table->name, topology->nnodes, topology->nwires, decimal((double)table->bytes, bytes),
            table->workers, decimal(table->bandwidth, bandwidth), table->root);
    if (table->slower > 0)
        fprintf(out,
                "# emulated: measured over rings slowed down to 1/%.4g of these bandwidths, "
                "times that\n",
                table->slower);
    fprintf(out, "%-26s %6s %14s%s %14s  %-22s %-20s %8s\n", "algorithm", "steps", "time (ms)",
            table->slower > 0 ? "  emulated (ms)" : "", "textbook (ms)", "textbook's formula",
            "busiest link", "busy");
    for (size_t i = 0; i < table->n; i++)
        print_row(out, table, &table->row[i]);
}

void hr_sweep_print(FILE *out, const struct hr_sweep *sweep)
{
    char bytes[32], bandwidth[32];
    fprintf(out,
            "# push and pull of N = %s, m workers and n servers around a switch, B = %s/s: ms\n"
            "%-22s",
            decimal((double)sweep->bytes, bytes), decimal(sweep->link.bandwidth, bandwidth), "m");
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        fprintf(out, "         n = %zu", sweep->servers[s]);
    for (size_t m = 0; m < HR_SWEEP_WORKERS; m++) {
        fprintf(out, "\n%-22zu", m + 1);
        for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
            fprintf(out, " %13.6f", 1e3 * sweep->seconds[m][s]);
    }
    fprintf(out, "\n%-22s", "slope, ms a worker");
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        fprintf(out, " %13.6f", 1e3 * sweep->slope_s[s]);
    fprintf(out, "\n%-22s", "law, 2 N / (n B)");
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        fprintf(out, " %13.6f", 1e3 * sweep->law_s[s]);
    fputs("\n", out);
}

void hr_rings_print(FILE *out, const struct hr_topology *topology, const struct hr_rings *rings)
{
    char bandwidth[32];
    for (size_t i = 0; i < rings->n; i++) {
        const uint16_t *order = hr_rings_order(rings, i);
        fprintf(out, "ring %zu, %zu lane%s, %s/s: ", i + 1, rings->lanes[i],
                rings->lanes[i] == 1 ? "" : "s", decimal(rings->bandwidth[i], bandwidth));
        for (size_t k = 0; k <= rings->nranks; k++)
            fprintf(out, "%s%s", k ? " - " : "",
                    topology->node[topology->rank_node[order[k % rings->nranks]]].name);
        fputs("\n", out);
    }
    fprintf(out, "in all %s/s one way round%s\n", decimal(rings->total, bandwidth),
            rings->complete ? "; there is no more" : "; the search was cut short");
}
