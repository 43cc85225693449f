/* model.cpp - the searches and the futex behind the models; see model.hpp. */
#include "model.hpp"

#include "base/clock.c"

#include "base/account.h"

#undef syscall

hr_site *hr_weakened;
rl::memory_order hr_weakened_to;
bool hr_model_timed;
extern hr_site __start_hr_sites[], __stop_hr_sites[];

void hr_assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, expression);
    abort();
}

/* What the real text calls and no model runs. */
size_t hr_cpus_allowed(void)
{
    abort();
}

_Thread_local struct hr_account_watch *hr_account_watch; /* nobody keeps an account here */

/* --- futex: the compare and the falling asleep are one step, as under the kernel's lock --- */

static struct {
    const uint32_t *word;
    int thread;
} hr_sleeper[8];
static unsigned hr_sleepers;

static void hr_get_up(unsigned i)
{
    for (hr_sleepers--; i < hr_sleepers; i++)
        hr_sleeper[i] = hr_sleeper[i + 1];
}

/* A waker hands nothing over but the processor: the kernel's barriers are not counted on. */
static long hr_futex_wait(const uint32_t *word, uint32_t seen)
{
    rl::context &c = rl::ctx();
    c.sched();
    if (hr_words<uint32_t>::at(*word).debug_value() != seen) {
        errno = EAGAIN;
        return -1;
    }
    const int self = c.current_thread();
    hr_sleeper[hr_sleepers].word = word;
    hr_sleeper[hr_sleepers++].thread = self;
    const rl::unpark_reason why =
        c.park_current_thread(hr_model_timed, c.is_random_sched(), false, $);
    if (why == rl::unpark_reason_normal)
        return 0;
    for (unsigned i = 0; i < hr_sleepers; i++)
        if (hr_sleeper[i].thread == self)
            hr_get_up(i--);
    errno = why == rl::unpark_reason_timeout ? ETIMEDOUT : EINTR;
    return -1;
}

static long hr_futex_wake(const uint32_t *word, uint32_t count)
{
    rl::context &c = rl::ctx();
    c.sched();
    long woken = 0;
    for (unsigned i = 0; i < hr_sleepers && (uint32_t)woken < count;) {
        if (hr_sleeper[i].word != word) {
            i++;
            continue;
        }
        const int thread = hr_sleeper[i].thread;
        hr_get_up(i);
        c.unpark_thread(thread, false, $);
        woken++;
    }
    return woken;
}

long hr_model_syscall(long number, const void *address, int operation, uint32_t value, ...)
{
    if (number == SYS_futex_waitv) { /* an old kernel: what a second word adds is not modelled */
        errno = ENOSYS;
        return -1;
    }
    if (number != SYS_futex)
        abort();
    const uint32_t *word = (const uint32_t *)address;
    return operation == FUTEX_WAIT ? hr_futex_wait(word, value) : hr_futex_wake(word, value);
}
/* --- searches --- */

static const hr_entry *hr_current;

template <int threads> struct hr_test : rl::test_suite<hr_test<threads>, threads> {
    alignas(64) unsigned char place[16384];
    hr_story *story;

    hr_test()
    {
        hr_words<uint32_t>::used = hr_words<uint64_t>::used = hr_sleepers = 0;
        hr_model_timed = false;
        story = hr_current->make(place, sizeof place);
    }

    ~hr_test()
    {
        story->~hr_story();
        hr_words<uint32_t>::clear();
        hr_words<uint64_t>::clear();
    }

    void before()
    {
        story->setup();
    }

    void thread(unsigned index)
    {
        story->thread(index);
    }

    void after()
    {
        story->finish();
    }
};

template <int threads>
rl::test_result_e hr_run(rl::test_params &params, std::ostream &state, bool again)
{
    typedef hr_test<threads> test;
    if (params.search_type == rl::sched_random)
        return rl::run_test<test, rl::random_scheduler<threads> >(params, state, again);
    return rl::run_test<test, rl::context_bound_scheduler<threads> >(params, state, again);
}

static rl::test_result_e hr_run_threads(rl::test_params &params, std::ostream &state, bool again)
{
    switch (hr_current->threads) {
    case 2:
        return hr_run<2>(params, state, again);
    case 3:
        return hr_run<3>(params, state, again);
    default:
        return hr_run<4>(params, state, again);
    }
}

struct hr_nowhere : std::streambuf {
    int overflow(int c)
    {
        return c;
    }
};

/* `bound`: schedules, or preemptions. `tell`: show the history of a schedule that fails. */
static rl::test_result_e hr_search(const hr_entry *entry, rl::scheduler_type_e type, uint64_t bound,
                                   bool tell, uint64_t *ran)
{
    static hr_nowhere nowhere;
    static std::ostream quiet(&nowhere);
    rl::test_params params;
    rl::ostringstream state, unused;
    hr_current = entry;
    params.search_type = type;
    params.iteration_count = bound;
    params.context_bound = (unsigned)bound;
    params.execution_depth_limit = 10000;
    params.progress_stream = &quiet;
    const rl::test_result_e result = hr_run_threads(params, state, false);
    *ran = params.stop_iteration;
    if (result != rl::test_result_success && tell) {
        params.initial_state = state.str();
        params.collect_history = true;
        hr_run_threads(params, unused, true);
    }
    return result;
}

static double hr_model_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first suite that reports something; NULL: none. */
static const hr_entry *hr_model_catch(const hr_entry *entries, size_t n, uint64_t schedules,
                                      rl::test_result_e *result, uint64_t *ran)
{
    for (size_t i = 0; i < n; i++) {
        *result = hr_search(&entries[i], rl::sched_random, schedules, false, ran);
        if (*result != rl::test_result_success)
            return &entries[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (entries[i].preemptions == HR_RANDOM_ONLY)
            continue;
        *result = hr_search(&entries[i], rl::sched_bound, entries[i].preemptions, false, ran);
        if (*result != rl::test_result_success)
            return &entries[i];
    }
    return NULL;
}

static int hr_model_as_it_stands(const hr_entry *entries, size_t n, bool full)
{
    int reports = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned bound = full ? entries[i].preemptions_long : entries[i].preemptions;
        uint64_t ran, all;
        const double start = hr_model_seconds();
        const uint64_t schedules = full ? 1000000 : 20000;
        if (hr_search(&entries[i], rl::sched_random, schedules, true, &ran))
            reports++;
        printf("  %-14s %8llu random, %.1f s", entries[i].name, (unsigned long long)ran,
               hr_model_seconds() - start);
        const double between = hr_model_seconds();
        if (bound != HR_RANDOM_ONLY) {
            if (hr_search(&entries[i], rl::sched_bound, bound, true, &all))
                reports++;
            printf("; all %llu of at most %u preemptions, %.1f s", (unsigned long long)all, bound,
                   hr_model_seconds() - between);
        }
        printf("\n");
        fflush(stdout);
    }
    return reports;
}

static int hr_model_weaken(hr_site *site, rl::memory_order to, const hr_entry *entries, size_t n,
                           uint64_t schedules)
{
    rl::test_result_e result;
    uint64_t ran;
    hr_weakened = site;
    hr_weakened_to = to;
    const hr_entry *by = hr_model_catch(entries, n, schedules, &result, &ran);
    hr_weakened = NULL;
    char where[100], what[100];
    snprintf(where, sizeof where, "%s:%d %s", site->file, site->line, site->function);
    snprintf(what, sizeof what, "%s %s -> %s", site->operation, rl::format(site->order),
             rl::format(to));
    if (by)
        printf("  %-58s %-30s %s (%s, schedule %llu)\n", where, what, rl::test_result_str(result),
               by->name, (unsigned long long)ran);
    else
        printf("  %-58s %-30s NOT CAUGHT\n", where, what);
    fflush(stdout);
    return !by;
}

int hr_model_main(const char *title, const char *subject, const hr_entry *entries, size_t n)
{
    const bool full = getenv("HOGRING_LONG") != NULL;
    const uint64_t schedules = full ? 1000000 : 100000;
    printf("%s\n", title);
    fflush(stdout);
    int found = hr_model_as_it_stands(entries, n, full);
    for (hr_site *site = __start_hr_sites; site < __stop_hr_sites; site++) {
        const size_t length = strlen(site->file), tail = strlen(subject);
        if (length < tail || strcmp(site->file + length - tail, subject) != 0)
            continue;
        if (!site->reached) {
            printf("  %s:%d %s: NOT REACHED\n", site->file, site->line, site->function);
            found++;
        } else if (site->order == rl::mo_acq_rel) {
            found += hr_model_weaken(site, rl::mo_acquire, entries, n, schedules);
            found += hr_model_weaken(site, rl::mo_release, entries, n, schedules);
        } else if (site->order != rl::mo_relaxed) {
            found += hr_model_weaken(site, rl::mo_relaxed, entries, n, schedules);
        }
    }
    return found != 0;
}
