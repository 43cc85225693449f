#include "timeline/timeline.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "metrics/appender.h"
#include "observe/spans.h"
#include "server/server.h"

/* --- flows --- */

static size_t place_of(const struct hr_flows *flows, uint64_t number)
{
    return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (flows->room - 1);
}

static struct hr_flow_end *find(const struct hr_flows *flows, uint64_t number)
{
    size_t at = place_of(flows, number);
    while (flows->slot[at].used && flows->slot[at].number != number)
        at = (at + 1) & (flows->room - 1);
    return &flows->slot[at];
}

static bool grow(struct hr_flows *flows)
{
    struct hr_flows more = {.room = flows->room ? 2 * flows->room : 1024};
    more.slot = calloc(more.room, sizeof *more.slot);
    if (!more.slot)
        return false;
    for (size_t i = 0; i < flows->room; i++)
        if (flows->slot[i].used)
            *find(&more, flows->slot[i].number) = flows->slot[i];
    more.n = flows->n;
    free(flows->slot);
    *flows = more;
    return true;
}

/* Those behind it in its row move up, where they were pushed back. */
static void forget(struct hr_flows *flows, struct hr_flow_end *end)
{
    size_t at = (size_t)(end - flows->slot);
    end->used = false;
    flows->n--;
    for (size_t next = (at + 1) & (flows->room - 1); flows->slot[next].used;
         next = (next + 1) & (flows->room - 1)) {
        const struct hr_flow_end moved = flows->slot[next];
        flows->slot[next].used = false;
        *find(flows, moved.number) = moved;
    }
}

bool hr_flows_match(struct hr_flows *flows, const struct hr_flow_end *end,
                    struct hr_flow_end *other)
{
    if (2 * (flows->n + 1) > flows->room && !grow(flows))
        return false;
    struct hr_flow_end *slot = find(flows, end->number);
    if (slot->used && slot->sent != end->sent) {
        *other = *slot;
        forget(flows, slot);
        return true;
    }
    flows->n += !slot->used; /* the same end once more: it was repeated */
    *slot = *end;
    slot->used = true;
    return false;
}

/* What a message of that number is: "request", "reply", "replica", "activation". */
static const char *flow_name(uint64_t number)
{
    if (number & HR_STAGE_MESSAGE)
        return "activation";
    if (number & HR_PEER_MESSAGE)
        return "replica";
    return number >> 40 & 1 ? "request" : "reply";
}

void hr_flows_clear(struct hr_flows *flows)
{
    free(flows->slot);
    *flows = (struct hr_flows){0};
}

/* --- timeline --- */

enum { LINE_MAX_BYTES = 1024, RANKS = 4096 };

/* A rank of the run. */
struct track {
    bool named, in_step;
    uint64_t step;
    int64_t last_ns; /* up to where it is told */
};

struct hr_timeline {
    struct hr_appender file; /* whose pieces are events */
    char command[512];
    uint64_t events, full_step;
    bool full;
    size_t run; /* from 1 */
    int64_t zero_ns;
    size_t workers, servers, owners, members, team; /* members: ranks of a worker's pipeline */
    bool colocated;
    struct hr_flows flows;
    struct track track[RANKS];
};

/* --- text */

void hr_timeline_flush(struct hr_timeline *t)
{
    hr_appender_flush(&t->file);
}

/* Nanoseconds as microseconds. */
struct us {
    char text[32];
};

static struct us us(int64_t ns)
{
    struct us us;
    const long long n = ns < 0 ? 0 : (long long)ns;
    snprintf(us.text, sizeof us.text, "%lld.%03lld", n / 1000, n % 1000);
    return us;
}

static struct us since(const struct hr_timeline *t, int64_t ns)
{
    return us(ns - t->zero_ns);
}

/* An event's line, of which `format` is all behind its rank: lines are whole in the file, and
 * commas between them. */
__attribute__((format(printf, 4, 5))) static void put(struct hr_timeline *t, const char *phase,
                                                      size_t rank, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list values;
    if (t->full)
        return;
    size_t n = (size_t)sprintf(line, "%s\n{\"ph\":\"%s\",\"pid\":%zu,\"tid\":%zu",
                               t->events++ ? "," : "", phase, t->run, rank + 1);
    va_start(values, format);
    n += (size_t)vsnprintf(line + n, sizeof line - 100, format, values);
    va_end(values);
    line[n++] = '}';
    hr_appender_put(&t->file, line, n);
}

/* --- names */

/* Member k of a worker's pipeline. */
static void role_of_member(const struct hr_timeline *t, size_t worker, size_t k, char *text,
                           size_t size)
{
    if (t->members == t->team)
        snprintf(text, size, "shard %zu of replica %zu", k, worker);
    else if (t->team > 1)
        snprintf(text, size, "stage %zu, shard %zu of replica %zu", k / t->team, k % t->team,
                 worker);
    else
        snprintf(text, size, "stage %zu of replica %zu", k, worker);
}

static void role_of(const struct hr_timeline *t, size_t rank, char *text, size_t size)
{
    const size_t beside = t->workers + t->owners;
    if (t->members > 1 && (rank < t->workers || rank >= beside))
        role_of_member(t, rank < t->workers ? rank : (rank - beside) / (t->members - 1),
                       rank < t->workers ? 0 : (rank - beside) % (t->members - 1) + 1, text, size);
    else if (rank < t->workers)
        snprintf(text, size,
                 t->colocated && rank < t->servers ? "worker %zu with server %zu" : "worker %zu",
                 rank, rank);
    else if (rank < t->workers + t->servers)
        snprintf(text, size, "server %zu", rank - t->workers);
    else
        snprintf(text, size, "replica of server %zu", rank - t->workers - t->servers);
}

/* name: of a metadata event. */
static void put_name(struct hr_timeline *t, const char *name, size_t rank, const char *text)
{
    put(t, "M", rank, ",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}", name, text);
}

static struct track *track_of(struct hr_timeline *t, size_t rank)
{
    struct track *track = &t->track[rank];
    char text[80];
    if (track->named)
        return track;
    track->named = true;
    role_of(t, rank, text, sizeof text);
    put_name(t, "thread_name", rank, text);
    put(t, "M", rank, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}", rank);
    return track;
}

/* Quotes, backslashes and what is not printed become blanks, so that it needs no escapes. */
static void plain(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; *from && n + 1 < size; from++)
        to[n++] =
            (char)(*from < ' ' || *from == '"' || *from == '\\' || *from == 127 ? ' ' : *from);
    to[n] = '\0';
}

/* --- a file */

enum hr_status hr_timeline_open(const char *path, const char *command,
                                struct hr_timeline **timeline)
{
    struct hr_timeline *t = *timeline = calloc(1, sizeof *t);
    if (!t)
        return hr_fail(HR_E_NOMEM, "no memory for --timeline %s", path);
    int fd;
    plain(t->command, sizeof t->command, command);
    enum hr_status status = hr_file_open_unblocked(path, O_WRONLY | O_CREAT | O_TRUNC, &fd);
    if (status == HR_OK) {
        close(fd);
        status = hr_appender_open(&t->file, path);
    }
    if (status == HR_OK) {
        t->file.silent = true; /* it is told in the end */
        hr_appender_put(&t->file, "[", 1);
        return HR_OK;
    }
    free(t);
    *timeline = NULL;
    return hr_fail_within(status, "--timeline");
}

void hr_timeline_run(struct hr_timeline *t, const char *name, const char *clock,
                     const struct hr_run_info *info, int64_t zero_ns)
{
    char called[200];
    plain(called, sizeof called, name);
    t->run++;
    t->zero_ns = zero_ns;
    t->workers = info->workers;
    t->servers = info->servers;
    t->colocated = info->colocated;
    t->owners = info->colocated ? 0 : info->servers;
    t->team = info->team > 1 ? info->team : 1;
    t->members = (info->stages ? info->stages : 1) * t->team;
    memset(t->track, 0, sizeof t->track);
    put_name(t, "process_name", 0, called);
    put(t, "M", 0,
        ",\"name\":\"process_labels\",\"args\":{\"labels\":\"hogring %s, %s time, %zu processors: "
        "%.500s\"}",
        HR_VERSION, clock, info->processors, t->command);
    for (size_t r = 0; r < info->workers && r < RANKS; r++)
        track_of(t, r);
}

static void end_step(struct hr_timeline *t, size_t rank, int64_t now_ns)
{
    struct track *track = track_of(t, rank);
    if (!track->in_step)
        return;
    track->in_step = false;
    put(t, "E", rank, ",\"ts\":%s", since(t, now_ns).text);
}

void hr_timeline_run_ends(struct hr_timeline *t)
{
    for (size_t r = 0; r < RANKS; r++)
        if (t->track[r].in_step)
            end_step(t, r, t->track[r].last_ns);
    hr_flows_clear(&t->flows); /* those that never came */
    hr_timeline_flush(t);
}

bool hr_timeline_is_full(const struct hr_timeline *t, uint64_t *step)
{
    *step = t->full_step;
    return t->full;
}

enum hr_status hr_timeline_close(struct hr_timeline *t)
{
    if (!t)
        return HR_OK;
    hr_appender_put(&t->file, "\n]\n", 3);
    enum hr_status status = hr_appender_close(&t->file);
    if (status != HR_OK)
        status = hr_fail(status, "--timeline %s", t->file.message);
    hr_flows_clear(&t->flows);
    free(t);
    return status;
}

/* --- spans */

static void begin_step(struct hr_timeline *t, const struct hr_span_report *span)
{
    struct track *track = track_of(t, span->rank);
    end_step(t, span->rank, span->begin_ns);
    if (!span->end_ns || t->full) /* the last one that is wanted ended */
        return;
    put(t, "B", span->rank, ",\"ts\":%s,\"name\":\"step %llu\",\"cat\":\"step\"",
        since(t, span->begin_ns).text, (unsigned long long)span->step);
    track->in_step = true;
    track->step = span->step;
}

static const char *name_of(const struct hr_span_report *span)
{
    static const char *const kinds[] = {"load", "compute", "communicate", "wait", "step", "cut"};
    static const char *const parts[] = {NULL, "forward", "backward", "update", "stall"};
    return parts[span->part] ? parts[span->part] : kinds[span->kind];
}

static void write_name(const struct hr_timeline *t, const struct hr_span_report *span, char *text,
                       size_t size)
{
    char who[80] = "";
    const bool peer = span->peer != HR_SPAN_NOBODY;
    if (peer)
        role_of(t, (size_t)span->peer, who, sizeof who);
    if (span->kind == HR_SPAN_STAGE)
        snprintf(text, size, "%s %llu%s", name_of(span), (unsigned long long)span->note, who);
    else if (span->kind == HR_SPAN_SERVE)
        snprintf(text, size, "%s of %s", hr_server_request_name((uint32_t)span->note), who);
    else
        snprintf(text, size, "%s%s%s", name_of(span), peer ? " for " : "", who);
}

static void put_span(struct hr_timeline *t, const struct hr_span_report *span)
{
    static const char *const categories[] = {"load", "compute", "communicate", "wait",
                                             "step", "cut",     "serve",       "stage"};
    struct track *track = track_of(t, span->rank);
    char name[200];
    if (span->kind == HR_SPAN_CUT)
        end_step(t, span->rank, span->begin_ns);
    if (t->full)
        return;
    write_name(t, span, name, sizeof name);
    put(t, "X", span->rank, ",\"ts\":%s,\"dur\":%s,\"name\":\"%s\",\"cat\":\"%s\"",
        since(t, span->begin_ns).text, us(span->end_ns - span->begin_ns).text, name,
        categories[span->kind]);
    track->last_ns = span->end_ns;
}

/* --- messages */

static void put_flow(struct hr_timeline *t, const struct hr_flow_end *end)
{
    put(t, end->sent ? "s" : "f", end->rank,
        ",\"ts\":%s,\"id\":\"%zu.%llu\",\"name\":\"%s\",\"cat\":\"message\"%s",
        since(t, end->at_ns).text, t->run, (unsigned long long)end->number, flow_name(end->number),
        end->sent ? "" : ",\"bp\":\"e\"");
}

static void put_message(struct hr_timeline *t, const struct hr_span_report *span)
{
    const bool sent = span->kind == HR_SPAN_SENT;
    const struct hr_flow_end end = {span->note, span->rank, span->begin_ns, sent, true};
    struct hr_flow_end other;
    if (!hr_flows_match(&t->flows, &end, &other))
        return;
    struct hr_flow_end from = sent ? end : other, to = sent ? other : end;
    if (from.at_ns > to.at_ns) /* a stage hands over in an action, and says so after it */
        from.at_ns = to.at_ns;
    put_flow(t, &from);
    put_flow(t, &to);
}

/* From here on there is nothing more: it says so. */
static void fill_up(struct hr_timeline *t, const struct hr_span_report *span)
{
    for (size_t r = 0; r < RANKS; r++)
        if (t->track[r].in_step)
            end_step(t, r, t->track[r].last_ns);
    put(t, "i", span->rank, ",\"ts\":%s,\"s\":\"g\",\"name\":\"the file is full\"",
        since(t, span->begin_ns).text);
    t->full = true;
    t->full_step = span->step;
}

void hr_timeline_span(struct hr_timeline *t, const struct hr_span_report *span)
{
    if (t->full || span->rank >= RANKS)
        return;
    if (t->events >= HR_TIMELINE_EVENTS)
        fill_up(t, span);
    else if (span->kind == HR_SPAN_STEP)
        begin_step(t, span);
    else if (span->kind == HR_SPAN_SENT || span->kind == HR_SPAN_CAME)
        put_message(t, span);
    else
        put_span(t, span);
}
