#include "observe/spans.h"

#include <string.h>

/* A feed that takes nothing any more ends the run. */
static void put(struct hr_spans *spans, const struct hr_span_record *record)
{
    if (hr_feed_put(spans->feed, spans->rank, spans->waiter, record) != HR_OK)
        spans->wanted = false;
}

static void put_span(struct hr_spans *spans, const struct hr_span *span)
{
    const struct hr_span_record record = {
        .kind = HR_RECORD_SPAN,
        .what = (uint32_t)span->kind | (uint32_t)span->part << 8,
        .step = spans->step,
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
        .peer = span->peer,
    };
    put(spans, &record);
}

/* To put may mean to wait, which is a stretch of time in its turn, and pending then. */
static void flush(struct hr_spans *spans)
{
    struct hr_span span[HR_SPANS_PENDING];
    const size_t n = spans->n;
    memcpy(span, spans->pending, n * sizeof *span);
    spans->n = 0;
    for (size_t i = 0; i < n && spans->wanted; i++)
        put_span(spans, &span[i]);
}

static void on_spent(struct hr_account_watch *watch, enum hr_activity activity, int64_t begin_ns,
                     int64_t end_ns)
{
    static const enum hr_span_kind kinds[HR_ACTIVITIES] = {
        [HR_LOAD] = HR_SPAN_LOAD,
        [HR_COMPUTE] = HR_SPAN_COMPUTE,
        [HR_COMMUNICATE] = HR_SPAN_COMMUNICATE,
        [HR_WAIT] = HR_SPAN_WAIT,
    };
    struct hr_spans *spans = (struct hr_spans *)watch;
    const bool updates = activity == HR_COMPUTE && !spans->gradient;
    hr_spans_add(spans, kinds[activity], updates ? HR_SPAN_UPDATE : HR_SPAN_WHOLE, begin_ns,
                 end_ns);
}

void hr_spans_open(struct hr_spans *spans, const struct hr_feed *feed, size_t rank,
                   struct hr_waiter *waiter, int64_t (*now_ns)(const void *clock),
                   const void *clock)
{
    *spans = (struct hr_spans){.watch = {on_spent},
                               .feed = feed,
                               .rank = rank,
                               .waiter = waiter,
                               .now_ns = now_ns,
                               .clock = clock,
                               .wanted = feed->spans_from == 0};
}

void hr_spans_close(struct hr_spans *spans)
{
    if (spans)
        flush(spans);
}

static bool goes_on(const struct hr_span *span, enum hr_span_kind kind, enum hr_span_part part,
                    int64_t begin_ns)
{
    return span->kind == kind && span->part == part && span->end_ns == begin_ns &&
           span->peer == HR_NO_PEER;
}

static bool is_short(const struct hr_span *span)
{
    return span->kind != HR_SPAN_WAIT && span->end_ns - span->begin_ns < HR_SPANS_SHORT_NS;
}

/* Behind A B comes another A: short ones that take turns become one A and one B. */
static bool fold(struct hr_spans *spans, const struct hr_span *more)
{
    struct hr_span *last = &spans->pending[spans->n - 1], *before = last - 1;
    const int64_t ns = more->end_ns - more->begin_ns;
    if (spans->n < 2 || last->end_ns != more->begin_ns || before->end_ns != last->begin_ns ||
        before->kind != more->kind || before->part != more->part || before->peer != HR_NO_PEER ||
        !is_short(last) || !is_short(more))
        return false;
    before->end_ns += ns;
    last->begin_ns += ns;
    last->end_ns += ns;
    return true;
}

void hr_spans_add(struct hr_spans *spans, enum hr_span_kind kind, enum hr_span_part part,
                  int64_t begin_ns, int64_t end_ns)
{
    if (!spans || !spans->wanted || end_ns <= begin_ns)
        return;
    if (spans->n && goes_on(&spans->pending[spans->n - 1], kind, part, begin_ns)) {
        spans->pending[spans->n - 1].end_ns = end_ns;
        return;
    }
    const struct hr_span span = {kind, part, begin_ns, end_ns, HR_NO_PEER};
    if (spans->n && fold(spans, &span))
        return;
    if (spans->n == HR_SPANS_PENDING)
        flush(spans);
    spans->pending[spans->n++] = span;
}

void hr_spans_step(struct hr_spans *spans, uint64_t index, int64_t now_ns)
{
    if (!spans)
        return;
    flush(spans);
    const bool was_wanted = spans->wanted;
    spans->step = index;
    spans->gradient = true;
    spans->wanted = index >= spans->feed->spans_from && index < spans->feed->spans_to;
    if (spans->wanted || was_wanted) /* the one before ends here */
        put_span(spans, &(struct hr_span){HR_SPAN_STEP, HR_SPAN_WHOLE, now_ns,
                                          spans->wanted ? now_ns : 0, HR_NO_PEER});
}

void hr_spans_step_ends(struct hr_spans *spans, int64_t now_ns)
{
    if (spans->wanted)
        put_span(spans, &(struct hr_span){HR_SPAN_STEP, HR_SPAN_WHOLE, now_ns, 0, HR_NO_PEER});
}

void hr_spans_offer(struct hr_spans *spans)
{
    if (spans)
        spans->gradient = false;
}

void hr_spans_cut_begins(struct hr_spans *spans, int64_t now_ns)
{
    if (!spans)
        return;
    flush(spans);
    spans->cut_ns = now_ns;
}

void hr_spans_cut_ends(struct hr_spans *spans, int64_t now_ns)
{
    if (!spans || !spans->cut_ns)
        return;
    hr_spans_add(spans, HR_SPAN_CUT, HR_SPAN_WHOLE, spans->cut_ns, now_ns);
    flush(spans);
    spans->cut_ns = 0;
}

void hr_spans_stop(struct hr_spans *spans, int64_t now_ns)
{
    while (spans && spans->n && spans->pending[spans->n - 1].begin_ns >= now_ns)
        spans->n--;
    if (spans && spans->n && spans->pending[spans->n - 1].end_ns > now_ns)
        spans->pending[spans->n - 1].end_ns = now_ns;
}

/* Pending span i, which lies partly in [begin, end): cut it there; returns where the part is that
 * lies in. What there is no room for stays whole. */
static size_t cut(struct hr_spans *spans, size_t i, int64_t begin_ns, int64_t end_ns)
{
    for (int side = 0; side < 2; side++) {
        const int64_t at_ns = side ? end_ns : begin_ns;
        struct hr_span *span = &spans->pending[i];
        if (at_ns <= span->begin_ns || at_ns >= span->end_ns || spans->n == HR_SPANS_PENDING)
            continue;
        memmove(span + 1, span, (spans->n - i) * sizeof *span);
        spans->n++;
        span[0].end_ns = span[1].begin_ns = at_ns;
        i += side == 0;
    }
    return i;
}

void hr_spans_name(struct hr_spans *spans, enum hr_span_kind kind, enum hr_span_part part,
                   int64_t begin_ns, int64_t end_ns)
{
    for (size_t i = 0; spans && i < spans->n; i++) {
        const struct hr_span *span = &spans->pending[i];
        if (span->kind != kind || span->end_ns <= begin_ns || span->begin_ns >= end_ns)
            continue;
        i = cut(spans, i, begin_ns, end_ns);
        spans->pending[i].part = part;
    }
}

void hr_spans_blame(struct hr_spans *spans, size_t rank, int64_t begin_ns, int64_t end_ns)
{
    for (size_t i = 0; spans && i < spans->n; i++) {
        const struct hr_span *span = &spans->pending[i];
        if (span->kind != HR_SPAN_WAIT || span->end_ns <= begin_ns || span->begin_ns >= end_ns)
            continue;
        i = cut(spans, i, begin_ns, end_ns);
        spans->pending[i].peer = rank;
    }
}

void hr_spans_serve(struct hr_spans *spans, size_t worker, uint32_t kind, int64_t begin_ns,
                    int64_t end_ns)
{
    const struct hr_span_record record = {.kind = HR_RECORD_SPAN,
                                          .what = HR_SPAN_SERVE,
                                          .begin_ns = begin_ns,
                                          .end_ns = end_ns,
                                          .peer = worker,
                                          .note = {kind}};
    if (spans)
        put(spans, &record);
}

void hr_spans_stage(struct hr_spans *spans, enum hr_span_part part, uint64_t micro,
                    int64_t begin_ns, int64_t end_ns)
{
    const struct hr_span_record record = {.kind = HR_RECORD_SPAN,
                                          .what = HR_SPAN_STAGE | (uint32_t)part << 8,
                                          .step = spans->step,
                                          .begin_ns = begin_ns,
                                          .end_ns = end_ns,
                                          .peer = HR_NO_PEER,
                                          .note = {micro}};
    if (spans->wanted)
        put(spans, &record);
}

void hr_spans_message_at(struct hr_spans *spans, bool sent, size_t peer, uint64_t number,
                         int64_t at_ns)
{
    const struct hr_span_record record = {.kind = HR_RECORD_SPAN,
                                          .what = sent ? HR_SPAN_SENT : HR_SPAN_CAME,
                                          .step = spans ? spans->step : 0,
                                          .begin_ns = at_ns,
                                          .end_ns = at_ns,
                                          .peer = peer,
                                          .note = {number}};
    if (spans && spans->wanted && !spans->cut_ns) /* at a cut it is in no span */
        put(spans, &record);
}

void hr_spans_message(struct hr_spans *spans, bool sent, size_t peer, uint64_t number)
{
    if (spans && spans->wanted)
        hr_spans_message_at(spans, sent, peer, number, spans->now_ns(spans->clock));
}
