#include "report/store_times.h"

#include <math.h>

void hr_store_begin(struct hr_grid *cells, FILE *out, const struct hr_store_table *table)
{
    fprintf(out, "# store: push_pull of %zu key%s by every worker (%s, %s, %s buffers)\n",
            table->keys, table->keys == 1 ? "" : "s", table->strategy, table->launch,
            table->buffers);
    if (table->link[0])
        fprintf(out,
                "# every server has a link of %s, emulated; law: data / total bandwidth = "
                "2 x bytes x workers / (servers x bandwidth)\n",
                table->link);
    hr_grid_begin(cells, "    size (B)\t-workers, servers  \t time (us)\t       p10\t       p90\t"
                         "    GB/s\t  law (us)\tbalance\t#wrong");
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
