/* Every order of the events of a small run, of every strategy, without deaths and with one of any
 * rank anywhere: the run goes on to its end, and each sample is accounted for. Where there are
 * servers, each push is applied once, no gate passed too early, and the weights are those of a
 * serial model that is told the order (served_reference.h).
 *
 *   How       a run goes on with one event that can happen, to its end. Then it goes back to the
 *             last place where there was another, with all its memory (rewind.h), and goes on with
 *             that. (Under sanitizers it begins anew, and repeats what led there.)
 *   Meeting   it also goes back where it meets a state in which it has been (run_state.h): from
 *             there on nothing new can happen. An order is a path through the graph of states; they
 *             are counted in it.
 *   Proof     that nothing is left out of a state: small runs are also tried order by order, and
 *             with all of their heap as state, and there are as many orders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/control.h"
#include "strategies/strategies.h"
#include "support/losing_runs.h"
#include "unit/serial/order_trial.h"

enum { BATCH = 1 };

/* Time stands still for all but the processor. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock == CLOCK_PROCESS_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, t);
    *t = (struct timespec){.tv_sec = 1000};
    return 0;
}

static void begin(void *arg, struct hr_serial *serial)
{
    struct run *run = arg;
    run->serial = serial;
    if (run->trial->refers)
        served_reference_begin(&run->reference, serial);
    if (!run->trial->rewinds)
        return;
    const struct hr_segment *shared[] = {run_state_segment(serial), run_state_control(serial)};
    for (size_t i = 0; i < 2; i++)
        rewind_shares(shared[i]->base, shared[i]->bytes);
    for (size_t w = 0; w < run->trial->kind->workers; w++) {
        size_t bytes;
        void *stack = hr_fibre_stack(serial->fibres, w, &bytes);
        rewind_shares(stack, bytes);
    }
    rewind_watch();
}

static struct hr_train_options options_of(const struct kind *kind,
                                          const struct hr_strategy *strategy)
{
    struct hr_train_options options = run_options(kind->strategy, kind->workers);
    snprintf(options.model, sizeof options.model, "flatten, dense 2");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", kind->on_loss ? kind->on_loss : "stop");
    snprintf(options.schedule, sizeof options.schedule, "explore:0");
    options.momentum = 0;
    options.epochs = 1;
    options.batch_size = BATCH;
    options.epoch_size = BATCH * kind->batches * (strategy->shares_batch ? kind->workers : 1);
    options.servers = 1;
    options.backups = kind->backups;
    options.staleness = 1;
    options.sync_every = hr_strategy_is_served(strategy) ? 1 : 2;
    options.max_restarts = 9;
    snprintf(options.kernels, sizeof options.kernels, "reference"); /* BLAS has memory of its own */
    return options;
}

static void check_end(struct run *run, const struct hr_train_options *options,
                      struct hr_run_result *result)
{
    const uint64_t lost = result->nlosses ? result->losses[0].lost_samples : 0;
    if (run->trial->refers)
        served_reference_end(&run->reference, result->weights_digest, run->trial->kind->batches);
    assert_int_equal(result->samples + result->dropped_samples + lost, options->epoch_size);
    hr_run_result_free(result);
    rewind_aside(true);
    state_graph_join(&run->trial->graph, run->from, 1);
    run->trial->ends++;
}

static void go(struct trial *trial, const struct list *list)
{
    struct run run = {.trial = trial, .list = *list};
    trial->run = &run;
    const struct hr_train_options options = options_of(trial->kind, trial->strategy);
    const struct hr_chooser chooser = {begin, choose, &run};
    const struct hr_train_call call = {
        .options = &options, .dataset = run_tiny(), .chooser = &chooser};
    struct hr_run_result result;
    const enum hr_status status = hr_train_call(&call, &result);
    if (run.met && trial->refers)
        served_reference_drop(&run.reference);
    if (run.met)
        return;
    CHECK_OK(status);
    check_end(&run, &options, &result);
}

static struct trial current;

static void go_all_ways(void *arg)
{
    go(arg, &(struct list){0});
    rewind_back();
}

static void go_back_and_on(void)
{
    rewind_call(go_all_ways, &current);
}

static void go_again_and_again(void)
{
    go(&current, &(struct list){0});
    while (current.lists) {
        const struct list list = current.list[--current.lists];
        go(&current, &list);
    }
}

static void say(const struct trial *trial, double orders, clock_t began)
{
    static const char *const how[] = {"", ", by all of the heap", ", one by one"};
    const struct kind *kind = trial->kind;
    printf("%s%s, %zu workers, %zu batches, %s%s%s: %.0f orders, ", kind->strategy,
           kind->backups ? " 1" : "", kind->workers, kind->batches,
           kind->on_loss ? "a death, then " : "no death", kind->on_loss ? kind->on_loss : "",
           how[kind->how], orders);
    if (kind->how != ONE_BY_ONE)
        printf("%zu states, ", trial->graph.nstates - 1);
    printf("%llu ends, %.2f s\n", (unsigned long long)trial->ends,
           (double)(clock() - began) / CLOCKS_PER_SEC);
    fflush(stdout); /* the next may take minutes */
}

/* cmocka teardown: the events of a run that has failed. */
static int say_events(void **state)
{
    (void)state;
    for (size_t i = 0; current.run && i < current.run->at; i++)
        print_error("event %zu: %u\n", i, current.run->list.event[i]);
    return 0;
}

/* All of them; returns how many orders there are. */
static double try_all(struct kind kind)
{
    const clock_t began = clock();
    current = (struct trial){
        .kind = &kind, .hash = XXH3_createState(), .rewinds = CAN_REWIND && kind.how != ONE_BY_ONE};
    CHECK_OK(hr_strategy_find(kind.strategy, 1, &current.strategy));
    current.refers = hr_strategy_is_served(current.strategy);
    bool is_new;
    state_graph_at(&current.graph, (XXH128_hash_t){0}, &is_new);
    current.graph.state[1].paths = 1;
    (current.rewinds ? go_back_and_on : go_again_and_again)();
    const double orders =
        kind.how == ONE_BY_ONE ? (double)current.ends : state_graph_paths(&current.graph, 2);
    say(&current, orders, began);
    current.run = NULL;
    state_graph_drop(&current.graph);
    XXH3_freeState(current.hash);
    return orders;
}

/* Heaps tell states apart where a run goes back. */
static bool may_meet(struct kind kind)
{
    const struct hr_strategy *strategy;
    CHECK_OK(hr_strategy_find(kind.strategy, 1, &strategy));
    return CAN_REWIND || hr_strategy_is_served(strategy);
}

static void meeting_leaves_nothing_out(void **state)
{
    (void)state;
    static const struct {
        struct kind kind;
        enum how other;
        bool full;
    } twice[] = {
        {{"ps-async", "restart", 1, 1, 0, MEETS}, ONE_BY_ONE, false},
        {{"ps-async", "restart", 1, 1, 0, MEETS}, MEETS_WITH_HEAP, false},
        {{"hogwild", NULL, 2, 1, 0, MEETS}, ONE_BY_ONE, false},
        {{"ps-async", NULL, 2, 1, 0, MEETS}, ONE_BY_ONE, true},
        {{"allreduce", NULL, 2, 1, 0, MEETS}, ONE_BY_ONE, true},
        {{"hogwild", "continue", 2, 1, 0, MEETS}, ONE_BY_ONE, true},
        {{"ps-sync", "continue", 2, 1, 0, MEETS}, MEETS_WITH_HEAP, true},
        {{"backup-workers", "continue", 2, 1, 0, MEETS}, MEETS_WITH_HEAP, true},
    };
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        struct kind kind = twice[i].kind;
        if ((twice[i].full && !check_count(0, 1)) || !may_meet(kind))
            continue;
        const double met = try_all(kind);
        kind.how = twice[i].other;
        if (kind.how != MEETS_WITH_HEAP || CAN_REWIND)
            assert_true(met == try_all(kind));
    }
}

/* Batches of each strategy's run: nobody dies, one does and the others go on, or it comes back;
 * 0: not tried. */
static const struct {
    const char *strategy;
    size_t backups, usual[3], full[3];
} sweeps[] = {
    {"ps-sync", 0, {2, 1, 0}, {3, 3, 3}},
    {"ps-async", 0, {2, 1, 0}, {3, 3, 3}},
    {"ssp", 0, {2, 0, 0}, {3, 3, 3}},
    {"backup-workers", 0, {2, 1, 0}, {3, 3, 3}},
    {"backup-workers", 1, {2, 1, 0}, {3, 2, 2}}, /* with 3: no end after 3.9 million states */
    {"elastic-averaging", 0, {2, 1, 1}, {3, 3, 3}},
    {"hogwild", 0, {2, 2, 1}, {3, 3, 3}},
    {"allreduce", 0, {2, 1, 1}, {3, 3, 3}},
    {"local-sgd", 0, {2, 1, 1}, {3, 3, 3}},
    {"diloco", 0, {2, 1, 1}, {3, 3, 3}},
    {"gossip", 0, {2, 2, 0}, {3, 3, 0}}, /* it comes back at a cut, which is the end */
};

static void every_order_comes_to_the_same_account(void **state)
{
    (void)state;
    static const char *const on_loss[] = {NULL, "continue", "restart"};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        for (size_t k = 0; k < 3; k++) {
            const size_t batches = check_count(sweeps[i].usual[k], sweeps[i].full[k]);
            const struct kind kind = {sweeps[i].strategy, on_loss[k], 2, batches,
                                      sweeps[i].backups,  MEETS};
            if (batches && may_meet(kind) && (CAN_REWIND || !on_loss[k]))
                try_all(kind);
        }
}

static void a_run_of_one_worker_goes_on_when_it_comes_back(void **state)
{
    (void)state;
    try_all((struct kind){"ps-async", "restart", 1, check_count(2, 3), 0, MEETS});
}

int main(void)
{
    losing_in_silence();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(meeting_leaves_nothing_out, say_events),
        cmocka_unit_test_teardown(every_order_comes_to_the_same_account, say_events),
        cmocka_unit_test_teardown(a_run_of_one_worker_goes_on_when_it_comes_back, say_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
