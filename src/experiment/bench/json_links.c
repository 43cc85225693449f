/* What bench links shows, as JSON: fields are only ever added. */
#include <math.h>

#include "json/value.h"
#include "bench/link_times.h"

static json_t *steps(const struct hr_walk *walk)
{
    json_t *array = json_array();
    for (size_t s = 0; s < walk->nsteps; s++)
        hr_json_append(&array, hr_json_number(hr_ps_seconds(walk->step_ps[s])));
    return array;
}

/* Channels that carried something. */
static json_t *channels(const struct hr_walk *walk)
{
    json_t *array = json_array();
    char name[HR_CHANNEL_NAME];
    for (size_t c = 0; c < walk->links.nchannels; c++) {
        const struct hr_channel *channel = &walk->links.channel[c];
        if (channel->messages)
            hr_json_append(&array,
                           json_pack("{so so so so}", "link",
                                     hr_json_text(hr_channel_name(walk->links.topology, c, name)),
                                     "bytes", hr_json_count(channel->bytes), "messages",
                                     hr_json_count(channel->messages), "busy_seconds",
                                     hr_json_number(hr_ps_seconds(channel->busy_ps))));
    }
    return array;
}

static json_t *row_object(const struct hr_links_table *table, const struct hr_links_row *row)
{
    char busiest[HR_CHANNEL_NAME];
    const struct hr_walk *walk = &row->walk;
    hr_channel_name(walk->links.topology, hr_links_busiest(&walk->links), busiest);
    return json_pack(
        "{ss so so so so so so so so so so so so so so so so}", "op", "links", "algorithm",
        hr_json_text(row->algorithm), "topology", hr_json_text(table->name), "root",
        hr_json_text(table->root), "workers", hr_json_count(table->workers), "bytes",
        hr_json_count(table->bytes), "steps", hr_json_count(walk->nsteps), "seconds",
        hr_json_number(hr_ps_seconds(walk->ps)), "textbook_seconds",
        hr_json_number(row->textbook_s), "textbook_formula", hr_json_text_or_null(row->formula),
        "messages", hr_json_count(walk->messages), "bytes_sent", hr_json_count(walk->bytes),
        "busiest", hr_json_text(busiest), "step_seconds", steps(walk), "links", channels(walk),
        "emulated_seconds", hr_json_number(table->slower > 0 ? row->emulated_s : NAN), "slower",
        hr_json_number(table->slower > 0 ? table->slower : NAN));
}

json_t *hr_json_links(const struct hr_links_table *table)
{
    json_t *array = json_array();
    for (size_t i = 0; i < table->n; i++)
        hr_json_append(&array, row_object(table, &table->row[i]));
    return json_pack("{so}", "rows", array);
}

json_t *hr_json_sweep(const struct hr_sweep *sweep)
{
    json_t *array = json_array();
    for (size_t s = 0; s < HR_SWEEP_SERVERS; s++)
        for (size_t m = 0; m < HR_SWEEP_WORKERS; m++)
            hr_json_append(&array, json_pack("{ss so so so so so so}", "op", "server_round",
                                             "workers", hr_json_count(m + 1), "servers",
                                             hr_json_count(sweep->servers[s]), "bytes",
                                             hr_json_count(sweep->bytes), "seconds",
                                             hr_json_number(sweep->seconds[m][s]), "slope_seconds",
                                             hr_json_number(sweep->slope_s[s]), "law_slope_seconds",
                                             hr_json_number(sweep->law_s[s])));
    return json_pack("{so}", "rows", array);
}

static json_t *order_of(const struct hr_topology *topology, const struct hr_rings *rings, size_t i)
{
    json_t *array = json_array();
    for (size_t k = 0; k < rings->nranks; k++) {
        const size_t node = topology->rank_node[hr_rings_order(rings, i)[k]];
        hr_json_append(&array, hr_json_text(topology->node[node].name));
    }
    return array;
}

json_t *hr_json_rings(const struct hr_topology *topology, const struct hr_rings *rings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < rings->n; i++)
        hr_json_append(&array, json_pack("{ss so so so sb}", "op", "ring", "order",
                                         order_of(topology, rings, i), "lanes",
                                         hr_json_count(rings->lanes[i]), "bandwidth_gbs",
                                         hr_json_number(rings->bandwidth[i] * 1e-9), "complete",
                                         rings->complete));
    return json_pack("{so}", "rows", array);
}
