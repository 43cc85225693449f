/* The parameter server's times as JSON. */
#include "json/documents.h"
#include "json/value.h"

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

json_t *hr_json_store(const struct hr_store_table *table)
{
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < table->n; i++)
        failed |= json_array_append_new(array, row_object(table, &table->row[i]));
    if (failed) {
        json_decref(array);
        array = NULL;
    }
    return json_pack("{so}", "rows", array);
}
