#include "watch/timeline_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "hogring/sparse.h"
#include "shm/control.h"

/* "A:B"; either may be missing. */
static bool parse_steps(const char *text, uint64_t *from, uint64_t *to)
{
    char first[24];
    const char *colon = strchr(text, ':');
    *from = 0;
    *to = UINT64_MAX;
    if (!text[0])
        return true;
    if (!colon || (size_t)(colon - text) >= sizeof first)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
    return (!first[0] || hr_parse_count(first, from)) &&
           (!colon[1] || hr_parse_count(colon + 1, to)) && *from < *to;
}

enum hr_status hr_timeline_check(const struct hr_cli *cli)
{
    uint64_t from, to;
    if (cli->timeline_steps[0] && !cli->timeline[0])
        return hr_fail(HR_E_USAGE, "--timeline-steps: of what? it needs --timeline FILE");
    if (!parse_steps(cli->timeline_steps, &from, &to))
        return hr_fail(HR_E_USAGE, "--timeline-steps %s: expected A:B, as 100:200, A below B",
                       cli->timeline_steps);
    return HR_OK;
}

void hr_timeline_steps(const struct hr_cli *cli, uint64_t *from, uint64_t *to)
{
    if (!parse_steps(cli->timeline_steps, from, to))
        *from = *to = 0; /* it was refused */
}

enum hr_status hr_timeline_admit(struct hr_timeline_watch *lines)
{
    struct hr_about about;
    if (lines->timeline)
        return HR_OK;
    hr_about_fill(&about);
    return hr_timeline_open(lines->cli->timeline, about.command, &lines->timeline);
}

void hr_timeline_begin(struct hr_timeline_watch *lines, const char *name, const char *clock,
                       const struct hr_run_info *info)
{
    const bool simulated = !strcmp(clock, "virtual");
    if (lines->timeline)
        hr_timeline_run(lines->timeline, name, clock, info, simulated ? 0 : hr_clock_ns());
}

enum hr_status hr_timeline_end(struct hr_timeline_watch *lines, enum hr_status status)
{
    char message[512];
    uint64_t step;
    if (!lines->timeline)
        return status;
    if (hr_timeline_is_full(lines->timeline, &step))
        hr_log(HR_LOG_WARNING,
               "%s: full after %d events, in step %llu; --timeline-steps A:B chooses steps",
               lines->cli->timeline, HR_TIMELINE_EVENTS, (unsigned long long)step);
    snprintf(message, sizeof message, "%s", status == HR_OK ? "" : hr_error_message());
    const enum hr_status closed = hr_timeline_close(lines->timeline);
    lines->timeline = NULL;
    return status == HR_OK ? closed : hr_fail(status, "%s", message);
}
