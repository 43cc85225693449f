#include "report/lost_ranks.h"

#include <stdarg.h>
#include <string.h>

#include "base/fold.h"
#include "report/human.h"

/* --- counts --- */

size_t hr_run_group_lost(const struct hr_run_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += group->run[i]->nlosses > 0;
    return n;
}

bool hr_groups_lost_alike(const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            if (groups->group[g].run[i]->nlosses != groups->group[0].run[0]->nlosses)
                return false;
    return true;
}

uint64_t hr_run_lost_samples(const struct hr_run_result *run)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < run->nlosses; i++)
        sum += run->losses[i].lost_samples;
    return sum;
}

static bool may_be_absent(const struct hr_run_result *run, size_t worker)
{
    for (size_t i = 0; i < run->nlosses; i++)
        if (run->micro_shards || (!run->losses[i].server && run->losses[i].rank == worker))
            return true;
    return false;
}

double hr_run_absent(const struct hr_run_result *run, size_t worker)
{
    static const double rounding = 1e-9; /* clocks count nanoseconds */
    const struct hr_worker_time *time = &run->worker_time[worker];
    const double absent =
        run->seconds - (time->load_s + time->compute_s + time->communicate_s + time->wait_s);
    return may_be_absent(run, worker) && absent > rounding ? absent : 0;
}

enum { COLUMNS = 80, TEXT_MAX = 600 };

/* --- a text that grows; what does not fit is cut off --- */

struct text {
    char at[TEXT_MAX];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    const size_t room = sizeof text->at - text->length;
    va_start(args, format);
    const int n = vsnprintf(text->at + text->length, room, format, args);
    va_end(args);
    text->length += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static bool put(void *out, const char *text, size_t n)
{
    return fwrite(text, 1, n, out) == n;
}

/* Broken at blanks; lines behind the first are indented. */
static void print_filled(FILE *out, struct text *text)
{
    struct hr_fold fold = {.width = COLUMNS};
    add(text, "\n");
    hr_fold(&fold, text->at, text->length, put, out);
}

/* --- a loss --- */

static void add_seconds(struct text *text, double seconds)
{
    char number[HR_HUMAN_MAX];
    if (seconds < 1)
        add(text, "%.3g ms", 1e3 * seconds);
    else
        add(text, "%s s", hr_human_seconds(number, seconds));
}

static void add_count(struct text *text, uint64_t n, const char *one, const char *many)
{
    char number[HR_HUMAN_MAX];
    if (n > 0)
        add(text, "; %s %s", hr_human_count(number, n), n == 1 ? one : many);
}

static void add_who(struct text *text, const struct hr_loss *loss)
{
    char number[HR_HUMAN_MAX];
    add(text, "%s %zu", loss->server ? "server" : "worker", loss->rank);
    if (!loss->server && loss->step == 0)
        add(text, " before its first gradient,");
    else if (!loss->server)
        add(text, " after %s gradient%s,", hr_human_count(number, loss->step),
            loss->step == 1 ? "" : "s");
    add(text, " at ");
    add_seconds(text, loss->seconds);
    add(text, " (%s)", loss->how);
}

static void tell(FILE *out, const char *whose, const struct hr_loss *loss)
{
    struct text text = {.length = 0};
    add(&text, "lost%s: ", whose);
    add_who(&text, loss);
    if (loss->pause_s < 0) {
        add(&text, "; no update came after it");
    } else {
        add(&text, "; training went on after ");
        add_seconds(&text, loss->pause_s);
    }
    add_count(&text, loss->again_samples, "sample handed out again", "samples handed out again");
    add_count(&text, loss->lost_samples, "sample lost", "samples lost");
    add_count(&text, loss->partial, "push reached the weights in part",
              "pushes reached the weights in part");
    if (loss->rolled_back)
        add(&text, "; all went back to the last cut");
    if (loss->back)
        add(&text, "; it came back");
    print_filled(out, &text);
}

/* --- all of a table --- */

/* " by ssp s=3, seed 2": what is needed to tell it from the others. */
static void name_run(const struct hr_groups *groups, const struct hr_run_group *group, size_t i,
                     struct text *whose)
{
    *whose = (struct text){.length = 0};
    if (groups->n > 1)
        add(whose, " by %s", group->label);
    if (group->n > 1)
        add(whose, "%s seed %llu", groups->n > 1 ? "," : " by",
            (unsigned long long)group->run[i]->seed);
}

void hr_lost_ranks_print(FILE *out, const struct hr_groups *groups, bool details)
{
    struct text whose;
    const size_t most = details ? HR_LOST_RANKS_TOLD : groups->n > 1 ? 0 : HR_LOST_RANKS_BRIEF;
    size_t lost = 0, told = 0;
    for (size_t g = 0; g < groups->n; g++)
        lost += hr_run_group_lost(&groups->group[g]);
    if (lost == 0)
        return;
    fprintf(out, "~ lost workers or servers, and went on%s\n",
            hr_groups_lost_alike(groups) ? "" : "; others lost fewer: not like for like");
    for (size_t g = 0; g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++) {
            name_run(groups, &groups->group[g], i, &whose);
            for (size_t k = 0; k < groups->group[g].run[i]->nlosses; k++)
                if (told++ < most)
                    tell(out, whose.at, &groups->group[g].run[i]->losses[k]);
        }
    if (told > most && most > 0)
        fprintf(out, "... and %zu more: %s\n", told - most,
                details ? "--json has them all" : "--details tells of them");
}
