#include "report/store_times.h"

#include <math.h>

void hr_store_print_head(FILE *out, const struct hr_store_table *table)
{
    fprintf(out, "# store: push_pull of %zu key%s by every worker (%s, %s, %s buffers)\n",
            table->keys, table->keys == 1 ? "" : "s", table->strategy, table->launch,
            table->buffers);
    if (table->link[0])
        fprintf(out,
                "# every server has a link of %s, emulated; law: data / total bandwidth = "
                "2 x bytes x workers / (servers x bandwidth)\n",
                table->link);
    fprintf(out, "%12s  %-18s %10s %10s %10s %8s %10s %8s %7s\n", "size (B)", "workers, servers",
            "time (us)", "p10", "p90", "GB/s", "law (us)", "balance", "#wrong");
}

void hr_store_print_row(FILE *out, const struct hr_store_row *row)
{
    char law[32] = "-";
    if (!isnan(row->law_us))
        snprintf(law, sizeof law, "%.2f", row->law_us);
    fprintf(out, "%12zu  %-18s %10.2f %10.2f %10.2f %8.3f %10s %8.2f %7zu\n", row->bytes,
            row->setup, row->p50_us, row->p10_us, row->p90_us, row->gbs, law, row->balance,
            row->wrong);
}
