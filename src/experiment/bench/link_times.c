#include "bench/link_times.h"

#include <math.h>

#include "terminal/grid.h"

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

/* Milliseconds; "-": there are none. */
static const char *ms(double seconds, const char *format, char text[32])
{
    snprintf(text, 32, "-");
    if (!isnan(seconds))
        snprintf(text, 32, format, 1e3 * seconds);
    return text;
}

static void write_row(FILE *cells, const struct hr_links_table *table,
                      const struct hr_links_row *row)
{
    char name[HR_CHANNEL_NAME], textbook[32], emulated[32];
    const struct hr_walk *walk = &row->walk;
    const size_t busiest = hr_links_busiest(&walk->links);
    const double busy = (double)walk->links.channel[busiest].busy_ps;
    fprintf(cells, "%s\t%zu\t%.6f\t%s\t%s\t%s\t%s\t%.1f %%\n", row->algorithm, walk->nsteps,
            1e3 * hr_ps_seconds(walk->ps),
            table->slower > 0 ? ms(row->emulated_s, "%.3f", emulated) : "",
            ms(row->textbook_s, "%.6f", textbook), row->formula[0] ? row->formula : "-",
            hr_channel_name(walk->links.topology, busiest, name),
            walk->ps ? 100 * busy / (double)walk->ps : 0);
}

void hr_links_print(FILE *out, const struct hr_links_table *table)
{
    char bytes[32], bandwidth[32];
    const struct hr_topology *topology = table->topology;
    struct hr_grid cells;
    fprintf(out, "# %s: %zu nodes, %zu links; N = %s, P = %zu workers, B = %s/s, master %s\n",
            table->name, topology->nnodes, topology->nwires, decimal((double)table->bytes, bytes),
            table->workers, decimal(table->bandwidth, bandwidth), table->root);
    if (table->slower > 0)
        fprintf(out,
                "# emulated: measured over rings slowed down to 1/%.4g of these bandwidths, "
                "times that\n",
                table->slower);
    hr_grid_begin(&cells, "-algorithm\tsteps\ttime (ms)\temulated (ms)\ttextbook (ms)\t"
                          "-textbook's formula\t-busiest link\tbusy");
    for (size_t i = 0; i < table->n; i++)
        write_row(cells.cells, table, &table->row[i]);
    hr_grid_end(&cells, out, 0);
}

static void write_sweep(FILE *cells, const char *name, const double seconds[HR_SWEEP_SERVERS])
{
    fputs(name, cells);
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        fprintf(cells, "\t%.6f", 1e3 * seconds[s]);
    fputc('\n', cells);
}

void hr_sweep_print(FILE *out, const struct hr_sweep *sweep)
{
    char bytes[32], bandwidth[32], text[32];
    struct hr_grid table;
    fprintf(out,
            "# push and pull of N = %s, m workers and n servers around a switch, B = %s/s: ms\n",
            decimal((double)sweep->bytes, bytes), decimal(sweep->link.bandwidth, bandwidth));
    hr_grid_begin(&table, "-m");
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++) {
        snprintf(text, sizeof text, "n = %zu", sweep->servers[s]);
        hr_grid_add(&table, text);
    }
    for (size_t m = 0; m < HR_SWEEP_WORKERS; m++) {
        snprintf(text, sizeof text, "%zu", m + 1);
        write_sweep(table.cells, text, sweep->seconds[m]);
    }
    write_sweep(table.cells, "slope, ms a worker", sweep->slope_s);
    write_sweep(table.cells, "law, 2 N / (n B)", sweep->law_s);
    hr_grid_end(&table, out, 0);
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
