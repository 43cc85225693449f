/* The power is cut at any moment of a run that saves: what a disk may hold then is the old
 * checkpoint or the new one, and a run goes on from it. Every sync is needed for that. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/claim.h"
#include "hogring/checkpoint.h"
#include "support/check.h"
#include "support/file_calls.h"
#include "support/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define DIR_NAME "disk/runs/d"

/* --- what is saved: weights that tell which save it was --- */

enum { MODEL_FLOATS = 2000, TRAINER_FLOATS = 1000, LAST_SAVE = 99 };

static void fill(float *values, size_t n, int save)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)save * 1000 + (float)i;
}

static enum hr_status save_as(const char *dir, const char *run, uint64_t step, int save)
{
    static float weights[MODEL_FLOATS], momentum[TRAINER_FLOATS];
    struct hr_tensor model = {"0.weight", HR_F32, 1, {MODEL_FLOATS}, sizeof weights, weights};
    struct hr_tensor trainer = {"0.m", HR_F32, 1, {TRAINER_FLOATS}, sizeof momentum, momentum};
    struct hr_metadata name = {HR_RUN_KEY, ""};
    struct hr_checkpoint checkpoint = {.step = step,
                                       .model = {1, &model, 0, NULL, NULL},
                                       .trainer = {1, &trainer, 1, &name, NULL}};
    snprintf(name.value, sizeof name.value, "%s", run);
    fill(weights, MODEL_FLOATS, save);
    fill(momentum, TRAINER_FLOATS, save);
    return hr_checkpoint_save(dir, &checkpoint, 1);
}

/* Which save these floats are of, every one; -1: of none. */
static int save_of(const struct hr_tensor_file *file, const char *name, size_t n)
{
    float wanted[MODEL_FLOATS];
    const struct hr_tensor *tensor = hr_tensor_get(file, name);
    if (!tensor || tensor->bytes != n * sizeof *wanted)
        return -1;
    const int save = (int)(*(const float *)tensor->data / 1000);
    fill(wanted, n, save);
    return memcmp(wanted, tensor->data, tensor->bytes) == 0 ? save : -1;
}

/* --- the run that is recorded: --keep 1 --- */

static const struct act {
    bool best; /* mark it, else save it */
    uint64_t step;
} acts[] = {{false, 10}, {false, 20}, {true, 20}, {false, 20},
            {false, 30}, {true, 30},  {false, 40}};

static bool names_exchanged;

enum { BEGUN = 1, DONE = 2 }; /* mark = 2 * act + this */

static bool has(int mark, size_t act, int what)
{
    return mark >= (int)(2 * act) + what;
}

static void record(bool exchanges, int forgotten)
{
    struct hr_claim claim;
    char dir[512];
    disk_exchanges = names_exchanged = exchanges;
    snprintf(dir, sizeof dir, "%s", scratch(DIR_NAME));
    assert_int_equal(mkdir(scratch("disk"), 0755), 0);
    disk_record(scratch("disk"));
    disk_forget_sync(forgotten);
    CHECK_OK(hr_claim_take(&(struct hr_claimant){.dir = dir}, &claim));
    CHECK_OK(hr_checkpoint_prepare(dir, 1));
    for (size_t i = 0; i < COUNT(acts); i++) {
        disk_mark((int)(2 * i) + BEGUN);
        if (acts[i].best)
            hr_checkpoint_mark_best(dir, acts[i].step, 1);
        else
            CHECK_OK(save_as(dir, claim.run, acts[i].step, (int)i));
        disk_mark((int)(2 * i) + DONE);
    }
    hr_claim_drop(&claim);
    disk_stop();
    disk_exchanges = true;
}

/* --- what a state must give --- */

static char verdict[512];

/* Put the reason into words. */
#define BAD(...) (snprintf(verdict, sizeof verdict, __VA_ARGS__), false)

/* The checkpoint at `path` is whole, and one that may be there: the last of its kind that was done,
 * or one that was begun after it. */
static bool is_allowed(const char *path, int mark, bool best, struct hr_checkpoint *found)
{
    size_t oldest = 0, i = COUNT(acts);
    bool must = false;
    for (size_t act = 0; act < COUNT(acts); act++)
        if (acts[act].best == best && has(mark, act, DONE)) {
            oldest = act;
            must = true;
        }
    if (hr_checkpoint_load(path, found) != HR_OK)
        return must ? BAD("%.200s: %.200s", path, hr_error_message()) : true;
    const int save = save_of(&found->model, "0.weight", MODEL_FLOATS);
    if (save < 0 || save != save_of(&found->trainer, "0.m", TRAINER_FLOATS) ||
        found->step != acts[save].step || !has(mark, (size_t)save, BEGUN))
        return BAD("%.200s: a checkpoint that nobody saved", path);
    for (size_t act = oldest; act < COUNT(acts) && has(mark, act, BEGUN); act++)
        if (acts[act].best == best && acts[act].step == found->step)
            i = act;
    if (i == COUNT(acts) || (!best && (size_t)save < oldest))
        return BAD("%.200s: an older checkpoint than the last, step %d", path, (int)found->step);
    return true;
}

/* *step: where best points, 0 where there is none. */
static bool is_allowed_best(const char *dir, int mark, uint64_t *step)
{
    struct hr_checkpoint found = {0};
    char path[600];
    snprintf(path, sizeof path, "%s/best", dir);
    const bool allowed = is_allowed(path, mark, true, &found);
    *step = found.step;
    hr_checkpoint_free(&found);
    return allowed;
}

static bool goes_on(const char *dir, int mark, const struct hr_checkpoint *from, uint64_t *best)
{
    struct hr_claim claim;
    struct hr_checkpoint found;
    const struct hr_claimant claimant = {.dir = dir, .from = from->step ? from : NULL};
    if (hr_claim_take(&claimant, &claim) != HR_OK)
        return BAD("cannot be claimed: %.200s", hr_error_message());
    if (!is_allowed_best(dir, mark, best))
        return false;
    if (hr_checkpoint_prepare(dir, 1) != HR_OK || save_as(dir, claim.run, 50, LAST_SAVE) != HR_OK ||
        hr_checkpoint_load(dir, &found) != HR_OK)
        return BAD("a further save: %.200s", hr_error_message());
    const int save = save_of(&found.model, "0.weight", MODEL_FLOATS);
    hr_checkpoint_free(&found);
    hr_claim_drop(&claim);
    return save == LAST_SAVE ? true : BAD("a further save is not found");
}

static bool leaves_nothing(const char *dir, bool has_best)
{
    char names[300] = "";
    const struct dirent *entry;
    size_t n = 0;
    DIR *folder = opendir(dir);
    assert_non_null(folder);
    for (; (entry = readdir(folder)); n++)
        snprintf(names + strlen(names), sizeof names - strlen(names), " %.50s", entry->d_name);
    closedir(folder);
    /* ., .., .run, latest, step-00000050, and best with its own */
    return n == (has_best ? 7 : 5) ? true : BAD("what is left:%s", names);
}

static bool is_good(const struct disk_state *state)
{
    char dir[512], path[600];
    struct hr_checkpoint newest = {0}, latest = {0};
    uint64_t best = 0;
    snprintf(dir, sizeof dir, "%s", scratch("cut/runs/d"));
    snprintf(path, sizeof path, "%s/latest", dir);
    bool good = is_allowed(dir, state->mark, false, &newest);
    if (names_exchanged) /* else the next run puts them in order */
        good = good && is_allowed(path, state->mark, false, &latest) &&
               is_allowed_best(dir, state->mark, &best);
    good = good && goes_on(dir, state->mark, &newest, &best) && leaves_nothing(dir, best != 0);
    hr_checkpoint_free(&newest);
    hr_checkpoint_free(&latest);
    return good;
}

/* A visitor: goes on until a state is bad, and keeps that. */
struct bad {
    bool any;
    struct disk_state state;
};

static bool look_for_bad(const struct disk_state *state, void *context)
{
    struct bad *bad = context;
    bad->any = !is_good(state);
    bad->state = *state;
    return !bad->any;
}

static size_t look(size_t first, size_t one_in, struct bad *bad)
{
    char path[512];
    snprintf(path, sizeof path, "%s", scratch("cut"));
    struct disk_walk walk = {.first = first,
                             .path = path,
                             .one_in = one_in,
                             .most_names = 7,
                             .visit = look_for_bad,
                             .context = bad};
    scratch_stderr_begin(); /* what is passed over is said each time */
    disk_visit(&walk);
    scratch_stderr_end();
    return walk.visited;
}

static void must_all_be_good(const char *what)
{
    struct bad bad = {0};
    const size_t one_in = check_count(256, 1), states = look(0, one_in, &bad);
    if (bad.any)
        fail_msg("cut before call %zu, mark %d: %s", bad.state.call, bad.state.mark, verdict);
    print_message("%s: %zu states of a disk after a power cut, 0 bad loads\n", what, states);
    assert_true(states >= 10000 / one_in);
}

static void a_power_cut_leaves_the_old_checkpoint_or_the_new_one(void **state)
{
    (void)state;
    record(true, -1);
    must_all_be_good("names exchanged");
}

static void also_where_names_cannot_be_exchanged(void **state)
{
    (void)state;
    record(false, -1);
    must_all_be_good("names not exchanged");
}

/* --- the test sees what it should see --- */

/* Syncs without which nothing is lost: of the run's name, which its checkpoints know as well; of
 * the probe; of the folder after the first rename, since that of latest follows at once. */
static bool is_spare(int sync)
{
    return sync == 2 || sync == 3 || sync == 8;
}

static void without_one_sync(int i)
{
    struct bad bad = {0};
    record(true, i);
    look(disk_forgotten(), check_count(64, is_spare(i) ? 8 : 1), &bad);
    if (bad.any == is_spare(i))
        fail_msg("without sync %d: %s", i, bad.any ? verdict : "nothing was lost");
    assert_int_equal(scratch_teardown(NULL), 0);
    assert_int_equal(scratch_setup(NULL), 0);
}

static void every_sync_is_needed(void **state)
{
    (void)state;
    record(true, -1);
    const int syncs = disk_syncs();
    assert_int_equal(syncs, 37);
    assert_int_equal(scratch_teardown(NULL), 0);
    assert_int_equal(scratch_setup(NULL), 0);
    for (int i = 1; i < syncs; i += (int)check_count(9, 1))
        without_one_sync(i);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    scratch_in_memory();
    const struct CMUnitTest tests[] = {
        TEST(a_power_cut_leaves_the_old_checkpoint_or_the_new_one),
        TEST(also_where_names_cannot_be_exchanged),
        TEST(every_sync_is_needed),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    disk_free();
    return failed;
}
