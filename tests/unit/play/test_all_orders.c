/* Every order of the events of a small explored run, without deaths and with one anywhere: the run
 * goes on to its end, each sample is accounted for, each push applied once, no gate passed too
 * early, and the weights are those of a serial model that is told the order (served_reference.h).
 *
 *   How       a run is repeated along a list of choices, and goes on with the first event that can
 *             happen wherever the list has ended. Every other event that could have happened there
 *             is a list of its own. So all lists are tried, depth first.
 *   Meeting   a run stops where it meets a state in which another run has been: from there on
 *             nothing new can happen. A state is all memory that ranks, their owners and the serial
 *             model decide by: the segment, the roster and the words of ranks as they are (the
 *             clock stands still here, so they hold no times), and of private memory what is no
 *             address. An order is a path through the graph of states; they are counted in it.
 *   Proof     that nothing is left out of a state: small runs are also tried without meeting, order
 *             by order, and there are as many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/control.h"
#include "support/check.h"
#include "support/runs.h"
#include "support/served_reference.h"
#include "support/state_graph.h"
#include "train/run.h"

enum { MOST_LIST = 160, BATCH = 1 };

/* Time stands still for all but the processor. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock == CLOCK_PROCESS_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, t);
    *t = (struct timespec){.tv_sec = 1000};
    return 0;
}

/* --- lists still to be tried --- */

struct list {
    size_t n;
    unsigned char event[MOST_LIST];
};

struct lists {
    struct list *list;
    size_t n, room;
};

static void push_list(struct lists *lists, const struct list *list, size_t event)
{
    if (lists->n == lists->room) {
        lists->room = lists->room ? 2 * lists->room : 256;
        lists->list = realloc(lists->list, lists->room * sizeof *lists->list);
        assert_non_null(lists->list);
    }
    struct list *more = &lists->list[lists->n++];
    *more = *list;
    more->event[more->n++] = (unsigned char)event;
}

/* --- one run --- */

struct kind {
    const char *strategy, *on_loss;
    size_t workers, batches;
    bool deaths, meets;
    bool full; /* it takes minutes: at full counts only */
};

struct trial {
    const struct kind *kind;
    struct state_graph graph;
    struct lists lists;
    struct list list; /* what the run has done, and before that is to do */
    size_t at;        /* events so far */
    size_t from;      /* the state before the last of them; 0: not known */
    bool begun, met;
    struct hr_play *play;
    struct served_reference reference;
    XXH3_state_t *hash;
    size_t runs;
    uint64_t whole; /* runs that came to their end */
};

static void add(void *arg, const void *piece, size_t bytes)
{
    XXH3_128bits_update(arg, piece, bytes);
}

#define ADD(hash, value) add((hash), &(value), sizeof(value))

static void add_worker(XXH3_state_t *hash, const struct hr_play *play, size_t w)
{
    const struct hr_worker *worker = &play->worker[w].worker;
    ADD(hash, play->task[w]);
    if (!play->played[w].up)
        return;
    ADD(hash, worker->seat);
    ADD(hash, worker->seats);
    ADD(hash, worker->back);
    ADD(hash, worker->applied);
    ADD(hash, worker->index);
    ADD(hash, worker->steps);
    ADD(hash, worker->cut);
    ADD(hash, worker->samples);
    ADD(hash, worker->requests);
    add(hash, worker->own, play->shared->strategy->worker_own);
}

static void add_shard(XXH3_state_t *hash, const struct hr_play *play, size_t s)
{
    const struct hr_shard *shard = &play->shard[s];
    if (!play->played[play->shared->workers + s].up)
        return;
    ADD(hash, shard->version);
    ADD(hash, shard->before);
    ADD(hash, shard->ndone);
    ADD(hash, shard->ngone);
    ADD(hash, shard->joined);
    ADD(hash, shard->exported);
    add(hash, shard->worker, play->shared->workers * sizeof *shard->worker);
}

static void add_losses(XXH3_state_t *hash, const struct hr_play *play)
{
    const struct hr_losses *losses = &play->drive->losses;
    ADD(hash, losses->view);
    ADD(hash, losses->rolls);
    ADD(hash, losses->in_span);
    ADD(hash, losses->restarts);
    ADD(hash, losses->again_ns);
    ADD(hash, losses->n);
}

static XXH128_hash_t id_of(const struct trial *trial)
{
    const struct hr_play *play = trial->play;
    const struct hr_shared_state *shared = play->shared;
    const struct hr_run *run =
        (const void *)((const char *)play->drive - offsetof(struct hr_run, drive));
    const size_t ranks = shared->workers + shared->servers;
    XXH3_128bits_reset(trial->hash);
    add(trial->hash, &shared->control->roster, sizeof shared->control->roster);
    add(trial->hash, shared->control->rank, ranks * sizeof *shared->control->rank);
    add(trial->hash, run->segment.base, run->segment.bytes);
    add(trial->hash, play->state, ranks * sizeof *play->state);
    for (size_t w = 0; w < shared->workers; w++)
        add_worker(trial->hash, play, w);
    for (size_t s = 0; s < shared->servers; s++)
        add_shard(trial->hash, play, s);
    for (size_t r = 0; r < ranks; r++)
        ADD(trial->hash, play->played[r].up);
    add_losses(trial->hash, play);
    served_reference_state(&trial->reference, add, trial->hash);
    return XXH3_128bits_digest(trial->hash);
}

static bool may_die(const struct trial *trial)
{
    const struct hr_play *play = trial->play;
    const size_t ranks = play->shared->workers + play->shared->servers;
    for (size_t r = 0; r < ranks; r++)
        if (play->state[r] == HR_DEAD)
            return false;
    return trial->kind->deaths && play->drive->losses.n == 0;
}

/* What would change nothing is left out: a look at an answer that is not there. */
static void leave_out(const struct trial *trial, unsigned char *possible, size_t n)
{
    const struct hr_play *play = trial->play;
    const size_t workers = play->shared->workers, inputs = workers * play->shared->servers;
    const bool dies = may_die(trial);
    for (size_t w = 0; w < workers; w++)
        if (play->state[w] == HR_ASKED && !play->shared->strategy->ready(&play->worker[w].worker))
            possible[w] = 0;
    for (size_t e = workers + inputs; e < n; e++) {
        const size_t what = (e - workers - inputs) % HR_RANK_EVENTS;
        if ((what == HR_RANK_DIE || what == HR_RANK_DIE_LATE) && !dies)
            possible[e] = 0;
    }
}

/* The first event; the others are lists of their own. n: there is none. */
static size_t first_of(struct trial *trial, const unsigned char *possible, size_t n)
{
    size_t first = n;
    for (size_t e = n; e-- > 0;) {
        if (!possible[e])
            continue;
        if (first < n)
            push_list(&trial->lists, &trial->list, first);
        first = e;
    }
    return first;
}

/* Where the list has ended: has nobody been here? */
static bool is_new_ground(struct trial *trial)
{
    bool is_new = true;
    const size_t state = state_graph_at(&trial->graph, id_of(trial), &is_new);
    const bool listed = trial->at < trial->list.n;
    if (trial->from && !listed)
        state_graph_join(&trial->graph, trial->from, state);
    trial->from = state;
    return is_new || listed || !trial->kind->meets;
}

static size_t choose(void *arg, const unsigned char *enabled, size_t n)
{
    struct trial *trial = arg;
    unsigned char possible[64];
    assert_true(n <= sizeof possible && trial->at < MOST_LIST);
    memcpy(possible, enabled, n);
    leave_out(trial, possible, n);
    if (trial->begun)
        served_reference_next(&trial->reference, SIZE_MAX);
    trial->begun = true;
    const bool listed = trial->at < trial->list.n;
    if (trial->at + 1 >= trial->list.n && !is_new_ground(trial)) {
        trial->met = true;
        return n;
    }
    const size_t event = listed ? trial->list.event[trial->at] : first_of(trial, possible, n);
    assert_true(event < n && possible[event]);
    if (!listed)
        trial->list.event[trial->list.n++] = (unsigned char)event;
    trial->at++;
    served_reference_next(&trial->reference, event);
    return event;
}

static void begin(void *arg, struct hr_play *play)
{
    struct trial *trial = arg;
    trial->play = play;
    served_reference_begin(&trial->reference, play);
}

static struct hr_train_options options_of(const struct kind *kind)
{
    struct hr_train_options options = run_options(kind->strategy, kind->workers);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", kind->on_loss);
    snprintf(options.schedule, sizeof options.schedule, "explore:0");
    options.momentum = 0;
    options.epochs = 1;
    options.batch_size = BATCH;
    options.epoch_size =
        BATCH * kind->batches * (strcmp(kind->strategy, "ps-sync") ? 1 : kind->workers);
    options.servers = 1;
    options.staleness = 1;
    options.max_restarts = 9;
    return options;
}

static void check_end(struct trial *trial, const struct hr_train_options *options,
                      struct hr_run_result *result)
{
    const uint64_t all = options->epoch_size;
    served_reference_end(&trial->reference, result->weights_digest, trial->kind->batches);
    assert_int_equal(result->samples + (result->nlosses ? result->losses[0].lost_samples : 0), all);
    state_graph_join(&trial->graph, trial->from, 1);
    trial->whole++;
    hr_run_result_free(result);
}

static void run_list(struct trial *trial, const struct hr_dataset *dataset)
{
    const struct hr_train_options options = options_of(trial->kind);
    const struct hr_chooser chooser = {begin, choose, trial};
    const struct hr_train_call call = {
        .options = &options, .dataset = dataset, .chooser = &chooser};
    struct hr_run_result result;
    trial->at = trial->from = 0;
    trial->begun = trial->met = false;
    trial->runs++;
    const enum hr_status status = hr_train_call(&call, &result);
    if (trial->met)
        served_reference_drop(&trial->reference);
    else
        CHECK_OK(status);
    if (!trial->met)
        check_end(trial, &options, &result);
}

/* Few samples. */
static struct hr_dataset tiny(void)
{
    struct hr_dataset dataset = *run_digits();
    dataset.train.count = 8;
    dataset.test.count = 2;
    return dataset;
}

static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(const struct trial *trial, double orders, double began)
{
    const struct kind *kind = trial->kind;
    printf("%s, %zu workers, %zu batches, %s%s%s: %.0f orders, %zu states, %zu runs (%llu to the "
           "end), %.2f s\n",
           kind->strategy, kind->workers, kind->batches,
           kind->deaths ? "a death, then " : "no death", kind->deaths ? kind->on_loss : "",
           kind->meets ? "" : ", one by one", orders, trial->graph.nstates - 1, trial->runs,
           (unsigned long long)trial->whole, processor_s() - began);
    fflush(stdout); /* the next may take minutes */
}

/* All of them; returns how many orders there are. */
static double try_all(struct kind kind)
{
    const struct hr_dataset dataset = tiny();
    const double began = processor_s();
    static struct trial trial;
    trial = (struct trial){.kind = &kind, .hash = XXH3_createState()};
    bool is_new;
    state_graph_at(&trial.graph, (XXH128_hash_t){0}, &is_new);
    trial.graph.state[1].paths = 1;
    run_list(&trial, &dataset);
    while (trial.lists.n) {
        trial.list = trial.lists.list[--trial.lists.n];
        run_list(&trial, &dataset);
    }
    const double orders = kind.meets ? state_graph_paths(&trial.graph, 2) : (double)trial.whole;
    say(&trial, orders, began);
    state_graph_drop(&trial.graph);
    free(trial.lists.list);
    XXH3_freeState(trial.hash);
    return orders;
}

static void meeting_leaves_nothing_out(void **state)
{
    (void)state;
    static const struct kind kinds[] = {
        {"ps-async", "restart", 1, 1, true, true, false},
        {"ps-async", "stop", 2, 1, false, true, true},
    };
    for (size_t i = 0; i < check_count(1, 2); i++) {
        struct kind kind = kinds[i];
        const double met = try_all(kind);
        kind.meets = false;
        assert_true(met == try_all(kind));
    }
}

static const struct kind kinds[] = {
    {"ssp", "stop", 2, 2, false, true, false},
    {"ps-sync", "stop", 2, 2, false, true, false},
    {"ps-async", "stop", 2, 3, false, true, true},
    {"ssp", "stop", 2, 3, false, true, true},
    {"ps-sync", "stop", 2, 3, false, true, true},
    {"ps-async", "restart", 1, 2, true, true, false},
    {"ps-sync", "continue", 2, 1, true, true, false},
    {"ps-sync", "restart", 2, 1, true, true, true},
    {"ps-async", "continue", 2, 2, true, true, true},
    {"ssp", "continue", 2, 2, true, true, true},
    {"ps-async", "restart", 2, 2, true, true, true},
    {"ssp", "restart", 2, 2, true, true, true},
};

static void every_order_comes_to_the_same_account(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!kinds[i].full || check_count(0, 1))
            try_all(kinds[i]);
}

/* Losses are told on the descriptor, in every run; what fails here, on the stream. */
static void tell_nobody_of_losses(void)
{
    stderr = fdopen(dup(STDERR_FILENO), "w");
    const int nowhere = open("/dev/null", O_WRONLY);
    assert_true(stderr && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
    close(nowhere);
}

int main(void)
{
    tell_nobody_of_losses();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meeting_leaves_nothing_out),
        cmocka_unit_test(every_order_comes_to_the_same_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
