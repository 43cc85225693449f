/* The flight recorder: the last operations are there, whole, for whoever reads them whenever. */
#include "shm/flight.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/control.h"
#include "support/check.h"
#include "support/ranks.h"

enum { READERS = 3 };

/* Everything about operation n follows from n. */
static void begin(struct hr_flight *flight, uint64_t n)
{
    hr_flight_begin(flight, 3 * n, (uint32_t)(5 * n), (uint32_t)(7 * n), 11 * n, (int64_t)(13 * n));
}

static bool is_whole(const struct hr_flight_entry *entry)
{
    const uint64_t n = entry->number;
    return entry->sequence == 3 * n && entry->kind == (uint32_t)(5 * n) &&
           entry->group == (uint32_t)(7 * n) && entry->count == 11 * n &&
           entry->start_ns == (int64_t)(13 * n) &&
           (entry->end_ns == 0 || entry->end_ns == (int64_t)(17 * n));
}

static void new_recorder_is_empty(void **state)
{
    (void)state;
    static struct hr_flight flight;
    struct hr_flight_entry entry;
    assert_false(hr_flight_read(&flight, 0, &entry));
    assert_false(hr_flight_read(&flight, HR_FLIGHT_ENTRIES, &entry));
}

static void last_64_operations_are_there(void **state)
{
    (void)state;
    static struct hr_flight flight;
    struct hr_flight_entry entry;
    for (uint64_t n = 1; n <= 200; n++) {
        begin(&flight, n);
        assert_true(hr_flight_read(&flight, 0, &entry));
        assert_true(entry.number == n && is_whole(&entry) && entry.end_ns == 0);
        hr_flight_end(&flight, (int64_t)(17 * n));
        for (size_t back = 0; back < HR_FLIGHT_ENTRIES + 2; back++) {
            const bool there = back < n && back < HR_FLIGHT_ENTRIES;
            assert_int_equal(hr_flight_read(&flight, back, &entry), there);
            assert_true(!there || (entry.number == n - back && is_whole(&entry) && entry.end_ns));
        }
    }
}

static void recorders_lie_behind_the_ranks(void **state)
{
    (void)state;
    enum { N = 3 };
    alignas(HR_LINE) static unsigned char memory[1 << 16];
    struct hr_control *control = (struct hr_control *)(void *)memory;
    struct hr_flight_entry entry;
    assert_true(hr_control_bytes(N) <= sizeof memory);
    hr_control_init(control, N);
    for (size_t r = 0; r < N; r++) {
        unsigned char *flight = (unsigned char *)hr_control_flight(control, r);
        assert_int_equal((uintptr_t)flight % HR_LINE, 0);
        assert_true(flight >= (unsigned char *)&control->rank[N]);
        assert_true(flight + sizeof(struct hr_flight) <= memory + hr_control_bytes(N));
        begin(hr_control_flight(control, r), r + 1);
    }
    assert_false(hr_flight_read(hr_control_flight(control, 2), 1, &entry));
}

/* --- while it writes */

struct flown {
    struct hr_flight flight;
    struct hr_atom32 over;
};

struct reader {
    struct flown *flown;
    uint64_t read, torn, backwards, missed;
};

static void *read_all_the_time(void *arg)
{
    struct reader *reader = arg;
    struct hr_flight_entry entry;
    uint64_t last = 0;
    while (!hr_atom32_load_acquire(&reader->flown->over)) /* partner: the test */
        for (size_t back = 0; back < HR_FLIGHT_ENTRIES; back++) {
            if (!hr_flight_read(&reader->flown->flight, back, &entry)) {
                reader->missed++;
                continue;
            }
            reader->read++;
            reader->torn += !is_whole(&entry);
            if (back == 0) {
                reader->backwards += entry.number < last;
                last = entry.number;
            }
        }
    return NULL;
}

static void readers_see_no_torn_operation(void **state)
{
    (void)state;
    static struct flown flown;
    struct reader reader[READERS] = {{0}};
    pthread_t thread[READERS];
    const uint64_t count = check_count(500 * 1000, 20 * 1000 * 1000);
    for (size_t i = 0; i < READERS; i++) {
        reader[i].flown = &flown;
        assert_int_equal(pthread_create(&thread[i], NULL, read_all_the_time, &reader[i]), 0);
    }
    for (uint64_t n = 1; n <= count; n++) {
        begin(&flown.flight, n);
        hr_flight_end(&flown.flight, (int64_t)(17 * n));
        if (n % 1000 == 0) /* let readers in where they have to share the processor */
            nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    }
    hr_atom32_store_release(&flown.over, 1); /* partner: read_all_the_time */
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        assert_true(reader[i].read > 0);
        assert_int_equal(reader[i].torn, 0);
        assert_int_equal(reader[i].backwards, 0);
    }
}

/* --- after it was killed */

static _Noreturn void record_for_ever(struct hr_flight *flight)
{
    for (uint64_t n = 1;; n++) {
        begin(flight, n);
        hr_flight_end(flight, (int64_t)(17 * n));
    }
}

static void check_what_is_left(const struct hr_flight *flight)
{
    struct hr_flight_entry entry;
    assert_true(hr_flight_read(flight, 0, &entry)); /* the last is always there */
    const uint64_t last = entry.number;
    for (size_t back = 0; back + 1 < HR_FLIGHT_ENTRIES && back < last; back++) {
        assert_true(hr_flight_read(flight, back, &entry));
        assert_true(entry.number == last - back && is_whole(&entry));
        assert_true(back == 0 || entry.end_ns); /* only the last may be unfinished */
    }
    if (last >= HR_FLIGHT_ENTRIES && hr_flight_read(flight, HR_FLIGHT_ENTRIES - 1, &entry))
        assert_true(is_whole(&entry)); /* its place may be taken already */
}

static void recorder_of_a_killed_writer_can_be_read(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    for (size_t k = 0; k < check_count(20, 500); k++) {
        struct hr_flight *flight =
            mmap(NULL, sizeof *flight, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(flight != MAP_FAILED);
        const pid_t writer = fork();
        if (writer == 0)
            record_for_ever(flight);
        while (hr_atom64_load_acquire(&flight->begun) < 1 + 40 * k) /* partner: hr_flight_begin */
            continue;
        kill(writer, SIGKILL);
        assert_int_equal(waitpid(writer, NULL, 0), writer);
        check_what_is_left(flight);
        munmap(flight, sizeof *flight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_recorder_is_empty),
        cmocka_unit_test(last_64_operations_are_there),
        cmocka_unit_test(recorders_lie_behind_the_ranks),
        cmocka_unit_test(readers_see_no_torn_operation),
        cmocka_unit_test(recorder_of_a_killed_writer_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
