#include "launch/runs.h"
#include "support/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"
#include "support/check.h"

static size_t group_bytes(const struct ranks *ranks)
{
    size_t bytes;
    CHECK_OK(hr_group_bytes(&ranks->options, &bytes));
    return hr_round_up(bytes, HR_LINE);
}

static size_t floats_bytes(const struct ranks *ranks)
{
    return hr_round_up(ranks->floats * sizeof(float), HR_LINE);
}

float *ranks_floats(const struct ranks *ranks, size_t rank)
{
    unsigned char *end = (unsigned char *)ranks->segment.base + ranks->segment.bytes;
    return (float *)(void *)(end - (ranks->nranks - rank) * floats_bytes(ranks));
}

void ranks_open(struct ranks *ranks)
{
    const size_t n = ranks->nranks;
    ranks->algorithm = ranks->algorithm ? ranks->algorithm : &hr_allreduce_direct;
    ranks->timeout_ns = ranks->timeout_ns ? ranks->timeout_ns : 100 * HR_NS_PER_SECOND;
    ranks->options = (struct hr_group_options){.nranks = n,
                                               .slot_bytes = ranks->slot_bytes,
                                               .copies = ranks->slot_bytes > 0,
                                               .algorithm = ranks->algorithm,
                                               .plan_only = ranks->plan_only,
                                               .crowded = ranks->crowded,
                                               .helpers = 1};
    CHECK_OK(hr_segment_create(hr_control_bytes(n), true, &ranks->control_segment));
    ranks->control = ranks->control_segment.base;
    CHECK_OK(
        hr_segment_create(group_bytes(ranks) + n * floats_bytes(ranks), false, &ranks->segment));
}

void ranks_close(struct ranks *ranks)
{
    hr_segment_destroy(&ranks->segment);
    hr_segment_destroy(&ranks->control_segment);
}

static enum hr_status rank_main(void *arg, size_t number)
{
    struct ranks *ranks = arg;
    struct rank me = {.ranks = ranks, .rank = number, .floats = ranks_floats(ranks, number)};
    me.waiter = (struct hr_waiter){.abort = &ranks->control->abort,
                                   .spin_ns = ranks->spin_ns,
                                   .timeout_ns = ranks->timeout_ns};
    if (ranks->bare)
        return ranks->body(&me);
    const struct hr_place place = {.group = ranks->segment.base,
                                   .segment = ranks->segment.base,
                                   .control = ranks->control,
                                   .waiter = &me.waiter};
    HR_TRY(hr_member_init(&me.member, &ranks->options, &place, number));
    const enum hr_status status = ranks->body(&me);
    hr_member_fini(&me.member);
    return status;
}

static enum hr_status tick(void *arg)
{
    struct ranks *ranks = arg;
    return ranks->tick(ranks);
}

enum hr_status ranks_run(struct ranks *ranks)
{
    memset(ranks->control, 0, hr_control_bytes(ranks->nranks));
    hr_control_init(ranks->control, ranks->nranks);
    memset(ranks->segment.base, 0, group_bytes(ranks));
    HR_TRY(hr_group_init(ranks->segment.base, &ranks->options));
    const struct hr_launch_options options = {
        .launch = ranks->launch,
        .nranks = ranks->nranks,
        .hosts = ranks->hosts,
        .control = ranks->control,
        .main = rank_main,
        .tick = ranks->tick ? tick : NULL,
        .tick_ns = ranks->tick_ns ? ranks->tick_ns : HR_NS_PER_SECOND / 100,
        .grace_ns = ranks->grace_ns,
        .timeout_ns = ranks->timeout_ns,
        .arg = ranks,
    };
    return hr_launch_run(&options, &ranks->stuck);
}

bool ranks_can_fork(void)
{
#if defined(__SANITIZE_THREAD__)
    return false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return false;
#endif
#endif
    return true;
}

size_t segments_of(pid_t pid)
{
    char prefix[64];
    size_t count = 0;
    snprintf(prefix, sizeof prefix, "hogring.%ld.", (long)pid);
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return count;
}

void remove_runs_of(pid_t pid)
{
    struct hr_runs runs;
    CHECK_OK(hr_runs_find(&runs));
    for (size_t i = 0; i < runs.n; i++)
        if (runs.file[i].pid == pid)
            hr_run_remove(&runs.file[i]); /* unless a run that begins has done it */
    hr_runs_free(&runs);
}

bool no_children_left(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}
