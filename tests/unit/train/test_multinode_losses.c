/* Machines that are lost, and the others go on (--on-loss continue). */
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/runs.h"
#include "support/multinode_runs.h"

static struct hr_train_options options_of(size_t workers, const char *inject)
{
    struct hr_train_options o = run_options("allreduce", workers);
    o.epochs = 2;
    o.timeout = 30;
    multinode_dies_after(3);
    snprintf(o.on_loss, sizeof o.on_loss, "continue");
    snprintf(o.inject, sizeof o.inject, "%s", inject);
    return o;
}

/* How many workers, and which, in any order; where the first lived, and how the second was lost;
 * gradients. Servers are lost with machines alone, and move. */
static void note_losses(const struct hr_run_result *result, struct said *mine)
{
    mine->note[2] = (double)result->steps;
    mine->note[3] = result->nlosses ? (double)result->losses[0].step : 0;
    for (size_t i = 0; i < result->nlosses; i++) {
        const struct hr_loss *loss = &result->losses[i];
        mine->note[4] += loss->server;
        if (loss->server)
            continue;
        mine->note[1] += (double)(1 << loss->rank);
        if (mine->note[0] < 1)
            snprintf(mine->text, sizeof mine->text, "%.20s", loss->host);
        else if (mine->note[0] < 2)
            snprintf(mine->text + strlen(mine->text), sizeof mine->text - strlen(mine->text),
                     ", %.40s", loss->how);
        mine->note[0]++;
    }
}

static void check_lost(const struct said *several, const struct said *alone)
{
    if (several->status != HR_OK)
        fail_msg("%s", several->message);
    multinode_check_equal(several, alone);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(several->note[i], alone->note[i]);
}

/* On one machine those die who live on machine `lost` of `machines`. */
static void check_machine(const struct hr_dataset *dataset, size_t machines, size_t lost,
                          const struct hr_train_options *like)
{
    struct hr_train_options several = *like, alone = *like;
    const size_t each = like->workers / machines;
    char text[60];
    snprintf(several.inject, sizeof several.inject, "stall:%zu@step=5+60s", lost * each);
    alone.inject[0] = '\0';
    for (size_t w = lost * each; w < (lost + 1) * each; w++) {
        const size_t used = strlen(alone.inject);
        snprintf(alone.inject + used, sizeof alone.inject - used, "%skill:%zu@step=5",
                 used ? "," : "", w);
    }
    const struct said without = multinode_alone(&alone, dataset);
    const struct said *all = NULL;
    for (int tenths = 3; !all || (all[0].note[3] < 5 && tenths < 50); tenths *= 2) {
        multinode_dies_after(tenths); /* until it has come to that step before */
        all = multinode_lose(machines, lost, &several, dataset);
    }
    check_lost(&all[0], &without);
    snprintf(text, sizeof text, each > 1 ? "host-%zu, with machine host-%zu" : "host-%zu", lost,
             lost);
    assert_string_equal(all[0].text, text);
    for (size_t m = 1; m < machines; m++)
        if (m != lost)
            assert_int_equal(all[m].status, HR_OK);
}

static void the_others_have_the_bits_of_one_machine(void **state)
{
    struct hr_train_options o = options_of(4, "");
    check_machine(*state, 2, 1, &o);
    check_machine(*state, 4, 2, &o);
    o = options_of(6, "");
    snprintf(o.optimizer, sizeof o.optimizer, "adam");
    check_machine(*state, 3, 1, &o);
}

/* Replicas that drift, servers that move to another machine, neighbours. */
static void so_they_have_whatever_the_strategy(void **state)
{
    static const char *const names[] = {"ps-sync", "local-sgd", "diloco", "gossip"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct hr_train_options o = options_of(4, "");
        snprintf(o.strategy, sizeof o.strategy, "%s", names[i]);
        o.sync_every = 4;
        check_machine(*state, 2, 1, &o);
        if (!strcmp(names[i], "ps-sync"))
            o.servers = 3;
        check_machine(*state, 4, 2, &o);
    }
}

/* Orders of arrival are no two runs' own: each sample is trained on, or told. */
static void no_sample_is_lost_with_asynchronous_strategies(void **state)
{
    static const char *const names[] = {"ps-async", "ssp", "elastic-averaging", "backup-workers",
                                        "hogwild"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct hr_train_options o = options_of(6, "stall:2@step=5+60s");
        snprintf(o.strategy, sizeof o.strategy, "%s", names[i]);
        o.sync_every = 4;
        const bool one_shard = !strcmp(names[i], "backup-workers");
        o.servers = one_shard || !strcmp(names[i], "hogwild") ? o.servers : 3;
        o.backups = one_shard;
        multinode_dies_after(5);
        const struct said *all = multinode_lose(3, 1, &o, *state);
        if (all[0].status != HR_OK)
            fail_msg("%s: %s", names[i], all[0].message);
        assert_int_equal(all[2].status, HR_OK);
        assert_int_equal(all[0].samples + all[0].dropped_samples, 2 * 1438);
        assert_true(all[0].note[0] >= 2);
    }
}

/* A rank alone; all of a machine, which stays; then others. */
static void a_rank_may_be_lost_too(void **state)
{
    static const char *const lists[] = {"kill:3@step=5", "kill:2@step=5,kill:3@step=5",
                                        "kill:1@step=3,kill:2@step=7,kill:3@step=25"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct hr_train_options o = options_of(4, lists[i]);
        const struct said alone = multinode_alone(&o, *state);
        const struct said two = multinode_alike(2, &o, *state);
        check_lost(&two, &alone);
        const struct said four = multinode_alike(4, &o, *state);
        check_lost(&four, &alone);
    }
}

static int64_t dies_after_ns;

static void die_after(size_t machine)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec when = {
        .it_value = {dies_after_ns / 1000000000, dies_after_ns % 1000000000}};
    timer_t timer;
    if (machine != 1)
        return;
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &when, NULL), 0);
}

/* Wherever they are: in a step, at a cut, before the first. */
static void every_sample_is_counted_whenever_it_is(void **state)
{
    struct hr_train_options o = options_of(6, "");
    o.epochs = 20;
    char folder[64];
    const size_t wanted = getenv("HOGRING_LONG") ? 60 : 1;
    size_t found = 0;
    run_folder_make(folder);
    snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder);
    o.overwrite = true;
    const struct said whole = multinode_alike(3, &o, *state);
    int64_t about_ns = INT64_C(200000000); /* as this machine is fast */
    for (size_t i = 0; i < 40 * wanted && found < wanted; i++) {
        dies_after_ns = about_ns / 2 + about_ns * (int64_t)(i * 7919 % 40) / 40;
        multinode_hook(
            &(struct multinode_hooks){.begins = die_after, .may_end = true, .ended = note_losses});
        const struct said *all = multinode_lose(3, 1, &o, *state);
        multinode_hook(&(struct multinode_hooks){.ended = note_losses});
        if (strstr(all[0].message, "(waited for")) { /* the run had not begun */
            about_ns += about_ns / 4;
            continue;
        }
        if (all[0].status != HR_OK)
            fail_msg("after %lld ms: %s", (long long)dies_after_ns / 1000000, all[0].message);
        assert_int_equal(all[2].status, HR_OK);
        assert_int_equal(all[0].samples, whole.samples);
        assert_int_equal(all[0].updates, whole.updates);
        const bool lost = all[0].note[0] > 1; /* else it had ended */
        found += lost;
        about_ns -= lost ? 0 : about_ns / 4;
    }
    assert_int_equal(found, wanted);
    run_folder_remove(folder);
}

static void without_machine_0_the_run_ends(void **state)
{
    const struct hr_train_options o = options_of(4, "stall:0@step=5+60s");
    const struct said *all = multinode_lose(2, 0, &o, *state);
    assert_int_equal(all[1].status, HR_E_LOST);
    /* The connection was closed, or reset: what of the two is seen first. */
    assert_non_null(strstr(all[1].message, "lost machine host-0 (ranks 0, 1): connection "));
    assert_non_null(strstr(all[1].message, "it leads, and the run ends without it"));
}

/* --- in a save --- */

static char folder_of_saves[64];

/* *last: the last of them by name, or NULL. */
static bool has_one_like(const char *what, char *last)
{
    char pattern[100];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", folder_of_saves, what);
    const bool any = glob(pattern, 0, NULL, &found) == 0;
    if (any && last)
        snprintf(last, 100, "%s", found.gl_pathv[found.gl_pathc - 1]);
    if (any)
        globfree(&found);
    return any;
}

static void *die_in_a_save(void *arg)
{
    (void)arg;
    while (!has_one_like("step-*", NULL) || !has_one_like(".tmp-*", NULL))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    raise(SIGKILL);
    return NULL;
}

static void watch_saves(size_t machine)
{
    pthread_t thread;
    if (machine == 0)
        assert_int_equal(pthread_create(&thread, NULL, die_in_a_save, NULL), 0);
}

/* The machine that saves dies while it does, or a moment later: the others end, and the checkpoint
 * before that is whole: a run goes on from it, on as many machines as there are. */
static void who_dies_in_a_save_leaves_the_one_before_it(void **state)
{
    struct hr_train_options o = options_of(4, "");
    snprintf(o.on_loss, sizeof o.on_loss, "stop");
    char step[100];
    run_folder_make(folder_of_saves);
    snprintf(o.checkpoint_dir, sizeof o.checkpoint_dir, "%s", folder_of_saves);
    o.epochs = 100000;
    multinode_dies_after(1000);
    multinode_hook(&(struct multinode_hooks){.begins = watch_saves});
    const struct said *all = multinode_lose(2, 0, &o, *state);
    multinode_hook(&(struct multinode_hooks){.ended = note_losses});
    assert_int_equal(all[1].status, HR_E_LOST);
    snprintf(o.resume, sizeof o.resume, "%s", folder_of_saves);
    assert_true(has_one_like("step-*", step));
    o.max_steps = (size_t)atoi(strrchr(step, '-') + 1) + 3;
    const struct said two = multinode_alike(2, &o, *state);
    assert_true(two.samples_of_all > two.samples);
    assert_false(has_one_like(".tmp-*", NULL));
    run_folder_remove(folder_of_saves);
}

static int begin(void **state)
{
    multinode_begin();
    multinode_hook(&(struct multinode_hooks){.ended = note_losses});
    *state = (void *)(uintptr_t)run_digits();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_have_the_bits_of_one_machine),
        cmocka_unit_test(so_they_have_whatever_the_strategy),
        cmocka_unit_test(no_sample_is_lost_with_asynchronous_strategies),
        cmocka_unit_test(a_rank_may_be_lost_too),
        cmocka_unit_test(every_sample_is_counted_whenever_it_is),
        cmocka_unit_test(without_machine_0_the_run_ends),
        cmocka_unit_test(who_dies_in_a_save_leaves_the_one_before_it),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
