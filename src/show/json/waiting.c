/* Who was waited for, as JSON. */
#include <math.h>

#include "json/account.h"
#include "json/value.h"

static json_t *of_rank(const struct hr_run_result *run, size_t rank)
{
    const struct hr_waited_for *w = &run->waited_for[rank];
    const double all = run->waited_for_others_s;
    return json_pack(
        "{so so so so so so so so so so so}", "rank", hr_json_count(rank), "cost_s",
        hr_json_number(w->cost_s), "share", hr_json_number(all > 0 ? w->cost_s / all : (double)NAN),
        "load", hr_json_number(w->load_s), "compute", hr_json_number(w->compute_s), "stalled",
        hr_json_number(w->stall_s), "preempted", hr_json_number(w->preempted_s), "communicate",
        hr_json_number(w->communicate_s), "wait", hr_json_number(w->wait_s), "stage",
        run->pipeline.stages ? hr_json_count(w->stage) : json_null(), "dropped",
        hr_json_count(rank < run->ndropped_by ? run->dropped_by[rank] : 0));
}

static json_t *by_rank(const struct hr_run_result *run)
{
    json_t *array = json_array();
    for (size_t r = 0; r < run->nwaited; r++)
        json_array_append_new(array, of_rank(run, r));
    return array;
}

static json_t *matrix(const struct hr_run_result *run)
{
    const size_t n = run->nwaited;
    if (!run->waited_s)
        return json_null();
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < n; j++)
            json_array_append_new(row, hr_json_number(run->waited_s[i * n + j]));
        json_array_append_new(rows, row);
    }
    return rows;
}

json_t *hr_json_waiting(const struct hr_run_result *run)
{
    if (!run->nwaited)
        return json_pack("{sn sn sn s[] sn}", "for_others", "stalled", "otherwise", "by_rank",
                         "matrix");
    const double others = run->waited_for_others_s, stalled = run->stalled_s;
    return json_pack("{so so so so so}", "for_others", hr_json_number(others), "stalled",
                     hr_json_number(stalled), "otherwise",
                     hr_json_number(run->wait_s - others - stalled), "by_rank", by_rank(run),
                     "matrix", matrix(run));
}
