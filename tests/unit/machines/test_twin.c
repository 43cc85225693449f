/* What machines have changed in memory that they share, found and merged. */
#include "machines/diff_barrier.h"

#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"

enum { BYTES = 64 << 10, MACHINES = 3 };

/* Counters and flags, an array in lines, something for machine 0 alone; and bytes of nobody. */
static const struct hr_area areas[] = {
    {.offset = 128, .bytes = 3000, .unit = 1},
    {.offset = 8192, .bytes = 20000, .unit = 128},
    {.offset = 28192, .bytes = 9001, .unit = 8, .for_first = true},
    {.offset = 40960, .bytes = 8000, .unit = 4, .stages = 1u << 2},
};
enum { AREAS = sizeof areas / sizeof *areas };

struct machine {
    unsigned char *segment;
    struct hr_twin twin;
};

static void open_machine(struct machine *machine)
{
    machine->segment = calloc(1, BYTES);
    assert_non_null(machine->segment);
    for (size_t i = 0; i < BYTES; i++)
        machine->segment[i] = (unsigned char)(i * 7);
    CHECK_OK(hr_twin_open(machine->segment, areas, AREAS, &machine->twin));
}

static void close_machine(struct machine *machine)
{
    hr_twin_close(&machine->twin);
    free(machine->segment);
}

static void what_has_not_changed_is_not_found(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    assert_int_equal(hr_twin_bytes(areas, AREAS), 3000 + 20000 + 9001 + 8000);
    CHECK_OK(hr_twin_find(&machine.twin, 0));
    assert_int_equal(machine.twin.nruns, 0);
    machine.segment[0] ^= 1; /* of nobody's area */
    machine.segment[127] ^= 1;
    machine.segment[3128] ^= 1;
    CHECK_OK(hr_twin_find(&machine.twin, 0));
    assert_int_equal(machine.twin.nruns, 0);
    close_machine(&machine);
}

static void check_run(const struct machine *machine, size_t i, size_t offset, size_t bytes,
                      bool for_first)
{
    assert_true(i < machine->twin.nruns);
    assert_int_equal(machine->twin.run[i].offset, offset);
    assert_int_equal(machine->twin.run[i].bytes, bytes);
    assert_int_equal(machine->twin.run[i].for_first, for_first);
}

static void runs_are_whole_units_of_one_area(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    machine.segment[128] ^= 1;
    machine.segment[130] ^= 1;
    machine.segment[131] ^= 1;
    machine.segment[8192 + 4096 - 1] ^= 1; /* units on both sides of a page */
    machine.segment[8192 + 4096] ^= 1;
    machine.segment[28191] ^= 1; /* the last unit of its area is cut short, */
    machine.segment[28192] ^= 1; /* and the next one belongs to another */
    machine.segment[28192 + 9000] ^= 1;
    machine.segment[40960] ^= 1;
    CHECK_OK(hr_twin_find(&machine.twin, 1));
    assert_int_equal(machine.twin.nruns, 6);
    check_run(&machine, 0, 128, 1, false);
    check_run(&machine, 1, 130, 2, false);
    check_run(&machine, 2, 8192 + 4096 - 128, 256, false);
    check_run(&machine, 3, 8192 + 20000 - 20000 % 128, 20000 % 128, false);
    check_run(&machine, 4, 28192, 8, true);
    check_run(&machine, 5, 28192 + 9000, 1, true);
    CHECK_OK(hr_twin_find(&machine.twin, 2)); /* only then */
    assert_int_equal(machine.twin.nruns, 7);
    check_run(&machine, 6, 40960, 4, false);
    hr_twin_keep(&machine.twin, 128, 4);
    CHECK_OK(hr_twin_find(&machine.twin, 1));
    assert_int_equal(machine.twin.nruns, 4);
    close_machine(&machine);
}

static void a_large_run_is_one(void **state)
{
    struct machine machine;
    (void)state;
    open_machine(&machine);
    memset(machine.segment + 8192 + 128, 0xff, 12800);
    memset(machine.segment + 28192, 0xff, 800);
    CHECK_OK(hr_twin_find(&machine.twin, 0));
    assert_int_equal(machine.twin.nruns, 2);
    check_run(&machine, 0, 8192 + 128, 12800, false);
    assert_true(hr_run_is_large(&machine.twin.run[0]));
    assert_int_equal(hr_twin_packed_bytes(&machine.twin, true), 16 + 800);
    assert_int_equal(hr_twin_packed_bytes(&machine.twin, false), 0);
    close_machine(&machine);
}

/* Each machine writes every third unit of what it may write; then all send to all. */
static void scribble(struct machine *machine, size_t self, uint64_t round)
{
    for (size_t a = 0; a < AREAS; a++)
        for (size_t at = 0; at < areas[a].bytes; at++) {
            const size_t unit = at / areas[a].unit;
            const struct hr_philox random = hr_random_block(round, HR_STREAM_NAME, at, (uint32_t)a);
            if (unit % MACHINES == self && random.v[0] % 5 == 0)
                machine->segment[areas[a].offset + at] = (unsigned char)random.v[1];
        }
}

static void merge(const struct machine *from, const struct machine *to, bool to_first)
{
    const struct hr_twin *twin = &from->twin;
    const size_t bytes = hr_twin_packed_bytes(twin, to_first);
    unsigned char *packed = malloc(bytes + 1);
    assert_non_null(packed);
    hr_twin_pack(twin, to_first, packed);
    CHECK_OK(hr_twin_unpack(&to->twin, packed, bytes));
    free(packed);
    for (size_t i = 0; i < twin->nruns; i++) {
        const struct hr_changed_run *run = &twin->run[i];
        if (!hr_run_is_large(run) || (run->for_first && !to_first))
            continue;
        memcpy(to->segment + run->offset, from->segment + run->offset, run->bytes);
        hr_twin_keep(&to->twin, run->offset, run->bytes);
    }
}

static void several_writers_lose_nothing(void **state)
{
    struct machine machine[MACHINES];
    unsigned char expected[MACHINES][BYTES];
    (void)state;
    for (size_t m = 0; m < MACHINES; m++)
        open_machine(&machine[m]);
    for (uint64_t round = 1; round <= 20; round++) {
        for (size_t m = 0; m < MACHINES; m++) {
            scribble(&machine[m], m, round);
            CHECK_OK(hr_twin_find(&machine[m].twin, 2));
            memcpy(expected[m], machine[m].segment, BYTES);
        }
        for (size_t m = 0; m < MACHINES; m++) /* what each should have */
            for (size_t a = 0; a < AREAS; a++)
                for (size_t at = 0; at < areas[a].bytes; at++) {
                    const size_t owner = at / areas[a].unit % MACHINES;
                    if (!areas[a].for_first || m == 0 || owner == m)
                        expected[m][areas[a].offset + at] =
                            machine[owner].segment[areas[a].offset + at];
                }
        for (size_t from = 0; from < MACHINES; from++)
            for (size_t to = 0; to < MACHINES; to++)
                if (from != to)
                    merge(&machine[from], &machine[to], to == 0);
        for (size_t m = 0; m < MACHINES; m++) {
            for (size_t i = 0; i < machine[m].twin.nruns; i++)
                hr_twin_keep(&machine[m].twin, machine[m].twin.run[i].offset,
                             machine[m].twin.run[i].bytes);
            assert_memory_equal(machine[m].segment, expected[m], BYTES);
            CHECK_OK(hr_twin_find(&machine[m].twin, 2));
            assert_int_equal(machine[m].twin.nruns, 0);
        }
    }
    for (size_t m = 0; m < MACHINES; m++)
        close_machine(&machine[m]);
}

static void what_is_no_run_is_refused(void **state)
{
    static const uint64_t bad[][2] = {{127, 1},        {128, 3001},      {3128, 1},
                                      {0, 8},          {41000, 1 << 20}, {28192 + 9001, 1},
                                      {UINT64_MAX, 8}, {130, UINT64_MAX}};
    struct machine machine;
    uint64_t packed[8] = {128, 2, 0xffff};
    (void)state;
    open_machine(&machine);
    CHECK_OK(hr_twin_unpack(&machine.twin, (const unsigned char *)packed, 24));
    assert_int_equal(machine.segment[129], 0xff);
    CHECK_FAILS(hr_twin_unpack(&machine.twin, (const unsigned char *)packed, 12), HR_E_FORMAT);
    CHECK_MESSAGE("12 bytes that machines share are torn");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        packed[0] = bad[i][0];
        packed[1] = bad[i][1];
        CHECK_FAILS(hr_twin_unpack(&machine.twin, (const unsigned char *)packed, sizeof packed),
                    HR_E_FORMAT);
    }
    close_machine(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_not_changed_is_not_found),
        cmocka_unit_test(runs_are_whole_units_of_one_area),
        cmocka_unit_test(a_large_run_is_one),
        cmocka_unit_test(several_writers_lose_nothing),
        cmocka_unit_test(what_is_no_run_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
