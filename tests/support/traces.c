#include "support/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trace_record(const char *name, struct hr_train_options options, char digest[33])
{
    snprintf(options.record, sizeof options.record, "%s", scratch(name));
    run_digest(&options, digest);
}

void check_replay_(const char *name, const char *want, const char *file, int line)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    check_status_(hr_replay_open(scratch(name), &replay), HR_OK, "hr_replay_open", file, line);
    check_status_(hr_replay_run(replay, run_digits(), NULL, &result), HR_OK, "hr_replay_run", file,
                  line);
    if (strcmp(result.weights_digest, want) || strcmp(result.recorded_digest, want)) {
        print_error("replayed %s, recorded %s, wanted %s\n", result.weights_digest,
                    result.recorded_digest, want);
        _fail(file, line);
    }
    hr_run_result_free(&result);
    hr_replay_close(replay);
}

void trace_refused(const char *name, enum hr_status status, const char *text)
{
    struct hr_replay *replay = NULL;
    struct hr_run_result result;
    enum hr_status got = hr_replay_open(scratch(name), &replay);
    if (got == HR_OK)
        got = hr_replay_run(replay, run_digits(), NULL, &result);
    CHECK_FAILS(got, status);
    CHECK_MESSAGE(text);
    assert_null(strchr(hr_error_message(), '\n'));
    hr_replay_close(replay);
}

static void copy_log(const struct hr_trace *trace, size_t owner, const char *to,
                     const struct trace_edit *edit)
{
    struct hr_trace_log log;
    struct hr_trace_cursor cursor;
    const size_t n = trace->owner[owner].entries;
    struct hr_trace_entry *entries = calloc(n + 1, sizeof *entries);
    assert_non_null(entries);
    CHECK_OK(hr_trace_cursor_open(&cursor, trace, owner));
    for (size_t i = 0; i < n; i++, hr_trace_next(&cursor))
        entries[i] = *hr_trace_peek(&cursor);
    hr_trace_cursor_close(&cursor);
    if (edit->change && owner == edit->owner)
        edit->change(entries, n);
    CHECK_OK(hr_trace_log_open(&log, NULL, to, owner, trace->owner[owner].nranks));
    for (size_t i = 0; i < n; i++)
        hr_trace_append(&log, &entries[i]);
    CHECK_OK(hr_trace_log_close(&log));
    free(entries);
}

void trace_rewrite(const char *from, const char *to, const struct trace_edit *edit)
{
    struct hr_trace trace;
    struct hr_trace_recording recording;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch(to));
    CHECK_OK(hr_trace_open(scratch(from), &trace));
    CHECK_OK(hr_trace_begin(&recording, path, trace.nowners));
    recording.version = edit->version ? edit->version : trace.version;
    for (size_t owner = 0; owner < trace.nowners; owner++)
        copy_log(&trace, owner, path, edit);
    CHECK_OK(hr_trace_assemble(&recording, edit->header ? edit->header : trace.header,
                               edit->trailer ? edit->trailer : trace.trailer));
    hr_trace_fini(&trace);
}

static char *with(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    if (!at)
        print_error("\"%s\" is not in %s\n", old, text);
    assert_non_null(at);
    char *out = malloc(strlen(text) + strlen(new) + 1);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

char *trace_header_with(const char *name, const char *old, const char *new)
{
    struct hr_trace trace;
    CHECK_OK(hr_trace_open(scratch(name), &trace));
    char *text = with(trace.header, old, new);
    hr_trace_fini(&trace);
    return text;
}

char *trace_trailer_with(const char *name, const char *old, const char *new)
{
    struct hr_trace trace;
    CHECK_OK(hr_trace_open(scratch(name), &trace));
    char *text = with(trace.trailer, old, new);
    hr_trace_fini(&trace);
    return text;
}

static void check_loss(const struct hr_loss *again, const struct hr_loss *loss)
{
    assert_int_equal(again->server, loss->server);
    assert_int_equal(again->rank, loss->rank);
    assert_int_equal(again->step, loss->step);
    assert_int_equal(again->lost_samples, loss->lost_samples);
    assert_int_equal(again->again_samples, loss->again_samples);
    assert_int_equal(again->partial, loss->partial);
    assert_int_equal(again->back, loss->back);
    assert_string_equal(again->how, loss->how);
    assert_true(again->seconds == loss->seconds && again->pause_s - loss->pause_s < 1e-9 &&
                loss->pause_s - again->pause_s < 1e-9);
}

void check_replay_of(const struct hr_run_result *result, const char *name)
{
    struct hr_replay *replay;
    struct hr_run_result again;
    CHECK_OK(hr_replay_open(scratch(name), &replay));
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &again));
    assert_string_equal(again.weights_digest, result->weights_digest);
    assert_int_equal(again.samples, result->samples);
    assert_int_equal(again.updates, result->updates);
    assert_int_equal(again.dropped_samples, result->dropped_samples);
    assert_int_equal(again.max_skew, result->max_skew);
    assert_int_equal(again.stale_updates, result->stale_updates);
    assert_int_equal(again.stale_sum, result->stale_sum);
    assert_int_equal(again.stale_max, result->stale_max);
    assert_memory_equal(again.stale, result->stale, sizeof again.stale);
    assert_int_equal(again.restarts, result->restarts);
    assert_int_equal(again.nlosses, result->nlosses);
    for (size_t i = 0; i < result->nlosses; i++)
        check_loss(&again.losses[i], &result->losses[i]);
    hr_run_result_free(&again);
    hr_replay_close(replay);
}
