#include "plan/plan.h"

#include <stdlib.h>

#include "base/size.h"

enum hr_status hr_plan_add(struct hr_plan *plan, struct hr_row row)
{
    if (plan->nrows == plan->capacity) {
        const size_t capacity = plan->capacity ? 2 * plan->capacity : 16;
        struct hr_row *rows = realloc(plan->rows, capacity * sizeof *rows);
        if (!rows)
            return hr_fail(HR_E_NOMEM, "no memory for a plan of %zu rows", capacity);
        plan->rows = rows;
        plan->capacity = capacity;
    }
    plan->uses_scratch |= row.buffer == HR_SCRATCH;
    plan->rows[plan->nrows++] = row;
    return HR_OK;
}

void hr_plan_fini(struct hr_plan *plan)
{
    free(plan->rows);
    *plan = (struct hr_plan){0};
}

enum hr_status hr_plan_send(struct hr_plan *plan, size_t step, enum hr_buffer buffer, size_t peer,
                            size_t chunk)
{
    return hr_plan_add(plan, (struct hr_row){(uint16_t)step, (uint16_t)peer, (uint16_t)chunk, 1,
                                             HR_ROW_SEND, (uint8_t)buffer});
}

enum hr_status hr_plan_receive(struct hr_plan *plan, size_t step, enum hr_action action,
                               size_t peer, size_t chunk)
{
    return hr_plan_add(plan, (struct hr_row){(uint16_t)step, (uint16_t)peer, (uint16_t)chunk, 1,
                                             (uint8_t)action, HR_OUT});
}

enum hr_status hr_plan_local(struct hr_plan *plan, size_t step, enum hr_action action,
                             enum hr_buffer buffer, size_t chunk)
{
    return hr_plan_add(plan, (struct hr_row){(uint16_t)step, 0, (uint16_t)chunk, 1, (uint8_t)action,
                                             (uint8_t)buffer});
}

enum hr_status hr_plan_take_all(struct hr_plan *plan, const struct hr_plan_for *of)
{
    if (of->in_place)
        return HR_OK;
    return hr_plan_add(
        plan,
        (struct hr_row){.span = (uint16_t)plan->nchunks, .action = HR_ROW_TAKE, .buffer = HR_IN});
}

size_t hr_chunk_begin(size_t count, size_t line, size_t nchunks, size_t chunk)
{
    const size_t lines = count / line + (count % line != 0);
    return hr_min_size(count, hr_split_begin(lines, nchunks, chunk) * line);
}
