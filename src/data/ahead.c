#include "data/ahead.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/size.h"
#include "data/format.h"

enum { PIECE_BYTES = 1 << 20 }; /* asked for at a time: large pieces are read at a disk's speed */

/* The training samples' features, of the whole file. */
struct mapped {
    const unsigned char *base;
    size_t bytes, sample; /* of all, of one */
};

static struct mapped features_of(const struct hr_dataset *dataset)
{
    const struct hr_storage *storage = dataset->storage;
    const struct hr_table *train = &storage->train;
    const bool bytes = dataset->features == HR_FEATURES_BYTES;
    const struct hr_tokens *tokens = &dataset->tokens;
    if (tokens->context)
        return (struct mapped){.base = (const unsigned char *)tokens->ids +
                                       train->first * tokens->width,
                               .bytes = (train->end - train->first) * tokens->width,
                               .sample = tokens->context * tokens->width};
    const size_t sample = hr_shape_elems(dataset->shape) * (bytes ? 1 : sizeof *train->values);
    return (struct mapped){.base = bytes ? train->pixels : (const void *)train->values,
                           .bytes = train->count * sample,
                           .sample = sample};
}

bool hr_ahead_may_ask(const struct hr_dataset *dataset)
{
    const struct hr_storage *storage = dataset->storage;
    return storage && (storage->map || storage->train.map) &&
           dataset->features != HR_FEATURES_SPARSE;
}

bool hr_ahead_is_too_large(const struct hr_dataset *dataset)
{
    return hr_ahead_may_ask(dataset) && features_of(dataset).bytes > hr_memory_there_is().bytes;
}

size_t hr_ahead_largest_window(const struct hr_dataset *dataset)
{
    const size_t fit = hr_memory_there_is().bytes / 2 / features_of(dataset).sample;
    return fit ? fit : 1;
}

/* Bytes [begin, end) of the features. */
static void advise(const struct mapped *features, size_t begin, size_t end, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)features->base + begin) / page * page;
    const uintptr_t to = (uintptr_t)features->base + hr_min_size(end, features->bytes);
    const int before = errno;
    if (from < to)
        (void)madvise((void *)from, to - from, advice);
    errno = before;
}

void hr_ahead_expect_scattered(const struct hr_dataset *dataset)
{
    if (!hr_ahead_may_ask(dataset))
        return;
    const struct mapped features = features_of(dataset);
    advise(&features, 0, features.bytes, MADV_RANDOM);
}

/* Rows [first, first + count) of the file, in whole pieces. */
static void ask_for_rows(const struct mapped *features, size_t first, size_t count, bool begins)
{
    const size_t begin = first * features->sample, end = begin + count * features->sample;
    const size_t from = begins ? begin : hr_round_up(begin, PIECE_BYTES);
    if (from < end)
        advise(features, from, hr_round_up(end, PIECE_BYTES), MADV_WILLNEED);
}

void hr_ahead_ask(const struct hr_dataset *dataset, const struct hr_split *split, size_t first,
                  size_t count, bool begins)
{
    if (!hr_ahead_may_ask(dataset))
        return;
    const struct mapped features = features_of(dataset);
    while (count > 0) {
        const size_t here = hr_min_size(count, split->count - first);
        const size_t row = hr_split_row(split, first);
        ask_for_rows(&features, row, hr_split_row(split, first + here - 1) - row + 1, begins);
        count -= here;
        first = 0;
        begins = true;
    }
}

void hr_ahead_ask_one(const struct hr_dataset *dataset, const struct hr_split *split, size_t sample)
{
    if (!hr_ahead_may_ask(dataset))
        return;
    const struct mapped features = features_of(dataset);
    const size_t begin = hr_split_row(split, sample) * features.sample;
    advise(&features, begin, begin + features.sample, MADV_WILLNEED);
}
