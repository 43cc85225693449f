#include "report/store_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/value.h"
#include "report/report.h"

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

static json_t *row_object(const struct hr_store_table *table, const struct hr_store_row *row)
{
    json_t *time = json_pack("{so so so}", "p10", hr_json_number(row->p10_us), "p50",
                             hr_json_number(row->p50_us), "p90", hr_json_number(row->p90_us));
    return json_pack("{ss ss ss so so ss ss ss so so so so so so so so}", "op", "store", "setup",
                     row->setup, "placement", row->placement, "workers",
                     hr_json_count(row->workers), "servers", hr_json_count(row->servers),
                     "strategy", table->strategy, "launch", table->launch, "buffers",
                     table->buffers, "link", hr_json_text_or_null(table->link), "keys",
                     hr_json_count(table->keys), "bytes", hr_json_count(row->bytes), "time_us",
                     time, "gbs", hr_json_number(row->gbs), "law_us", hr_json_number(row->law_us),
                     "balance", hr_json_number(row->balance), "wrong", hr_json_count(row->wrong));
}

enum hr_status hr_json_write_store(const char *path, const struct hr_store_table *table)
{
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < table->n; i++)
        failed |= json_array_append_new(array, row_object(table, &table->row[i]));
    if (failed) {
        json_decref(array);
        array = NULL;
    }
    return hr_json_write(path, json_pack("{so}", "rows", array));
}
