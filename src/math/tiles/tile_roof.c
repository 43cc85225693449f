#include "tiles/tile_roof.h"

#include <stdalign.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fpenv.h"
#include "kernels/bf16.h"
#include "kernels/team.h"
#include "tiles/micro.h"
#include "tiles/micro_amx.h"
#include "tiles/micro_bf16.h"

/* A batch of tiles is timed in tens of microseconds, far less than a window. */
enum { PANEL_FLOATS = 4096, PAIRS = 128, BATCH = 50 };

#define ONES 0x3f803f80u /* two of bfloat16 */

/* A thread's. What a tile of either kind touches stays in L1. */
struct panels {
    alignas(128) float values[3 * PANEL_FLOATS];                                        /* ones */
    alignas(128) uint32_t of_a[PAIRS * HR_BF16_COLUMNS], of_b[PAIRS * HR_BF16_COLUMNS]; /* pairs */
};

struct window {
    enum hr_roof_kind kind;
    int64_t until;
    struct {
        alignas(128) double operations;
        int64_t ended;
    } done[HR_TEAM_MAX];
};

/* --- what is multiplied: each does a batch, and says how many operations that was --- */

static double multiply_float32(struct panels *panels)
{
    float *values = panels->values;
    const size_t columns = hr_tiles()->columns, K = PANEL_FLOATS / columns;
    struct hr_micro micro = {.K = K,
                             .a_step = HR_MICRO_ROWS,
                             .b = values,
                             .b_stride = columns,
                             .rows = HR_MICRO_ROWS,
                             .columns = columns,
                             .c = values + 2 * PANEL_FLOATS,
                             .c_stride = columns};
    for (size_t i = 0; i < HR_MICRO_ROWS; i++)
        micro.a[i] = values + PANEL_FLOATS + i;
    for (int i = 0; i < BATCH; i++)
        hr_tiles()->tile(&micro);
    return 2.0 * BATCH * HR_MICRO_ROWS * (double)(columns * K);
}

/* Two tiles by two, of two panels each. */
static double multiply_as_amx(struct panels *panels)
{
    enum { TILE = HR_AMX_ROWS * HR_AMX_PAIRS, CHUNKS = PAIRS / HR_AMX_PAIRS };
    struct hr_amx amx = {.rows = HR_AMX_ROWS,
                         .pairs = HR_AMX_PAIRS,
                         .chunks = CHUNKS,
                         .a_next = TILE,
                         .b_next = TILE,
                         .a_row = HR_AMX_PAIRS,
                         .b_row = HR_AMX_COLUMNS,
                         .c_row = HR_AMX_COLUMNS};
    for (size_t i = 0; i < HR_AMX_TILES; i++) {
        amx.a[i] = panels->of_a + i % 2 * CHUNKS * TILE;
        amx.b[i] = panels->of_b + i % 2 * CHUNKS * TILE;
        amx.c[i] = panels->values + i * TILE;
    }
    hr_tiles_amx()->begin(&amx);
    for (int i = 0; i < BATCH; i++)
        hr_tiles_amx()->multiply(&amx);
    hr_tiles_amx()->end();
    return 2.0 * BATCH * HR_AMX_TILES * CHUNKS * TILE * 2 * HR_AMX_COLUMNS;
}

static double multiply_bfloat16(struct panels *panels)
{
    if (hr_bf16_sums_as_amx())
        return multiply_as_amx(panels);
    if (hr_bf16_as_floats())
        return multiply_float32(panels);
    const struct hr_micro_bf16 micro = {.K = PAIRS,
                                        .b = panels->of_b,
                                        .columns = HR_BF16_COLUMNS,
                                        .c = panels->values,
                                        .c_stride = HR_BF16_COLUMNS};
    for (int i = 0; i < BATCH; i++)
        hr_tiles_bf16()->tile(&micro, panels->of_a, HR_BF16_ROWS);
    return 2.0 * BATCH * HR_BF16_ROWS * HR_BF16_COLUMNS * 2 * PAIRS;
}

static const struct {
    const char *name;
    double (*multiply)(struct panels *panels);
} kinds[HR_ROOF_KINDS] = {
    [HR_ROOF_FLOAT32] = {"float32", multiply_float32},
    [HR_ROOF_BFLOAT16] = {"bfloat16", multiply_bfloat16},
};

const char *hr_roof_kind_name(enum hr_roof_kind kind)
{
    return kinds[kind].name;
}

/* --- all threads at once --- */

static void fill(void *arg, size_t task, size_t thread)
{
    struct window *window = arg;
    struct panels panels;
    (void)thread;
    hr_fp_flush_denormals();
    for (size_t i = 0; i < 3 * PANEL_FLOATS; i++)
        panels.values[i] = 1.0f;
    for (size_t i = 0; i < PAIRS * HR_BF16_COLUMNS; i++)
        panels.of_a[i] = panels.of_b[i] = ONES;
    double operations = 0;
    int64_t now = hr_clock_ns();
    for (; now < window->until; now = hr_clock_ns())
        operations += kinds[window->kind].multiply(&panels);
    window->done[task].operations = operations;
    window->done[task].ended = now;
}

double hr_tile_roof(enum hr_roof_kind kind, size_t threads, double seconds)
{
    HR_ASSERT(threads >= 1 && threads <= HR_TEAM_MAX);
    struct window window = {.kind = kind};
    int64_t began = hr_clock_ns(), ended = 0;
    window.until = began + (int64_t)(0.2e9 * seconds);
    hr_team_run(threads, threads, fill, &window);
    began = hr_clock_ns();
    window.until = began + (int64_t)(1e9 * seconds);
    hr_team_run(threads, threads, fill, &window);
    double operations = 0;
    for (size_t i = 0; i < threads; i++) {
        operations += window.done[i].operations;
        if (window.done[i].operations > 0 && window.done[i].ended > ended)
            ended = window.done[i].ended;
    }
    return operations / hr_seconds(ended - began);
}
