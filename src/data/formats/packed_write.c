/* Writing packed data: lay the sections out, digest them, write them behind the header. */
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/size.h"
#include "formats/packed_layout.h"

struct part {
    const void *data;
    size_t bytes;
};

static void list_split(const struct hr_dataset *dataset, const struct hr_split *split,
                       struct part parts[4])
{
    const size_t elems = split->count * hr_shape_elems(dataset->shape);
    parts[HR_PACKED_LABELS] = (struct part){split->labels, split->count * sizeof *split->labels};
    switch (dataset->features) {
    case HR_FEATURES_BYTES:
        parts[HR_PACKED_DATA] = (struct part){split->pixels, elems};
        break;
    case HR_FEATURES_FLOATS:
        parts[HR_PACKED_DATA] = (struct part){split->values, elems * sizeof *split->values};
        if (dataset->rounding && split->exact)
            parts[HR_PACKED_ROWS] = (struct part){split->exact, elems * sizeof *split->exact};
        break;
    case HR_FEATURES_SPARSE: {
        const size_t pairs = split->rows[split->count];
        parts[HR_PACKED_DATA] = (struct part){split->values, pairs * sizeof *split->values};
        parts[HR_PACKED_ROWS] = (struct part){split->rows, (split->count + 1) * sizeof(uint64_t)};
        parts[HR_PACKED_COLUMNS] = (struct part){split->columns, pairs * sizeof *split->columns};
        break;
    }
    case HR_FEATURES_TOKENS: /* refused */
        break;
    }
}

static enum hr_status join_names(const struct hr_dataset *dataset, struct hr_array *out)
{
    for (size_t i = 0; dataset->targets.names && i < dataset->targets.count; i++)
        HR_TRY(hr_array_add(out, dataset->name, dataset->targets.names[i],
                            strlen(dataset->targets.names[i]) + 1));
    for (size_t i = 0; dataset->class_names && i < dataset->classes; i++)
        HR_TRY(hr_array_add(out, dataset->name, dataset->class_names[i],
                            strlen(dataset->class_names[i]) + 1));
    return HR_OK;
}

/* The targets of a split, in the order of its samples, in place of its labels. */
static enum hr_status gather_targets(const struct hr_dataset *dataset, const struct hr_split *split,
                                     struct hr_array *out, struct part parts[4])
{
    const struct hr_targets *targets = &dataset->targets;
    for (size_t i = 0; targets->count && i < split->count; i++)
        HR_TRY(hr_array_add(out, dataset->name, targets->values + split->labels[i] * targets->count,
                            targets->count * sizeof *targets->values));
    if (targets->count)
        parts[HR_PACKED_LABELS] = (struct part){out->data, out->bytes};
    return HR_OK;
}

static void read_digest(const char *hex, uint8_t digest[16])
{
    for (size_t i = 0; i < 16; i++) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        digest[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

/* Returns the size of the file. */
static size_t make_header(const struct hr_dataset *dataset, const struct part *parts,
                          struct hr_packed_header *h)
{
    size_t end = sizeof *h;
    *h = (struct hr_packed_header){
        .magic = HR_PACKED_MAGIC,
        .version = dataset->targets.count ? 2 : 1,
        .features = dataset->features,
        .shape = {dataset->shape.channels, dataset->shape.height, dataset->shape.width},
        .classes = dataset->classes,
        .scale = dataset->scale,
        .targets = (uint32_t)dataset->targets.count,
        .counts = {dataset->train.count, dataset->test.count},
    };
    read_digest(dataset->digest, h->digest);
    for (size_t i = 0; i < HR_PACKED_SECTIONS; i++) {
        end = hr_round_up(end, HR_PACKED_ALIGN);
        h->sections[i] = (struct hr_packed_section){end, parts[i].bytes,
                                                    XXH3_64bits(parts[i].data, parts[i].bytes)};
        end += parts[i].bytes;
    }
    h->xxh3 = XXH3_64bits(h, offsetof(struct hr_packed_header, xxh3));
    return end;
}

static enum hr_status write_parts(struct hr_file_writer *writer, const struct hr_packed_header *h,
                                  const struct part *parts)
{
    static const uint8_t zeros[HR_PACKED_ALIGN];
    size_t end = sizeof *h;
    HR_TRY(hr_file_write(writer, h, sizeof *h));
    for (size_t i = 0; i < HR_PACKED_SECTIONS; i++) {
        HR_TRY(hr_file_write(writer, zeros, h->sections[i].offset - end));
        HR_TRY(hr_file_write(writer, parts[i].data, parts[i].bytes));
        end = h->sections[i].offset + h->sections[i].bytes;
    }
    return HR_OK;
}

static enum hr_status write_file(const char *path, const struct hr_dataset *dataset,
                                 const struct part *parts)
{
    struct hr_packed_header header;
    struct hr_file_writer writer;
    enum hr_status st;
    const size_t bytes = make_header(dataset, parts, &header);
    HR_TRY(hr_file_replace(&writer, path, bytes));
    HR_TRY_GOTO(write_parts(&writer, &header, parts), st, out);
    return hr_file_finish(&writer);
out:
    hr_file_abandon(&writer);
    return st;
}

enum hr_status hr_packed_write(const char *path, const struct hr_dataset *dataset)
{
    struct part parts[HR_PACKED_SECTIONS] = {{0}};
    struct hr_array names = {0}, values[2] = {{0}, {0}};
    enum hr_status st;
    if (dataset->features == HR_FEATURES_TOKENS)
        return hr_fail(HR_E_USAGE,
                       "%s: is text, expected data make tokens %s --out FILE.npy, which packs it",
                       dataset->name, dataset->name);
    list_split(dataset, &dataset->train, parts);
    list_split(dataset, &dataset->test, parts + 4);
    HR_TRY_GOTO(hr_file_check_regular(path), st, out);
    HR_TRY_GOTO(join_names(dataset, &names), st, out);
    HR_TRY_GOTO(gather_targets(dataset, &dataset->train, &values[0], parts), st, out);
    HR_TRY_GOTO(gather_targets(dataset, &dataset->test, &values[1], parts + 4), st, out);
    parts[HR_PACKED_NAMES] = (struct part){names.data, names.bytes};
    st = write_file(path, dataset, parts);
out:
    free(names.data);
    free(values[0].data);
    free(values[1].data);
    return st;
}
