/* served_reference.h - a plain serial model beside an explored run of a strategy with servers: it
 * is told which events happen, repeats what servers take in that order, one after another, on
 * weights of its own, and compares to the bit.
 *
 *   pull     the worker has the weights that the model has now, and computes from nothing else
 *   push     an update with the worker's gradient; ps-sync: with the sum of all, when all are in
 *   batch    is taken once by server 0, unless all went back to a cut
 *   clock    (ssp) no worker is more than the bound ahead of another
 *   share    (backup-workers, one server) is in, or too late; the sum of those that are in, when
 *            enough are or the others cannot come
 *   replica  (elastic-averaging, one server) a worker updates its own, and exchanges with the
 *            center: all batches since the last time are then taken. It begins at the center
 *   term     that a loss has ended: weights are those of the last cut
 *
 * Plain SGD, without momentum. An event is checked when the next one is chosen.
 */
#ifndef HR_TESTS_SUPPORT_SERVED_REFERENCE_H
#define HR_TESTS_SUPPORT_SERVED_REFERENCE_H

#include "serial/serial.h"

enum { REFERENCE_WORKERS = 4, REFERENCE_SERVERS = 3, REFERENCE_BATCHES = 64 };

struct served_reference {
    const struct hr_serial *serial;
    size_t params;
    bool drops;              /* backup-workers */
    size_t event;            /* under way; SIZE_MAX: none */
    float *weights, *at_cut; /* (params) owned */
    float *sum, *state;      /* (params) owned: scratch; the rule's, which decides nothing */
    struct reference_worker {
        float *read;           /* (params) owned: what it was given last */
        uint64_t index;        /* of its last push */
        uint64_t clock;        /* its pushes that server 0 has taken since the last cut */
        size_t samples;        /* in its last gradient */
        bool offers;           /* it does, in the event under way */
        bool fresh;            /* it has come back, and asked for nothing (elastic-averaging) */
        bool shares, in, gone; /* backup-workers: it has a share of the step; that is in; no more */
        /* elastic-averaging: batches that it has trained on since it last exchanged */
        unsigned char since[REFERENCE_BATCHES];
        bool rests; /* since a cut: it has asked for nothing */
        bool aside; /* it holds up nobody: it is lost, at a cut, or rests while others join */
    } worker[REFERENCE_WORKERS];
    bool open;       /* backup-workers: there is a step, */
    uint64_t step;   /* of this batch, */
    size_t expected; /* with so many shares that are in, or may come */
    uint64_t version[REFERENCE_SERVERS], begins, concluded;
    /* Times that server 0 has taken a push of the batch: a synchronous one, of each worker. */
    unsigned char taken[REFERENCE_BATCHES], taken_at_cut[REFERENCE_BATCHES];
    uint32_t called; /* revokes after which all began again */
    bool joined;     /* some worker came back since then: who rests holds up nobody */
};

/* Ranks have started. */
void served_reference_begin(struct served_reference *reference, const struct hr_serial *serial);
/* The event that was under way has happened; this one comes next. */
void served_reference_next(struct served_reference *reference, size_t event);
/* Bytes of its state that decide what it will find: give each piece to `add`. */
void served_reference_state(const struct served_reference *reference,
                            void (*add)(void *arg, const void *piece, size_t bytes), void *arg);
/* The run is over: its weights are these, and every batch was taken. Frees. */
void served_reference_end(struct served_reference *reference, const char *weights_digest,
                          uint64_t batches);
/* The run was given up. */
void served_reference_drop(struct served_reference *reference);

#endif
