/* What hogring/group.h promises beside results: documented errors, memory, groups and names. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/worlds.h"

enum { N = 4, COUNT = 40 };

/* --- nothing ---------------------------------------------------------------------------------- */

/* The odd ranks' buffers lie in arenas, the others have none. */
static enum hr_status move_nothing(struct hr_group *world, void *arg)
{
    void *memory = NULL;
    (void)arg;
    if (hr_group_rank(world) % 2)
        HR_TRY(hr_group_alloc(world, 64, &memory));
    HR_TRY(hr_broadcast(world, memory, 0, HR_INT32, 0));
    HR_TRY(hr_all_reduce(world, memory, memory, 0, HR_INT32, HR_SUM));
    HR_TRY(hr_all_reduce(world, NULL, memory, 0, HR_FLOAT32, HR_MEAN));
    HR_TRY(hr_reduce(world, memory, memory, 0, HR_FLOAT32, HR_SUM, 0));
    HR_TRY(hr_reduce_scatter(world, memory, memory, 0, HR_FLOAT32, HR_SUM));
    HR_TRY(hr_all_gather(world, memory, memory, 0, HR_FLOAT64));
    HR_TRY(hr_gather(world, memory, memory, 0, HR_FLOAT64, 1));
    HR_TRY(hr_scatter(world, memory, memory, 0, HR_FLOAT64, 2));
    return hr_all_to_all(world, memory, memory, 0, HR_INT64);
}

static void nothing_moves_from_anywhere_to_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; hr_algorithm_at(i); i++)
        for (int copy = 0; copy < 2; copy++)
            worlds_pass((struct hr_world_options){.nranks = N,
                                                  .algorithm = hr_algorithm_at(i)->name,
                                                  .transport = copy ? "copy" : "zero-copy"},
                        move_nothing, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_from_anywhere_to_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
