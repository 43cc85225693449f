/* atom.h - every atomic operation of hogring, with its order in its name.
 *
 * The words are wrapped in structs so that no operator can touch one by accident (on a bare
 * _Atomic, `x++` compiles, and is sequentially consistent). C11 atomics only: ThreadSanitizer
 * follows them, and they are address-free, so the same words work between processes.
 *
 * House rule: one writer a word, and each use names its partner. Exceptions, by design read-modify-
 * write by many: bells (wait.h), the arrival and claim counters of group/reduce_barrier.h, the
 * places and the count of those that left of launch/join.c, the abort record and who speaks for the
 * dead (control.h), the batch dispenser, claims and the lock of sparse/run.h, emulated links
 * (netsim/links.h), the words of strategies/hogwild.h, the histograms of
 * server/staleness.h, the lines of server/server.h, the beat of worker/compute_buffers.c
 * (under its lock), and Hogwild's weights, which go through the last functions of this file and
 * through nothing else.
 */
#ifndef HR_SHM_ATOM_H
#define HR_SHM_ATOM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Two lines: adjacent-line prefetchers pull pairs of 64-byte lines. */
#define HR_LINE 128

struct hr_atom32 {
    _Atomic uint32_t word;
};

struct hr_atom64 {
    _Atomic uint64_t word;
};

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "shared words need to be lock-free");

static inline uint32_t hr_atom32_load_acquire(const struct hr_atom32 *a)
{
    return atomic_load_explicit(&a->word, memory_order_acquire);
}

static inline uint32_t hr_atom32_load_relaxed(const struct hr_atom32 *a)
{
    return atomic_load_explicit(&a->word, memory_order_relaxed);
}

static inline void hr_atom32_store_release(struct hr_atom32 *a, uint32_t value)
{
    atomic_store_explicit(&a->word, value, memory_order_release);
}

static inline void hr_atom32_store_relaxed(struct hr_atom32 *a, uint32_t value)
{
    atomic_store_explicit(&a->word, value, memory_order_relaxed);
}

static inline uint32_t hr_atom32_fetch_add_release(struct hr_atom32 *a, uint32_t value)
{
    return atomic_fetch_add_explicit(&a->word, value, memory_order_release);
}

static inline uint32_t hr_atom32_fetch_add_acq_rel(struct hr_atom32 *a, uint32_t value)
{
    return atomic_fetch_add_explicit(&a->word, value, memory_order_acq_rel);
}

static inline uint32_t hr_atom32_fetch_or_acquire(struct hr_atom32 *a, uint32_t bits)
{
    return atomic_fetch_or_explicit(&a->word, bits, memory_order_acquire);
}

static inline uint32_t hr_atom32_fetch_and_relaxed(struct hr_atom32 *a, uint32_t bits)
{
    return atomic_fetch_and_explicit(&a->word, bits, memory_order_relaxed);
}

/* 1 when the word was `expected` and now is `desired`. */
static inline int hr_atom32_replace_relaxed(struct hr_atom32 *a, uint32_t expected,
                                            uint32_t desired)
{
    return atomic_compare_exchange_strong_explicit(&a->word, &expected, desired,
                                                   memory_order_relaxed, memory_order_relaxed);
}

static inline int hr_atom32_replace_acq_rel(struct hr_atom32 *a, uint32_t expected,
                                            uint32_t desired)
{
    return atomic_compare_exchange_strong_explicit(&a->word, &expected, desired,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static inline int hr_atom64_replace_acq_rel(struct hr_atom64 *a, uint64_t expected,
                                            uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&a->word, &expected, desired,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static inline uint64_t hr_atom64_load_acquire(const struct hr_atom64 *a)
{
    return atomic_load_explicit(&a->word, memory_order_acquire);
}

static inline uint64_t hr_atom64_load_relaxed(const struct hr_atom64 *a)
{
    return atomic_load_explicit(&a->word, memory_order_relaxed);
}

static inline void hr_atom64_store_release(struct hr_atom64 *a, uint64_t value)
{
    atomic_store_explicit(&a->word, value, memory_order_release);
}

static inline void hr_atom64_store_relaxed(struct hr_atom64 *a, uint64_t value)
{
    atomic_store_explicit(&a->word, value, memory_order_relaxed);
}

static inline uint64_t hr_atom64_fetch_add_acq_rel(struct hr_atom64 *a, uint64_t value)
{
    return atomic_fetch_add_explicit(&a->word, value, memory_order_acq_rel);
}

static inline uint64_t hr_atom64_fetch_add_relaxed(struct hr_atom64 *a, uint64_t value)
{
    return atomic_fetch_add_explicit(&a->word, value, memory_order_relaxed);
}

/* A rank may die between any two instructions, and others then read what it left. What stands
 * before this is stored before what stands after it, also where both are plain: the compiler keeps
 * the order, and of a thread that is no more the machine has carried out all stores up to one. */
static inline void hr_fence_of_death(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

/* Hogwild's race, in one place: two neighbouring weights are read, or written, as one 64-bit word,
 * relaxed. A weight is never torn; an update that another worker writes between our load and our
 * store is lost, which is what Hogwild means. */
struct hr_float_pair {
    float first, second;
};

static inline struct hr_float_pair hr_hogwild_load_relaxed(const struct hr_atom64 *a)
{
    const uint64_t bits = atomic_load_explicit(&a->word, memory_order_relaxed);
    struct hr_float_pair pair;
    memcpy(&pair, &bits, sizeof pair);
    return pair;
}

static inline void hr_hogwild_store_relaxed(struct hr_atom64 *a, struct hr_float_pair pair)
{
    uint64_t bits;
    memcpy(&bits, &pair, sizeof bits);
    atomic_store_explicit(&a->word, bits, memory_order_relaxed);
}

/* The same store; returns what it overwrote. */
static inline struct hr_float_pair hr_hogwild_exchange_relaxed(struct hr_atom64 *a,
                                                               struct hr_float_pair pair)
{
    uint64_t bits;
    memcpy(&bits, &pair, sizeof bits);
    bits = atomic_exchange_explicit(&a->word, bits, memory_order_relaxed);
    memcpy(&pair, &bits, sizeof pair);
    return pair;
}

/* The same for one weight, where neighbours are not wanted: sparse rows. */
static inline float hr_hogwild_load_float_relaxed(const struct hr_atom32 *a)
{
    const uint32_t bits = atomic_load_explicit(&a->word, memory_order_relaxed);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void hr_hogwild_store_float_relaxed(struct hr_atom32 *a, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    atomic_store_explicit(&a->word, bits, memory_order_relaxed);
}

/* The same store, to look at: 1 when it overwrote something else than `expected`, an update that is
 * lost. */
static inline int hr_hogwild_exchange_float_relaxed(struct hr_atom32 *a, float expected,
                                                    float value)
{
    uint32_t want, bits;
    memcpy(&want, &expected, sizeof want);
    memcpy(&bits, &value, sizeof bits);
    return atomic_exchange_explicit(&a->word, bits, memory_order_relaxed) != want;
}

#endif
