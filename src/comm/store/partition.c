#include "store/partition.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "plan/plan.h"
#include "shm/atom.h"

/* Move a boundary at element `at` to the end of a small key that it would split. */
static size_t resolve(const struct hr_store_key *keys, size_t nkeys, size_t at)
{
    size_t begin = 0, k = 0;
    while (k < nkeys && begin + keys[k].count <= at)
        begin += keys[k++].count;
    if (k == nkeys || keys[k].count > HR_STORE_SMALL)
        return at;
    const size_t left = at - begin, right = begin + keys[k].count - at;
    return left > 0 && left >= right ? at + right : begin;
}

/* Stripe s is [begin[s], begin[s + 1]) of all elements. */
static void find_stripes(const struct hr_partition *p, const struct hr_store_key *keys,
                         size_t *begin)
{
    size_t total = 0;
    for (size_t k = 0; k < p->nkeys; k++)
        total += keys[k].count;
    for (size_t s = 0; s <= p->nshards; s++)
        begin[s] =
            resolve(keys, p->nkeys, hr_chunk_begin(total, HR_LINE / sizeof(float), p->nshards, s));
}

static void add_parts(struct hr_partition *p, const struct hr_store_key *keys, const size_t *begin)
{
    size_t k = 0, key_begin = 0;
    for (size_t s = 0; s < p->nshards; s++) {
        p->of_shard[s] = p->nparts;
        for (size_t at = begin[s], end; at < begin[s + 1]; at = end) {
            const size_t key_end = key_begin + keys[k].count;
            if (at == key_begin)
                p->of_key[k] = p->nparts;
            end = hr_min_size(key_end, begin[s + 1]);
            p->part[p->nparts++] = (struct hr_part){k, s, at - key_begin, end - at};
            if (end == key_end) {
                key_begin = key_end;
                k++;
            }
        }
    }
    p->of_key[p->nkeys] = p->of_shard[p->nshards] = p->nparts;
}

enum hr_status hr_partition_make(struct hr_partition *p, const struct hr_store_key *keys,
                                 size_t nkeys, size_t nshards)
{
    *p = (struct hr_partition){.nkeys = nkeys, .nshards = nshards};
    p->part = calloc(nkeys + nshards, sizeof *p->part); /* a cut makes one part more */
    p->of_key = calloc(nkeys + 1, sizeof *p->of_key);
    p->of_shard = calloc(nshards + 1, sizeof *p->of_shard);
    size_t *begin = calloc(nshards + 1, sizeof *begin);
    const bool taken = p->part && p->of_key && p->of_shard && begin;
    if (taken) {
        find_stripes(p, keys, begin);
        add_parts(p, keys, begin);
    } else {
        hr_partition_fini(p);
    }
    free(begin);
    return taken ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to spread %zu keys", nkeys);
}

void hr_partition_fini(struct hr_partition *p)
{
    free(p->part);
    free(p->of_key);
    free(p->of_shard);
    *p = (struct hr_partition){0};
}

size_t hr_partition_elems(const struct hr_partition *p, size_t shard)
{
    size_t elems = 0;
    for (size_t i = p->of_shard[shard]; i < p->of_shard[shard + 1]; i++)
        elems += p->part[i].count;
    return elems;
}

/* Append to a text of `size` bytes, as far as there is room; `used` becomes the new length. */
#define APPEND(...)                                                                                \
    used += (size_t)snprintf(used < size ? text + used : NULL, used < size ? size - used : 0,      \
                             __VA_ARGS__)

static size_t append_bytes(char *text, size_t size, size_t used, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1024 && unit < 3; unit++)
        amount /= 1024;
    APPEND(unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return used;
}

void hr_partition_balance(const struct hr_partition *p, char *text, size_t size)
{
    size_t used = 0, largest = 0, total = 0;
    APPEND("%zu shard%s:", p->nshards, p->nshards == 1 ? "" : "s");
    for (size_t s = 0; s < p->nshards; s++) {
        const size_t elems = hr_partition_elems(p, s);
        total += elems;
        largest = elems > largest ? elems : largest;
        APPEND(s ? ", " : " ");
        used = append_bytes(text, size, used, elems * sizeof(float));
    }
    APPEND("; largest / mean %.2f", (double)largest * (double)p->nshards / (double)total);
}
