/* spsc_ours.h - hogring's ring behind calls that a C++ program can link: ring.h is C11. The loops
 * stand on this side, so that the ring's inline functions are inlined into them. */
#ifndef PEERS_SPSC_OURS_H
#define PEERS_SPSC_OURS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Words of a message that the producer writes and the consumer adds up: 1 or 8. */
void *ours_create(size_t slots);
void ours_destroy(void *ring);
void ours_produce(void *ring, uint64_t n, int words);
/* The sum of all words read; n * (n - 1) / 2 * words when nothing was lost. */
uint64_t ours_consume(void *ring, uint64_t n, int words);
/* The same, up to 32 messages at a time. */
void ours_produce_runs(void *ring, uint64_t n, int words);
uint64_t ours_consume_runs(void *ring, uint64_t n, int words);
/* n round trips over two rings; the echoing side returns what the other sent. */
void ours_ping(void *there, void *back, uint64_t n, int words);
void ours_echo(void *there, void *back, uint64_t n, int words);

#ifdef __cplusplus
}
#endif

#endif
