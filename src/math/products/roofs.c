#include "products/roofs.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/median.h"
#include "base/size.h"
#include "base/vec.h"
#include "kernels/select.h"
#include "kernels/team.h"
#include "products/gemm.h"

/* --- judging --- */

const char *hr_level_name(enum hr_level level)
{
    static const char *const names[HR_LEVELS] = {"L1", "L2", "L3", "DRAM"};
    return names[level];
}

const char *hr_bound_name(enum hr_bound bound)
{
    static const char *const names[HR_BOUNDS] = {"compute", "memory", "overhead"};
    return names[bound];
}

double hr_roofs_flops(const struct hr_roofs *roofs)
{
    return fmax(roofs->blas_flops, roofs->tile_flops);
}

const char *hr_roofs_flops_source(const struct hr_roofs *roofs)
{
    return roofs->blas_flops > roofs->tile_flops ? "OpenBLAS" : "register tile";
}

double hr_roofs_flops_spread(const struct hr_roofs *roofs)
{
    return roofs->blas_flops > roofs->tile_flops ? roofs->blas_spread : roofs->tile_spread;
}

bool hr_roofs_is_share(double of_roof, double spread)
{
    return spread <= HR_ROOF_MOST_SPREAD && of_roof <= 1;
}

enum hr_level hr_roofs_level(const struct hr_roofs *roofs, double bytes)
{
    const double each = bytes / (double)roofs->threads;
    for (enum hr_level level = HR_LEVEL_L1; level < HR_LEVEL_MEMORY; level++)
        if ((level == HR_LEVEL_L3 ? bytes : each) <= roofs->level_bytes[level])
            return level;
    return HR_LEVEL_MEMORY;
}

struct hr_judgement hr_roofs_judge(const struct hr_roofs *roofs, struct hr_work work,
                                   double seconds)
{
    struct hr_judgement j = {.flops = 2 * work.madds / seconds,
                             .bytes_per_s = work.bytes / seconds,
                             .level = hr_roofs_level(roofs, work.bytes)};
    j.of_compute = j.flops / hr_roofs_flops(roofs);
    j.of_memory = j.bytes_per_s / roofs->bytes_per_s[j.level];
    j.bound = fmax(j.of_compute, j.of_memory) < HR_OVERHEAD_SHARE ? HR_BOUND_OVERHEAD
              : j.of_compute >= j.of_memory                       ? HR_BOUND_COMPUTE
                                                                  : HR_BOUND_MEMORY;
    return j;
}

/* --- measuring --- */

#define TILE_SECONDS 5e-3
enum { GEMM = 1024, SWEPT_BYTES = 16 << 20 };
enum { BLAS = HR_LEVELS, TILE, ROOFS }; /* behind the levels, in `rates` */

struct hr_roof_meter {
    enum hr_roof_kind kind;
    size_t threads, rounds, done;
    double *rates[ROOFS];          /* (rounds) each */
    size_t sweep_bytes[HR_LEVELS]; /* of one thread, to stay in that level; 0: none */
    double level_bytes[HR_LEVELS];
    size_t stream_floats;   /* a thread's, of `stream` */
    float *stream;          /* (threads, stream_floats) */
    float *a, *b, *c;       /* (threads, GEMM, GEMM) each, or NULL */
    enum hr_level level;    /* swept now */
    unsigned char *scratch; /* (threads, scratch_bytes) of hr_gemm, or NULL */
    size_t scratch_bytes;
    struct hr_arena arena;
};

/* Half of L1 or L2; a quarter of L3, which threads share; for DRAM more than L3. */
static void choose_levels(struct hr_roof_meter *meter)
{
    const size_t l1 = hr_cpus_cache_bytes(1), l2 = hr_cpus_cache_bytes(2),
                 l3 = hr_cpus_cache_bytes(3), least = (size_t)64 << 20;
    const size_t room = 2 * l3 > least ? 2 * l3 : least;
    meter->sweep_bytes[HR_LEVEL_L1] = l1 / 2;
    meter->sweep_bytes[HR_LEVEL_L2] = l2 / 2;
    meter->sweep_bytes[HR_LEVEL_L3] = l3 / 4 / meter->threads > l2 ? l3 / 4 / meter->threads : 0;
    meter->sweep_bytes[HR_LEVEL_MEMORY] = hr_round_up(room / meter->threads, 4096);
    meter->level_bytes[HR_LEVEL_L1] = (double)l1;
    meter->level_bytes[HR_LEVEL_L2] = (double)l2;
    meter->level_bytes[HR_LEVEL_L3] = meter->sweep_bytes[HR_LEVEL_L3] ? (double)l3 : 0;
    meter->level_bytes[HR_LEVEL_MEMORY] = INFINITY;
    meter->stream_floats = meter->sweep_bytes[HR_LEVEL_MEMORY] / sizeof(float);
}

static float *take_ones(struct hr_arena *arena, size_t count)
{
    float *x = hr_arena_take(arena, count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = 1.0f;
    return x;
}

/* OpenBLAS, where products are its, multiplies float32 alone. */
static bool has_blas(const struct hr_roof_meter *meter)
{
    return meter->kind == HR_ROOF_FLOAT32 && hr_kernels_use_blas();
}

static enum hr_status take_memory(struct hr_roof_meter *meter)
{
    const bool blas = has_blas(meter);
    const size_t t = meter->threads, square = blas ? t * GEMM * GEMM : 0;
    meter->scratch_bytes = blas ? hr_round_up(hr_gemm_scratch_bytes(GEMM, 1), HR_ARENA_ALIGN) : 0;
    const size_t stream = t * meter->stream_floats;
    HR_TRY(hr_arena_init(&meter->arena, hr_arena_need(stream * sizeof(float)) +
                                            3 * hr_arena_need(square * sizeof(float)) +
                                            hr_arena_need(t * meter->scratch_bytes) +
                                            ROOFS * hr_arena_need(meter->rounds * sizeof(double))));
    meter->stream = take_ones(&meter->arena, stream);
    meter->a = take_ones(&meter->arena, square);
    meter->b = take_ones(&meter->arena, square);
    meter->c = take_ones(&meter->arena, square);
    meter->scratch = hr_arena_take(&meter->arena, t * meter->scratch_bytes);
    for (size_t i = 0; i < ROOFS; i++)
        meter->rates[i] = hr_arena_take(&meter->arena, meter->rounds * sizeof(double));
    return HR_OK;
}

enum hr_status hr_roof_meter_create(enum hr_roof_kind kind, size_t threads, size_t rounds,
                                    struct hr_roof_meter **out)
{
    struct hr_roof_meter *meter = calloc(1, sizeof *meter);
    if (!meter)
        return hr_fail(HR_E_NOMEM, "no memory to measure the machine in");
    meter->kind = kind;
    meter->threads = threads;
    meter->rounds = rounds;
    choose_levels(meter);
    const enum hr_status status = take_memory(meter);
    if (status != HR_OK) {
        free(meter);
        return hr_fail_within(status, "measuring the machine");
    }
    *out = meter;
    return HR_OK;
}

void hr_roof_meter_destroy(struct hr_roof_meter *meter)
{
    if (!meter)
        return;
    hr_arena_fini(&meter->arena);
    free(meter);
}

/* Whole sweeps over a thread's buffer that are long enough to be timed. */
static size_t sweeps(size_t bytes)
{
    return (SWEPT_BYTES + bytes - 1) / bytes;
}

static void sweep(void *arg, size_t task, size_t thread)
{
    const struct hr_roof_meter *meter = arg;
    const size_t bytes = meter->sweep_bytes[meter->level];
    float *x = meter->stream + task * meter->stream_floats;
    (void)thread;
    for (size_t i = 0; i < sweeps(bytes); i++)
        hr_vec()->scale(x, 1.0f, bytes / sizeof *x);
}

static void multiply(void *arg, size_t task, size_t thread)
{
    const struct hr_roof_meter *meter = arg;
    const size_t at = task * GEMM * GEMM;
    (void)thread;
    const struct hr_gemm gemm = {.form = HR_GEMM_TN,
                                 .M = GEMM,
                                 .N = GEMM,
                                 .K = GEMM,
                                 .a = meter->a + at,
                                 .b = meter->b + at,
                                 .c = meter->c + at,
                                 .scratch = meter->scratch + task * meter->scratch_bytes,
                                 .threads = 1};
    hr_gemm(&gemm);
}

/* What all threads together did in a second; `each` is one thread's part. */
static double rate(struct hr_roof_meter *meter, hr_team_fn fn, double each)
{
    const int64_t began = hr_clock_ns();
    hr_team_run(meter->threads, meter->threads, fn, meter);
    return (double)meter->threads * each / hr_seconds(hr_clock_ns() - began);
}

void hr_roof_meter_round(struct hr_roof_meter *meter)
{
    const size_t k = meter->done++;
    HR_ASSERT(k < meter->rounds);
    for (enum hr_level level = 0; level < HR_LEVELS; level++) {
        const size_t bytes = meter->sweep_bytes[level];
        meter->level = level;
        if (bytes && level < HR_LEVEL_MEMORY) /* measuring the level before has evicted it */
            hr_team_run(meter->threads, meter->threads, sweep, meter);
        if (bytes)
            meter->rates[level][k] = rate(meter, sweep, 2.0 * (double)(sweeps(bytes) * bytes));
    }
    if (has_blas(meter))
        meter->rates[BLAS][k] = rate(meter, multiply, 2.0 * GEMM * GEMM * GEMM);
    meter->rates[TILE][k] = hr_tile_roof(meter->kind, meter->threads, TILE_SECONDS);
}

struct hr_roofs hr_roof_meter_read(struct hr_roof_meter *meter)
{
    const struct hr_middle blas = hr_middle(meter->rates[BLAS], meter->done),
                           tile = hr_middle(meter->rates[TILE], meter->done);
    struct hr_roofs roofs = {.kind = meter->kind,
                             .threads = meter->threads,
                             .blas_flops = blas.median,
                             .tile_flops = tile.median,
                             .blas_spread = blas.median > 0 ? hr_middle_spread(blas) : 0,
                             .tile_spread = hr_middle_spread(tile)};
    struct hr_middle farther = {0};
    for (int level = HR_LEVEL_MEMORY; level >= 0; level--) { /* nearer levels are never slower */
        const struct hr_middle own = hr_middle(meter->rates[level], meter->done);
        farther = own.median > farther.median ? own : farther;
        roofs.bytes_per_s[level] = farther.median;
        roofs.level_bytes[level] = meter->level_bytes[level];
        roofs.level_spread[level] = hr_middle_spread(farther);
    }
    return roofs;
}
