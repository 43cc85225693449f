/* spans.h - what a rank does with its time, stretch by stretch, for who looks on.
 *
 *   Stretches  of an account (base/account.h), told when they are over: they follow one another,
 *              and their sums are the account's. Until the step is over they stay here, where parts
 *              of them are named by who knows it later: forward and backward; for whom it waited.
 *              Short ones that take turns, as blocks that are summed and updated, become one of
 *              each, as long as all together.
 *   Steps      one begins where the one before ends: what stretches lie in it are of it.
 *   Messages   when they leave and when they are taken, with a number that both ends know.
 *
 * All of it is told to the feed, in the order in which it ended. A rank that looks at nobody's
 * pointer (NULL) does nothing: all functions take NULL.
 *
 * Cost:    off, a branch; on, some 50 ns a stretch, and 64 bytes in the feed.
 * Threads: a rank's own.
 * Test:    tests/unit/observe/test_spans.c
 */
#ifndef HR_OBSERVE_SPANS_H
#define HR_OBSERVE_SPANS_H

#include <stdbool.h>

#include "hogring/observer.h"
#include "observe/feed.h"

enum { HR_SPANS_PENDING = 64, HR_SPANS_SHORT_NS = 20000 };

/* In the number of a message: between the stages of a pipeline; between workers. Else it is a
 * request to a server where bit 40 is set, or a reply. */
#define HR_STAGE_MESSAGE (UINT64_C(1) << 63)
#define HR_PEER_MESSAGE (UINT64_C(1) << 62)

struct hr_span {
    enum hr_span_kind kind;
    enum hr_span_part part;
    int64_t begin_ns, end_ns;
    uint64_t peer;
};

struct hr_spans {
    struct hr_account_watch watch; /* the first: it is given back */
    const struct hr_feed *feed;
    size_t rank;
    struct hr_waiter *waiter; /* for room in the feed */
    int64_t (*now_ns)(const void *clock);
    const void *clock;
    uint64_t step;
    bool wanted;    /* the step is one of those that are wanted */
    bool gradient;  /* it computes one: else it updates */
    int64_t cut_ns; /* the last cut began; 0: none has */
    size_t n;
    struct hr_span pending[HR_SPANS_PENDING];
};

/* Begin; spans->feed tells what is wanted. */
void hr_spans_open(struct hr_spans *spans, const struct hr_feed *feed, size_t rank,
                   struct hr_waiter *waiter, int64_t (*now_ns)(const void *clock),
                   const void *clock);
/* Tell what is left. */
void hr_spans_close(struct hr_spans *spans);

/* A stretch of time is over. */
void hr_spans_add(struct hr_spans *spans, enum hr_span_kind kind, enum hr_span_part part,
                  int64_t begin_ns, int64_t end_ns);
/* Batch `index` begins. */
void hr_spans_step(struct hr_spans *spans, uint64_t index, int64_t now_ns);
/* It ends, and no other begins yet. */
void hr_spans_step_ends(struct hr_spans *spans, int64_t now_ns);
/* The gradient is there. */
void hr_spans_offer(struct hr_spans *spans);
/* The span between two cuts has ended, and another begins. */
void hr_spans_cut_begins(struct hr_spans *spans, int64_t now_ns);
void hr_spans_cut_ends(struct hr_spans *spans, int64_t now_ns);

/* It ended here: what lies behind was told too early. */
void hr_spans_stop(struct hr_spans *spans, int64_t now_ns);

/* What is pending of that kind, in that time, was this part; or was for that rank. */
void hr_spans_name(struct hr_spans *spans, enum hr_span_kind kind, enum hr_span_part part,
                   int64_t begin_ns, int64_t end_ns);
void hr_spans_blame(struct hr_spans *spans, size_t rank, int64_t begin_ns, int64_t end_ns);

/* A server has taken a message of that kind. */
void hr_spans_serve(struct hr_spans *spans, size_t worker, uint32_t kind, int64_t begin_ns,
                    int64_t end_ns);
/* A rank of a pipeline that is none of a worker's has done a part of micro-batch `micro`. */
void hr_spans_stage(struct hr_spans *spans, enum hr_span_part part, uint64_t micro,
                    int64_t begin_ns, int64_t end_ns);
/* As hr_spans_message, at a time that is past. */
void hr_spans_message_at(struct hr_spans *spans, bool sent, size_t peer, uint64_t number,
                         int64_t at_ns);
/* A message leaves (sent), or is taken, now. number: both ends have the same, and of no other. */
void hr_spans_message(struct hr_spans *spans, bool sent, size_t peer, uint64_t number);

#endif
