/* The options of how gradients travel, a row each (option.h says what stands in one). */
#include <stddef.h>

#include "compress/compress.h"
#include "options/train_checks.h"
#include "options/train_row.h"

static const char *compressor_at(size_t i)
{
    const struct hr_compressor *compressor = hr_compressor_at(i);
    return compressor ? compressor->example : NULL;
}

const struct hr_option hr_gradient_rows[HR_GRADIENT_ROWS] = {
    ROW("overlap", TEXT, overlap, DECIDES, "on|off", "off",
        "gradients leave in buckets while backward computes the rest: to be summed, or, in virtual "
        "time and between machines, on their way to servers",
        CHOICE(overlap, HR_OVERLAPS), .commands = BOTH | HR_FORECAST),
    ROW("bucket-size", TEXT, bucket_size, DECIDES, "BYTES", "256K",
        "that a bucket has at least; it ends where a layer does", .with = {{"overlap", "on"}}),
    ROW("transport", TEXT, transport, AROUND, "HOW", "auto",
        "zero-copy: peers read gradients in place; copy: they go through the rings; auto: copy "
        "where "
        "--link emulates links between them",
        CHOICE(transport, HR_TRANSPORTS), .with = {{"clock", "real"}}, .between_ranks = true),
    ROW("compress", TEXT, compress, DECIDES, "HOW", NULL,
        "gradients on their way, of gossip weights, for slow links, with error feedback (hogring "
        "help compress): ",
        .name_at = compressor_at, .said = "none",
        .otherwise = "elsewhere weights travel, and nobody keeps public copies of them, or "
                     "nothing does",
        .between_ranks = true, .check = hr_check_compress, .commands = BOTH | HR_BENCH_TRAIN),
    ROW("consensus-step", NUMBER, consensus_step, DECIDES, "GAMMA", NULL,
        "gossip with --compress: share of the way to the neighbours' public copies in a step",
        .said = "1; topk:P%: sqrt(P / 100)", RANGE(0, 1), .between_ranks = true,
        .needs = {"compress", "of what?"}),
    ROW("link", TEXT, link, AROUND, "BANDWIDTH,LATENCY", NULL,
        "1GB/s,5us; real clock: a link of its own between any two workers (emulated: transport "
        "copy); virtual: one each, to a switch (a star)",
        .with = {{"schedule", "free"}}, .between_ranks = true, .or_stages = true,
        .commands = BOTH | HR_FORECAST),
};
