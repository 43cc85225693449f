#include <stdlib.h>
#include <string.h>

#include "plot/plot.h"

/* A sweep holds the size and varies workers and servers. */
static bool is_sweep(const struct hr_store_table *table)
{
    for (size_t i = 1; i < table->n; i++)
        if (table->row[i].bytes != table->row[0].bytes)
            return false;
    return table->n > 1;
}

/* Drawn as collectives are, with setups as algorithms. */
enum hr_status hr_plot_store(const char *path, const char *title,
                             const struct hr_store_table *table)
{
    const bool sweep = is_sweep(table);
    struct hr_bench_row *rows = calloc(table->n + 1, sizeof *rows);
    char(*servers)[48] = calloc(table->n + 1, sizeof *servers);
    enum hr_status status =
        rows && servers ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a picture");
    for (size_t i = 0; status == HR_OK && i < table->n; i++) {
        const struct hr_store_row *row = &table->row[i];
        snprintf(servers[i], sizeof servers[i], "%zu server%s%s", row->servers,
                 row->servers == 1 ? "" : "s",
                 strcmp(row->placement, "dedicated") ? " colocated" : "");
        rows[i] = (struct hr_bench_row){.op = "all_reduce",
                                        .algorithm = sweep ? servers[i] : row->setup,
                                        .bytes = row->bytes,
                                        .ranks = row->workers,
                                        .p10_us = row->p10_us,
                                        .p50_us = row->p50_us,
                                        .p90_us = row->p90_us};
    }
    if (status == HR_OK)
        status = hr_plot_bench(path, title, rows, table->n,
                               sweep ? HR_PLOT_OVER_RANKS : HR_PLOT_OVER_BYTES);
    free(rows);
    free(servers);
    return status;
}
