/* worlds.h - tests whose body is what a rank does: started as threads and as processes. */
#ifndef HR_TESTS_SUPPORT_WORLDS_H
#define HR_TESTS_SUPPORT_WORLDS_H

#include <stdio.h>
#include <string.h>

#include "hogring/group.h"
#include "support/check.h"
#include "support/ranks.h"

/* In a rank: the call has to fail with this status, and a message that holds the text. */
#define RANK_FAILS(call, status, text) HR_TRY(rank_fails_((call), (status), (text), #call))

HR_CHECKED static inline enum hr_status rank_fails_(enum hr_status got, enum hr_status want,
                                                    const char *text, const char *call)
{
    char why[400];
    if (got == want && strstr(hr_error_message(), text))
        return HR_OK;
    snprintf(why, sizeof why, "%s", got == HR_OK ? "" : hr_error_message());
    return hr_fail(HR_E_FAILED, "%s: %s (%s), expected %s (%s)", call, hr_status_str(got), why,
                   hr_status_str(want), text);
}

/* The world ends with `want`, and a message that holds `text`, whichever way it is launched. */
static inline void worlds_end(struct hr_world_options options, hr_rank_fn work, void *arg,
                              enum hr_status want, const char *text)
{
    static const char *const launches[] = {"thread", "process"};
    options.timeout = options.timeout ? options.timeout : 20;
    options.arena_bytes = options.arena_bytes ? options.arena_bytes : 1 << 20; /* zeroed */
    for (size_t i = 0; i < (ranks_can_fork() ? 2 : 1); i++) {
        options.launch = launches[i];
        const enum hr_status status = hr_world_run(&options, work, arg);
        if (status != want)
            print_error("launch %s, %zu ranks\n", launches[i], options.nranks);
        CHECK_FAILS(status, want);
        if (text)
            CHECK_MESSAGE(text);
    }
    assert_true(no_children_left());
}

/* The world ends well. */
static inline void worlds_pass(struct hr_world_options options, hr_rank_fn work, void *arg)
{
    worlds_end(options, work, arg, HR_OK, NULL);
}

#endif
