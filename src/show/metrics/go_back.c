#include "metrics/go_back.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/appender.h"

/* A log that is read line by line. */
struct reading {
    FILE *in;
    const char *path;
    const struct hr_go_back *to;
    char *line; /* (room) owned */
    size_t room, length;
    uint64_t number, marker; /* of this line and of the last "saving", from 1; 0: there is none */
};

static bool next_line(struct reading *at)
{
    const ssize_t length = getline(&at->line, &at->room, at->in);
    if (length <= 0)
        return false;
    at->length = (size_t)length;
    at->number++;
    return true;
}

static bool is_torn(const struct reading *at)
{
    return at->line[at->length - 1] != '\n';
}

/* What stands behind {"run":NAME,"event":" where the line is of this run; else NULL. */
static const char *event_of(const struct reading *at)
{
    static const char head[] = "{\"run\":", middle[] = ",\"event\":\"";
    const size_t run = strlen(at->to->run), begin = sizeof head - 1, ends = sizeof middle - 1;
    if (at->length < begin + run + ends || memcmp(at->line, head, begin) != 0 ||
        memcmp(at->line + begin, at->to->run, run) != 0 ||
        memcmp(at->line + begin + run, middle, ends) != 0)
        return NULL;
    return at->line + begin + run + ends;
}

static bool is_event(const char *event, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(event, name, length) && event[length] == '"';
}

/* The step that is behind the event's name; false: none is. */
static bool step_of(const char *event, uint64_t *step)
{
    static const char name[] = "\",\"step\":";
    const char *at = strchr(event, '"');
    if (!at || strncmp(at, name, sizeof name - 1) != 0)
        return false;
    *step = strtoull(at + sizeof name - 1, NULL, 10);
    return true;
}

/* Of a "start". */
static uint64_t life_of(const char *event)
{
    const char *at = strstr(event, "\"life\":");
    return at ? strtoull(at + strlen("\"life\":"), NULL, 10) : 0;
}

/* Where the run was saved, and whether it went on. */
static enum hr_status look(struct reading *at, struct hr_gone_back *gone)
{
    bool later = false;
    while (next_line(at)) {
        const char *event = event_of(at);
        uint64_t step;
        if (strncmp(at->line, "{\"run\":", 7) != 0 && !is_torn(at))
            return hr_fail(HR_E_USAGE, "%s: line %llu is none of a log of hogring", at->path,
                           (unsigned long long)at->number);
        if (is_torn(at) || !event)
            continue;
        if (is_event(event, "start") && life_of(event) > gone->lives)
            gone->lives = life_of(event);
        if (!step_of(event, &step))
            continue;
        later = later || (is_event(event, "step") && step > at->to->step);
        if (is_event(event, "saving") && step == at->to->step)
            at->marker = at->number;
    }
    if (!at->marker && later && at->to->step > 0)
        return hr_fail(
            HR_E_USAGE,
            "%s: it has later steps of %s than the checkpoint's %llu, and never saw that "
            "saved: it is another run's; expected its own log, or --overwrite",
            at->path, at->to->run, (unsigned long long)at->to->step);
    return HR_OK;
}

bool hr_go_back_redoes(const struct hr_go_back *to, uint64_t step)
{
    for (size_t i = 0; i < to->nredone; i++)
        if (to->redone[i] == step)
            return true;
    return false;
}

static bool is_overtaken(const struct reading *at)
{
    const char *event = event_of(at);
    uint64_t step = 0;
    if (is_torn(at))
        return true;
    if (!event)
        return false;
    const bool has_step = step_of(event, &step);
    if (is_event(event, "step") || is_event(event, "saved"))
        return step > at->to->step ||
               (at->marker && at->number > at->marker && hr_go_back_redoes(at->to, step));
    if (at->marker && at->number > at->marker)
        return true;
    return !is_event(event, "start") && has_step &&
           (step > at->to->step || (!at->marker && at->to->step == 0));
}

/* Lines go to the one or the other. */
static enum hr_status sort_lines(struct reading *at, struct hr_file_writer *kept,
                                 struct hr_appender *overtaken, struct hr_gone_back *gone)
{
    rewind(at->in);
    at->number = 0;
    while (next_line(at)) {
        if (!is_overtaken(at)) {
            HR_TRY(hr_file_write(kept, at->line, at->length));
            continue;
        }
        gone->torn += is_torn(at) ? at->length : 0;
        gone->lines += !is_torn(at);
        hr_appender_put(overtaken, at->line, at->length);
        if (is_torn(at))
            hr_appender_put(overtaken, "\n", 1);
    }
    return ferror(at->in) ? hr_fail_errno(HR_E_IO, "%s", at->path) : HR_OK;
}

static enum hr_status replace(struct reading *at, struct hr_gone_back *gone)
{
    char beside[HR_PATH_MAX];
    struct hr_appender overtaken = {.open = false};
    struct hr_file_writer kept;
    snprintf(beside, sizeof beside, "%.*s.overtaken", HR_PATH_MAX - 16, at->path);
    HR_TRY(hr_file_replace(&kept, at->path, 0));
    enum hr_status status = hr_appender_open(&overtaken, beside);
    if (status == HR_OK)
        status = sort_lines(at, &kept, &overtaken, gone);
    const enum hr_status closed = hr_appender_close(&overtaken);
    status = status == HR_OK ? closed : status;
    if (status == HR_OK && gone->lines + gone->torn > 0)
        return hr_file_finish(&kept);
    hr_file_abandon(&kept);
    return status;
}

static bool is_overtaken_at_all(struct reading *at)
{
    rewind(at->in);
    at->number = 0;
    while (next_line(at))
        if (is_overtaken(at))
            return true;
    return false;
}

enum hr_status hr_log_go_back(const char *path, const struct hr_go_back *to,
                              struct hr_gone_back *gone)
{
    struct stat about;
    int lock;
    *gone = (struct hr_gone_back){0};
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return HR_OK;
    HR_TRY(hr_appender_lock(path, &lock));
    struct reading at = {.in = fopen(path, "re"), .path = path, .to = to};
    enum hr_status status = at.in ? look(&at, gone) : hr_fail_errno(HR_E_IO, "%s", path);
    if (status == HR_OK && is_overtaken_at_all(&at))
        status = replace(&at, gone);
    if (at.in)
        fclose(at.in);
    free(at.line);
    close(lock);
    return status;
}

enum hr_status hr_log_lacks_end(const char *path, const char *run, bool *lacks)
{
    const struct hr_go_back to = {.run = run};
    struct reading at = {.in = fopen(path, "re"), .path = path, .to = &to};
    *lacks = false;
    if (!at.in)
        return errno == ENOENT ? HR_OK : hr_fail_errno(HR_E_IO, "%s", path);
    while (next_line(&at)) {
        const char *event = event_of(&at);
        *lacks = !is_torn(&at) && (event ? !is_event(event, "end") : *lacks);
    }
    const enum hr_status status = ferror(at.in) ? hr_fail_errno(HR_E_IO, "%s", path) : HR_OK;
    fclose(at.in);
    free(at.line);
    return status;
}
