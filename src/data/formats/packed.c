#include "formats/packed.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/size.h"
#include "formats/packed_layout.h"

/* Larger files are not read whole before they are used. */
enum { HR_PACKED_HASHED = 1 << 30 };

struct reader {
    const char *name;
    const uint8_t *memory;
    size_t bytes;
    struct hr_packed_header h;
    size_t elems;                          /* of a sample */
    const struct hr_data_options *options; /* NULL: nobody is asked */
};

/* --- the header */

static enum hr_status check_header(struct reader *r)
{
    const struct hr_packed_header *h = &r->h;
    static const char *const version = "%s: has version %u, expected 1 or 2";
    if (r->bytes < sizeof *h)
        return hr_fail(HR_E_FORMAT, "%s: has %zu bytes, expected a packed header of %zu", r->name,
                       r->bytes, sizeof *h);
    memcpy(&r->h, r->memory, sizeof r->h);
    if (memcmp(h->magic, HR_PACKED_MAGIC, sizeof h->magic) != 0)
        return hr_fail(HR_E_FORMAT, "%s: does not begin as packed data does (89 'HRP')", r->name);
    if (h->version != 1 && h->version != 2)
        return hr_fail(HR_E_FORMAT, version, r->name, h->version);
    if (XXH3_64bits(h, offsetof(struct hr_packed_header, xxh3)) != h->xxh3)
        return hr_fail(HR_E_FORMAT, "%s: the header is damaged: its XXH3-64 is another", r->name);
    if (memcmp(h->zeros, (uint8_t[sizeof h->zeros]){0}, sizeof h->zeros) != 0)
        return hr_fail(HR_E_FORMAT, "%s: bytes 304 to 503 are not 0: nothing is said there",
                       r->name);
    if (h->features > HR_FEATURES_SPARSE || !isfinite(h->scale))
        return hr_fail(HR_E_FORMAT,
                       "%s: features are of type %u, scale %g, expected 0 to 2 and a "
                       "finite scale",
                       r->name, h->features, (double)h->scale);
    if (h->version == 2)
        return h->targets >= 1 && h->targets <= HR_MAX_TARGETS && !h->classes
                   ? HR_OK
                   : hr_fail(HR_E_FORMAT, "%s: has %u targets, expected 1 to %d", r->name,
                             h->targets, HR_MAX_TARGETS);
    if (h->targets)
        return hr_fail(HR_E_FORMAT, "%s: bytes 52 to 55 are not 0", r->name);
    if (h->classes < 1 || h->classes > HR_MAX_CLASSES)
        return hr_fail(HR_E_FORMAT, "%s: has %llu classes, expected 1 to %d", r->name,
                       (unsigned long long)h->classes, HR_MAX_CLASSES);
    return HR_OK;
}

static enum hr_status check_counts(struct reader *r)
{
    const struct hr_packed_header *h = &r->h;
    r->elems = 1;
    for (int i = 0; i < 3; i++)
        if (!h->shape[i] || !hr_size_mul(r->elems, h->shape[i], &r->elems) ||
            r->elems > UINT32_MAX / 2)
            return hr_fail(HR_E_FORMAT,
                           "%s: samples of %llux%llux%llu, expected 1 to 2^31 - 1 "
                           "features",
                           r->name, (unsigned long long)h->shape[0],
                           (unsigned long long)h->shape[1], (unsigned long long)h->shape[2]);
    for (int i = 0; i < 2; i++)
        if (!h->counts[i] || h->counts[i] > UINT32_MAX / 2)
            return hr_fail(HR_E_FORMAT, "%s: has %llu samples, expected 1 to 2^31 - 1", r->name,
                           (unsigned long long)h->counts[i]);
    return HR_OK;
}

/* --- sections */

static size_t label_bytes(const struct hr_packed_header *h)
{
    return h->targets ? h->targets * sizeof(double) : sizeof(uint32_t);
}

/* What section `index` has to have; false when the header leaves it open (pairs, names). */
static bool expected_bytes(const struct reader *r, size_t index, uint64_t *bytes)
{
    const uint64_t count = index < HR_PACKED_NAMES ? r->h.counts[index / 4] : 0;
    const bool sparse = r->h.features == HR_FEATURES_SPARSE;
    if (index == HR_PACKED_NAMES || (sparse && index % 4 == HR_PACKED_DATA))
        return false;
    switch (index % 4) {
    case HR_PACKED_DATA: /* below 2^31 * 2^31 * 4 */
        *bytes = count * r->elems * (r->h.features == HR_FEATURES_BYTES ? 1 : sizeof(float));
        break;
    case HR_PACKED_ROWS:
        *bytes = sparse ? (count + 1) * sizeof(uint64_t) : 0;
        if (r->h.features == HR_FEATURES_FLOATS && r->h.sections[index].bytes)
            *bytes = count * r->elems * sizeof(double); /* below 2^31 * 2^31 * 8 */
        break;
    case HR_PACKED_COLUMNS: /* as many as values */
        *bytes = sparse ? r->h.sections[index - HR_PACKED_COLUMNS].bytes : 0;
        break;
    default:
        *bytes = count * label_bytes(&r->h);
    }
    return true;
}

static enum hr_status check_sections(const struct reader *r)
{
    uint64_t end = sizeof r->h;
    for (size_t i = 0; i < HR_PACKED_SECTIONS; i++) {
        const struct hr_packed_section *s = &r->h.sections[i];
        uint64_t bytes;
        end = hr_round_up(end, HR_PACKED_ALIGN);
        if (s->offset != end || s->offset > r->bytes || s->bytes > r->bytes - s->offset)
            return hr_fail(HR_E_FORMAT,
                           "%s: section %zu is bytes %llu + %llu, expected it at %llu "
                           "in a file of %zu",
                           r->name, i, (unsigned long long)s->offset, (unsigned long long)s->bytes,
                           (unsigned long long)end, r->bytes);
        if (expected_bytes(r, i, &bytes) && s->bytes != bytes)
            return hr_fail(HR_E_FORMAT, "%s: section %zu has %llu bytes, expected %llu", r->name, i,
                           (unsigned long long)s->bytes, (unsigned long long)bytes);
        end = s->offset + s->bytes;
    }
    if (end != r->bytes)
        return hr_fail(HR_E_FORMAT, "%s: has %zu bytes, expected %llu", r->name, r->bytes,
                       (unsigned long long)end);
    return HR_OK;
}

static const void *section(const struct reader *r, size_t index)
{
    return r->memory + r->h.sections[index].offset;
}

/* --- content that is used as an index */

static enum hr_status check_labels(const struct reader *r, size_t split)
{
    const uint32_t *labels = section(r, 4 * split + HR_PACKED_LABELS);
    if (r->h.targets)
        return HR_OK; /* take_targets looks at them */
    for (size_t i = 0; i < r->h.counts[split]; i++)
        if (labels[i] >= r->h.classes)
            return hr_fail(HR_E_FORMAT, "%s: label %zu is %u, expected less than %llu", r->name, i,
                           labels[i], (unsigned long long)r->h.classes);
    return HR_OK;
}

static enum hr_status check_rows(const struct reader *r, size_t split)
{
    const uint64_t *rows = section(r, 4 * split + HR_PACKED_ROWS);
    const uint32_t *columns = section(r, 4 * split + HR_PACKED_COLUMNS);
    const uint64_t bytes = r->h.sections[4 * split + HR_PACKED_COLUMNS].bytes;
    if (r->h.features != HR_FEATURES_SPARSE)
        return HR_OK;
    if (rows[0] != 0 || rows[r->h.counts[split]] != bytes / 4 || bytes % 4)
        return hr_fail(HR_E_FORMAT, "%s: rows go from %llu to %llu, expected 0 to %llu", r->name,
                       (unsigned long long)rows[0], (unsigned long long)rows[r->h.counts[split]],
                       (unsigned long long)bytes / 4);
    for (size_t i = 0; i < r->h.counts[split]; i++) {
        if (rows[i + 1] < rows[i] || rows[i + 1] > bytes / 4)
            return hr_fail(HR_E_FORMAT, "%s: row %zu ends before it begins or behind the pairs",
                           r->name, i);
        for (size_t k = rows[i]; k < rows[i + 1]; k++)
            if (columns[k] >= r->elems || (k > rows[i] && columns[k] <= columns[k - 1]))
                return hr_fail(HR_E_FORMAT,
                               "%s: row %zu has column %u, expected ascending ones "
                               "below %zu",
                               r->name, i, columns[k], r->elems);
    }
    return HR_OK;
}

static enum hr_status take_names(const struct reader *r, struct hr_storage *storage)
{
    const struct hr_packed_section *s = &r->h.sections[HR_PACKED_NAMES];
    const char *at = section(r, HR_PACKED_NAMES), *end = at + s->bytes;
    void *names;
    if (!s->bytes)
        return HR_OK;
    const size_t count = r->h.targets ? r->h.targets : r->h.classes;
    if (s->bytes < count)
        return hr_fail(HR_E_FORMAT, "%s: %llu bytes of names for %zu classes", r->name,
                       (unsigned long long)s->bytes, count);
    HR_TRY(hr_take(r->name, count * sizeof *storage->names, &names));
    storage->names = names;
    for (size_t i = 0; i < count; i++) {
        const char *zero = memchr(at, '\0', (size_t)(end - at));
        if (!zero)
            return hr_fail(HR_E_FORMAT, "%s: the name of class %zu has no end", r->name, i);
        storage->names[i] = at;
        at = zero + 1;
    }
    return at == end ? HR_OK
                     : hr_fail(HR_E_FORMAT, "%s: has more names than %zu classes", r->name, count);
}

/* Values are of no use where they lie: the rows of both splits become one table. */
static enum hr_status take_targets(const struct reader *r, struct hr_storage *storage)
{
    struct hr_target_rows *rows = &storage->labels.targets;
    struct hr_table *tables[] = {&storage->train, &storage->test};
    const struct hr_array names = {.data = (void *)(uintptr_t)section(r, HR_PACKED_NAMES),
                                   .bytes = r->h.sections[HR_PACKED_NAMES].bytes};
    HR_TRY(hr_target_rows_begin(rows, r->name, r->h.targets, &names));
    for (size_t split = 0; split < 2; split++) {
        const double *values = section(r, 4 * split + HR_PACKED_LABELS);
        void *numbers;
        HR_TRY(hr_take(r->name, r->h.counts[split] * sizeof(uint32_t), &numbers));
        storage->numbered[split] = tables[split]->labels = numbers;
        for (size_t i = 0; i < r->h.counts[split]; i++, values += r->h.targets) {
            for (size_t k = 0; k < r->h.targets; k++)
                if (!isfinite(values[k]))
                    return hr_fail(HR_E_FORMAT,
                                   "%s: target %zu of sample %zu is %g, expected a "
                                   "finite number",
                                   r->name, k, i, values[k]);
            HR_TRY(hr_target_rows_add(rows, r->name, values, &tables[split]->labels[i]));
        }
    }
    return HR_OK;
}

/* Casts const away: tables do not write to borrowed memory. */
static struct hr_table borrow(const struct reader *r, size_t split)
{
    void *data = (void *)(uintptr_t)section(r, 4 * split + HR_PACKED_DATA);
    const bool sparse = r->h.features == HR_FEATURES_SPARSE;
    const bool bytes = r->h.features == HR_FEATURES_BYTES;
    return (struct hr_table){
        .features = (enum hr_features)r->h.features,
        .shape = {r->h.shape[0], r->h.shape[1], r->h.shape[2]},
        .count = r->h.counts[split],
        .pixels = bytes ? data : NULL,
        .values = bytes ? NULL : data,
        .exact = !bytes && !sparse && r->h.sections[4 * split + HR_PACKED_ROWS].bytes
                     ? (void *)(uintptr_t)section(r, 4 * split + HR_PACKED_ROWS)
                     : NULL,
        .rows = sparse ? (void *)(uintptr_t)section(r, 4 * split + HR_PACKED_ROWS) : NULL,
        .columns = sparse ? (void *)(uintptr_t)section(r, 4 * split + HR_PACKED_COLUMNS) : NULL,
        .labels = (void *)(uintptr_t)section(r, 4 * split + HR_PACKED_LABELS),
        .borrowed = true,
    };
}

/* Are they the values that were rounded? Else eval and training would see different samples. */
static enum hr_status check_exact(const struct reader *r, const struct hr_table *table)
{
    for (size_t i = 0; table->exact && i < table->count * r->elems; i++)
        if (!isfinite(table->exact[i]) || (float)table->exact[i] < table->values[i] ||
            (float)table->exact[i] > table->values[i])
            return hr_fail(HR_E_FORMAT, "%s: value %zu is %g, and %.9g before it was rounded",
                           r->name, i, (double)table->values[i], table->exact[i]);
    return HR_OK;
}

static enum hr_status parse(struct reader *r, struct hr_storage *storage)
{
    HR_TRY(check_header(r));
    HR_TRY(check_counts(r));
    HR_TRY(check_sections(r));
    if (r->options && r->options->values && !r->h.targets)
        return hr_fail(HR_E_USAGE,
                       "--task regress: %s was packed with classes; expected it packed with "
                       "--task regress, too",
                       r->name);
    if (r->options && r->h.features != HR_FEATURES_SPARSE)
        HR_TRY(hr_format_admit(r->options,
                               (struct hr_shape){r->h.shape[0], r->h.shape[1], r->h.shape[2]}));
    for (size_t split = 0; split < 2; split++) {
        HR_TRY(check_labels(r, split));
        HR_TRY(check_rows(r, split));
    }
    HR_TRY(take_names(r, storage));
    storage->train = borrow(r, 0);
    storage->test = borrow(r, 1);
    HR_TRY(check_exact(r, &storage->train));
    HR_TRY(check_exact(r, &storage->test));
    if (r->h.targets)
        HR_TRY(take_targets(r, storage));
    storage->scale = r->h.scale;
    storage->classes = r->h.classes;
    for (size_t i = 0; i < sizeof r->h.digest; i++)
        snprintf(storage->digest + 2 * i, 3, "%02x", r->h.digest[i]);
    return HR_OK;
}

enum hr_status hr_packed_parse(const char *name, const void *memory, size_t bytes,
                               struct hr_storage *storage)
{
    struct reader r = {.name = name, .memory = memory, .bytes = bytes};
    return parse(&r, storage);
}

/* --- the format */

static bool matches(const struct hr_probe *probe)
{
    return probe->bytes >= 8 && !memcmp(probe->head, HR_PACKED_MAGIC, 8);
}

static enum hr_status map_file(const char *path, struct hr_storage *storage)
{
    int fd;
    size_t bytes;
    HR_TRY(hr_file_open(path, &fd, &bytes));
    const enum hr_status status = hr_file_map(fd, path, bytes, &storage->map);
    close(fd);
    if (status == HR_OK)
        storage->map_bytes = bytes;
    return status;
}

/* Otherwise changed bytes would be trained on under the old digest. */
static enum hr_status check_hashes(const struct reader *r)
{
    for (size_t i = 0; i < HR_PACKED_SECTIONS; i++) {
        const struct hr_packed_section *s = &r->h.sections[i];
        if (XXH3_64bits(section(r, i), s->bytes) != s->xxh3)
            return hr_fail(HR_E_FORMAT,
                           "%s: section %zu (bytes %llu + %llu) is damaged: its "
                           "XXH3-64 is another",
                           r->name, i, (unsigned long long)s->offset, (unsigned long long)s->bytes);
    }
    return HR_OK;
}

static enum hr_status open_file(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    HR_TRY(map_file(path, storage));
    const uint8_t *head = storage->map;
    if (storage->map_bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return hr_fail(HR_E_FORMAT, "%s: packed data in gzip cannot be mapped, gunzip it first",
                       path);
    struct reader r = {
        .name = path, .memory = storage->map, .bytes = storage->map_bytes, .options = options};
    HR_TRY(parse(&r, storage));
    if (r.bytes <= HR_PACKED_HASHED)
        return check_hashes(&r);
    snprintf(storage->train.note, sizeof storage->train.note,
             "%s: has more than 1 GiB and is taken as it is: `hogring data verify` was not done",
             path);
    return HR_OK;
}

const struct hr_format hr_format_packed = {
    .name = "packed", .options = HR_OPTION_VALUES, .matches = matches, .open = open_file};

/* --- verification */

static enum hr_status verify_content(struct reader *r)
{
    HR_TRY(check_hashes(r));
    for (size_t i = 0; i < HR_PACKED_SECTIONS; i++) {
        const struct hr_packed_section *s = &r->h.sections[i];
        if (r->h.features == HR_FEATURES_BYTES || i % 4 != HR_PACKED_DATA || i == HR_PACKED_NAMES)
            continue;
        const float *values = section(r, i);
        for (size_t k = 0; k < s->bytes / sizeof *values; k++)
            if (!isfinite(values[k]))
                return hr_fail(HR_E_FORMAT, "%s: value %zu of section %zu is not finite", r->name,
                               k, i);
    }
    return HR_OK;
}

static enum hr_status verify_mapped(const char *path, struct hr_storage *storage)
{
    struct hr_data_options options;
    struct hr_dataset dataset;
    char digest[33];
    hr_data_defaults(&options);
    HR_TRY(open_file(path, &options, storage));
    struct reader r = {.name = path, .memory = storage->map, .bytes = storage->map_bytes};
    memcpy(&r.h, r.memory, sizeof r.h);
    HR_TRY(verify_content(&r));
    HR_TRY(hr_dataset_finish(path, &hr_format_packed, &options, storage, &dataset));
    HR_TRY(hr_dataset_digest(&dataset, digest));
    if (strcmp(digest, dataset.digest) != 0)
        return hr_fail(HR_E_FORMAT, "%s: the samples' digest is %s, the header says %s", path,
                       digest, dataset.digest);
    return HR_OK;
}

enum hr_status hr_packed_verify(const char *path)
{
    struct hr_storage storage = {0};
    const enum hr_status st = verify_mapped(path, &storage);
    hr_storage_free(&storage);
    return st;
}
