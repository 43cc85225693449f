#include "machines/twin.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

enum { BLOCK = 4096, PAD = 8 };

/* Before the bytes of a packed run. */
struct label {
    uint64_t offset, bytes;
};

size_t hr_twin_bytes(const struct hr_area *area, size_t nareas)
{
    size_t bytes = 0;
    for (size_t i = 0; i < nareas; i++)
        bytes += area[i].bytes;
    return bytes;
}

enum hr_status hr_twin_open(unsigned char *segment, const struct hr_area *area, size_t nareas,
                            struct hr_twin *out)
{
    struct hr_twin *twin = out;
    size_t used = 0;
    *twin = (struct hr_twin){.segment = segment, .nareas = nareas};
    twin->area = malloc(nareas * sizeof *area + 1);
    twin->at = malloc(nareas * sizeof *twin->at + 1);
    twin->copy = malloc(hr_twin_bytes(area, nareas) + 1);
    if (!twin->area || !twin->at || !twin->copy)
        return hr_fail(HR_E_NOMEM, "no memory for a copy of %zu KiB that machines share",
                       hr_twin_bytes(area, nareas) / 1024);
    for (size_t i = 0; i < nareas; i++) {
        HR_ASSERT(!i || area[i - 1].offset + area[i - 1].bytes <= area[i].offset);
        twin->area[i] = area[i];
        twin->at[i] = used;
        memcpy(twin->copy + used, segment + area[i].offset, area[i].bytes);
        used += area[i].bytes;
    }
    return HR_OK;
}

void hr_twin_close(struct hr_twin *twin)
{
    free(twin->area);
    free(twin->at);
    free(twin->copy);
    free(twin->run);
    *twin = (struct hr_twin){0};
}

/* --- compared --- */

/* One unit more: behind the last run, or the beginning of another. */
static enum hr_status add_unit(struct hr_twin *twin, const struct hr_area *area, size_t offset,
                               size_t bytes)
{
    struct hr_changed_run *last = twin->nruns ? &twin->run[twin->nruns - 1] : NULL;
    if (last && last->offset + last->bytes == offset && last->for_first == area->for_first &&
        last->offset >= area->offset) {
        last->bytes += bytes;
        return HR_OK;
    }
    if (twin->nruns == twin->room) {
        const size_t room = twin->room ? 2 * twin->room : 64;
        struct hr_changed_run *run = realloc(twin->run, room * sizeof *run);
        if (!run)
            return hr_fail(HR_E_NOMEM, "no memory for %zu changes that machines share", room);
        twin->run = run;
        twin->room = room;
    }
    twin->run[twin->nruns++] = (struct hr_changed_run){offset, bytes, area->for_first};
    return HR_OK;
}

/* Of a block that differs. */
static enum hr_status find_units(struct hr_twin *twin, size_t i, size_t begin, size_t end)
{
    const struct hr_area *area = &twin->area[i];
    for (size_t at = begin; at < end; at += area->unit) {
        const size_t bytes = hr_min_size(area->unit, end - at), offset = area->offset + at;
        if (memcmp(twin->segment + offset, twin->copy + twin->at[i] + at, bytes) != 0)
            HR_TRY(add_unit(twin, area, offset, bytes));
    }
    return HR_OK;
}

static bool is_compared(const struct hr_area *area, unsigned stage)
{
    return !area->stages || area->stages >> stage & 1;
}

enum hr_status hr_twin_find(struct hr_twin *twin, unsigned stage)
{
    twin->nruns = 0;
    for (size_t i = 0; i < twin->nareas; i++) {
        const struct hr_area *area = &twin->area[i];
        for (size_t at = 0; is_compared(area, stage) && at < area->bytes; at += BLOCK) {
            const size_t bytes = hr_min_size(BLOCK, area->bytes - at);
            if (memcmp(twin->segment + area->offset + at, twin->copy + twin->at[i] + at, bytes) !=
                0)
                HR_TRY(find_units(twin, i, at, at + bytes));
        }
    }
    return HR_OK;
}

enum hr_status hr_twin_take(struct hr_twin *twin, unsigned stage)
{
    twin->nruns = 0;
    for (size_t i = 0; i < twin->nareas; i++) {
        struct hr_area area = twin->area[i];
        area.for_first = false;
        if (is_compared(&area, stage))
            HR_TRY(add_unit(twin, &area, area.offset, area.bytes));
    }
    return HR_OK;
}

/* The area in which these bytes lie; nareas: none. */
static size_t area_of(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    size_t low = 0, high = twin->nareas;
    while (low < high) { /* the last that begins at or before offset */
        const size_t middle = (low + high) / 2;
        if (twin->area[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return twin->nareas;
    const struct hr_area *area = &twin->area[low - 1];
    const size_t inside = offset - area->offset;
    return inside <= area->bytes && bytes <= area->bytes - inside ? low - 1 : twin->nareas;
}

bool hr_twin_has(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    return area_of(twin, offset, bytes) < twin->nareas;
}

void hr_twin_keep(const struct hr_twin *twin, size_t offset, size_t bytes)
{
    const size_t i = area_of(twin, offset, bytes);
    HR_ASSERT(i < twin->nareas);
    memcpy(twin->copy + twin->at[i] + (offset - twin->area[i].offset), twin->segment + offset,
           bytes);
}

/* --- packed --- */

static bool goes_packed(const struct hr_changed_run *run, bool to_first)
{
    return !hr_run_is_large(run) && (to_first || !run->for_first);
}

size_t hr_twin_packed_bytes(const struct hr_twin *twin, bool to_first)
{
    size_t bytes = 0;
    for (size_t i = 0; i < twin->nruns; i++)
        if (goes_packed(&twin->run[i], to_first))
            bytes += sizeof(struct label) + hr_round_up(twin->run[i].bytes, PAD);
    return bytes;
}

void hr_twin_pack(const struct hr_twin *twin, bool to_first, unsigned char *to)
{
    for (size_t i = 0; i < twin->nruns; i++) {
        const struct hr_changed_run *run = &twin->run[i];
        const struct label label = {run->offset, run->bytes};
        const size_t padded = hr_round_up(run->bytes, PAD);
        if (!goes_packed(run, to_first))
            continue;
        memcpy(to, &label, sizeof label);
        memcpy(to + sizeof label, twin->segment + run->offset, run->bytes);
        memset(to + sizeof label + run->bytes, 0, padded - run->bytes);
        to += sizeof label + padded;
    }
}

/* Some bytes of a word, in one store. */
static void merge(struct hr_atom64 *word, size_t at, const unsigned char *from, size_t bytes)
{
    uint64_t old, merged;
    do {
        merged = old = hr_atom64_load_relaxed(word);
        memcpy((unsigned char *)&merged + at, from, bytes);
    } while (!hr_atom64_replace_acq_rel(word, old, merged)); /* partner: who looks on */
}

/* A launcher looks at words while its ranks are at rest: it never sees half of one. */
static void put(unsigned char *segment, size_t offset, const unsigned char *from, size_t bytes)
{
    for (size_t n; bytes; offset += n, from += n, bytes -= n) {
        const size_t at = offset % sizeof(struct hr_atom64);
        n = hr_min_size(bytes, sizeof(struct hr_atom64) - at);
        merge((struct hr_atom64 *)(void *)(segment + offset - at), at, from, n);
    }
}

enum hr_status hr_twin_unpack(const struct hr_twin *twin, const unsigned char *packed, size_t bytes)
{
    struct label label;
    for (size_t at = 0; at < bytes; at += hr_round_up(label.bytes, PAD)) {
        if (bytes - at < sizeof label)
            return hr_fail(HR_E_FORMAT, "%zu bytes that machines share are torn", bytes);
        memcpy(&label, packed + at, sizeof label);
        at += sizeof label;
        if (label.bytes > bytes - at || !hr_twin_has(twin, label.offset, label.bytes))
            return hr_fail(HR_E_FORMAT,
                           "%zu bytes at %zu are not what machines share: are both of the same "
                           "version?",
                           (size_t)label.bytes, (size_t)label.offset);
        put(twin->segment, label.offset, packed + at, label.bytes);
        hr_twin_keep(twin, label.offset, label.bytes);
    }
    return HR_OK;
}
