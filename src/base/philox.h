/* philox.h - Philox4x32-10, a counter-based generator: random numbers as a pure function.
 *
 * Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The key is
 * (seed, stream), the counter says which number; nothing is stored, so the numbers depend neither
 * on the number of threads nor on what was drawn before.
 *
 * Test: tests/unit/base/test_philox.c holds the known answers of the authors' library.
 */
#ifndef HR_BASE_PHILOX_H
#define HR_BASE_PHILOX_H

#include <stdint.h>

/* What a number is for. Streams never share numbers. */
enum hr_random_stream {
    HR_STREAM_INIT = 1,     /* initial weights: counter = (tensor, element / 4) */
    HR_STREAM_SHUFFLE = 2,  /* order of samples: counter = (epoch, round) */
    HR_STREAM_SCHEDULE = 3, /* explored schedules: counter = (choice) */
    HR_STREAM_TEST = 4,
    HR_STREAM_NAME = 5,     /* random names of segments and temporary folders */
    HR_STREAM_AUGMENT = 6,  /* flips and crops: counter = (pass, sample) */
    HR_STREAM_DROPOUT = 7,  /* which units are kept: nn/dropout.c has a counter of its own */
    HR_STREAM_DELAY = 8,    /* durations of models: counter = (step, rank) */
    HR_STREAM_INJECT = 9,   /* steps that are slowed: counter = (step, rank and entry) */
    HR_STREAM_DROP = 10,    /* pushes that are lost: counter = (step, rank and attempt) */
    HR_STREAM_WRONG = 11,   /* which number goes wrong: counter = (step, rank) */
    HR_STREAM_DEATH = 12,   /* who dies in an explored schedule: counter = (event, kind) */
    HR_STREAM_VERIFY = 13,  /* what hogring verify tries: counter = (case and draw), check */
    HR_STREAM_LOST = 15,    /* hogwild's watched lines: counter = (push, worker) */
    HR_STREAM_FACTORS = 20, /* initial factors of mf: counter = (element / 4) */
    HR_STREAM_FACTORS_OF_GRADIENTS = 22, /* powersgd: counter = (element / 4), tensor and column */
    HR_STREAM_WINDOW = 16, /* order within windows: counter = (epoch), window and round */
    HR_STREAM_TOKEN = 24,  /* sampled tokens: counter = (token, sample) */
    HR_STREAM_TEXT = 23,   /* where windows of a text begin: counter = (pass) */
    HR_STREAM_SPARSE = 21, /* sparse rows made up: counter = (draw / 4, row) */
};

struct hr_philox {
    uint32_t v[4];
};

/* Ten rounds on counter (c0..c3) with key (k0, k1). */
struct hr_philox hr_philox4x32(struct hr_philox counter, uint32_t k0, uint32_t k1);

/* The four words of block `index` of number sequence `sequence` in a stream of a seed. Seeds of 64
 * bits are folded into key and counter without loss. */
struct hr_philox hr_random_block(uint64_t seed, enum hr_random_stream stream, uint64_t index,
                                 uint32_t sequence);

/* A float in [0, 1), a multiple of 2^-24. */
static inline float hr_random_unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

#endif
