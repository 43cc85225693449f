#include "worker/gradient_check.h"

#include <math.h>

#include "base/size.h"
#include "base/vec.h"
#include "kernels/team.h"

void hr_gradient_check_begin(struct hr_gradient_check *check, float *grads, size_t params,
                             size_t nan_at)
{
    *check = (struct hr_gradient_check){grads, params, nan_at, .found = SIZE_MAX};
}

/* Pieces of an array, one a thread. */
struct look {
    const float *x;
    size_t count, threads;
    bool finite[HR_TEAM_MAX];
};

static void look_at_piece(void *arg, size_t piece, size_t thread)
{
    struct look *look = arg;
    const size_t begin = hr_split_begin(look->count, look->threads, piece);
    (void)thread;
    look->finite[piece] = hr_vec()->all_finite(
        look->x + begin, hr_split_begin(look->count, look->threads, piece + 1) - begin);
}

static bool all_finite(const float *x, size_t count, size_t threads)
{
    struct look look = {.x = x, .count = count, .threads = threads ? threads : 1};
    bool all = true;
    hr_team_run(look.threads, look.threads, look_at_piece, &look);
    for (size_t i = 0; i < look.threads; i++)
        all &= look.finite[i];
    return all;
}

bool hr_gradient_check_from(struct hr_gradient_check *check, size_t offset)
{
    const size_t end = check->unchecked;
    if (offset >= end || check->found != SIZE_MAX)
        return check->found == SIZE_MAX;
    check->unchecked = offset;
    if (check->nan_at >= offset && check->nan_at < end)
        check->grads[check->nan_at] = NAN;
    if (all_finite(check->grads + offset, end - offset, check->threads))
        return true;
    for (check->found = offset; isfinite(check->grads[check->found]);)
        check->found++;
    check->value = check->grads[check->found];
    return false;
}

/* The numbers of parameters [begin, begin + count). */
static void check_row(struct hr_gradient_check *check, size_t begin, size_t count, float *values)
{
    size_t i = 0;
    if (check->nan_at >= begin && check->nan_at < begin + count)
        values[check->nan_at - begin] = NAN;
    if (hr_vec()->all_finite(values, count))
        return;
    while (isfinite(values[i]))
        i++;
    check->found = begin + i;
    check->value = values[i];
}

bool hr_gradient_check_piece(struct hr_gradient_check *check, const struct hr_final_piece *piece)
{
    const size_t run = hr_final_run(piece), rows = run ? 1 : piece->rows;
    check->unchecked = 0;
    for (size_t i = 0; check->found == SIZE_MAX && i < rows; i++)
        check_row(check, piece->begin + i * piece->step, run ? run : piece->columns,
                  piece->values + i * piece->stride);
    return check->found == SIZE_MAX;
}
