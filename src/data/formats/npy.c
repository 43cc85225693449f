#include "formats/npy.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/parse.h"
#include "base/size.h"
#include "formats/formats.h"

enum { MAX_TEXT = 4096 }; /* letters of an element */

/* --- the header, a literal of Python */

struct header {
    const char *name;
    const char *at, *end;
    char descr[8];
    bool fortran;
    unsigned seen; /* 1 descr, 2 fortran_order, 4 shape */
};

static enum hr_status fail_header(const struct header *h)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: header \"%s\", expected {'descr': ..., 'fortran_order': ..., "
                   "'shape': ...}",
                   h->name, hr_shown(h->at, (size_t)(h->end - h->at)).text);
}

static void pass_blanks(struct header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
        h->at++;
}

/* Blanks, then this text. */
static bool pass(struct header *h, const char *text)
{
    pass_blanks(h);
    const size_t n = strlen(text);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, text, n) != 0)
        return false;
    h->at += n;
    return true;
}

/* 'text' or "text", of less than size bytes. */
static bool read_string(struct header *h, char *out, size_t size)
{
    const bool single = pass(h, "'");
    if (!single && !pass(h, "\""))
        return false;
    size_t n = 0;
    for (; h->at < h->end && *h->at != (single ? '\'' : '"'); h->at++) {
        if (n + 1 >= size || *h->at == '\\')
            return false;
        out[n++] = *h->at;
    }
    out[n] = '\0';
    return pass(h, single ? "'" : "\"");
}

static bool read_size(struct header *h, size_t *out)
{
    *out = 0;
    const char *first = h->at;
    for (; h->at < h->end && isdigit((unsigned char)*h->at); h->at++)
        if (!hr_size_mul(*out, 10, out) || !hr_size_add(*out, (size_t)(*h->at - '0'), out))
            return false;
    return h->at > first;
}

/* (3, 4) or (3,) or () */
static bool read_shape(struct header *h, struct hr_npy *npy)
{
    if (!pass(h, "("))
        return false;
    for (npy->ndim = 0; !pass(h, ")"); npy->ndim++) {
        if (npy->ndim == HR_NPY_MAX_DIMS || !read_size(h, &npy->shape[npy->ndim]))
            return false;
        if (pass(h, ","))
            continue;
        npy->ndim++;
        return pass(h, ")");
    }
    return true;
}

static bool read_entry(struct header *h, struct hr_npy *npy)
{
    char key[16];
    if (!read_string(h, key, sizeof key) || !pass(h, ":"))
        return false;
    if (!strcmp(key, "descr")) {
        h->seen |= 1;
        return read_string(h, h->descr, sizeof h->descr);
    }
    if (!strcmp(key, "shape")) {
        h->seen |= 4;
        return read_shape(h, npy);
    }
    h->seen |= 2;
    h->fortran = pass(h, "True");
    return !strcmp(key, "fortran_order") && (h->fortran || pass(h, "False"));
}

static enum hr_status read_header(struct header *h, struct hr_npy *npy)
{
    if (!pass(h, "{"))
        return fail_header(h);
    while (!pass(h, "}")) {
        if (!read_entry(h, npy))
            return fail_header(h);
        if (!pass(h, ",") && (h->at == h->end || *h->at != '}'))
            return fail_header(h);
    }
    pass_blanks(h);
    return h->seen == 7 && h->at == h->end ? HR_OK : fail_header(h);
}

/* S12, U12: texts of as many bytes, or of code points of 4 bytes each, filled up with zeros. */
static enum hr_status take_text_type(const struct header *h, const char *type, struct hr_npy *npy)
{
    uint64_t length;
    if (!hr_parse_count(type + 1, &length) || !length || length > MAX_TEXT)
        return hr_fail(HR_E_FORMAT, "%s: holds texts of type %s, expected 1 to %d letters each",
                       h->name, hr_shown(h->descr, strlen(h->descr)).text, MAX_TEXT);
    npy->kind = type[0];
    npy->item = length * (type[0] == 'U' ? 4 : 1);
    npy->swapped = h->descr[0] == '>';
    return HR_OK;
}

static enum hr_status take_type(const struct header *h, struct hr_npy *npy)
{
    static const char *const known[] = {"b1", "u1", "i1", "u2", "i2", "u4",
                                        "i4", "u8", "i8", "f2", "f4", "f8"};
    const char *type = h->descr + (strchr("<>|=", h->descr[0]) && h->descr[0]);
    if (h->fortran && npy->ndim > 1)
        return hr_fail(HR_E_FORMAT,
                       "%s: is in Fortran order, expected C order (numpy.ascontiguousarray)",
                       h->name);
    if (type[0] == 'S' || type[0] == 'U')
        return take_text_type(h, type, npy);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(type, known[i])) {
            npy->kind = type[0];
            npy->item = (size_t)(type[1] - '0');
            npy->swapped = h->descr[0] == '>';
            return HR_OK;
        }
    return hr_fail(HR_E_FORMAT,
                   "%s: holds elements of type %s, expected u1, f2, f4, f8 or integers", h->name,
                   hr_shown(h->descr, strlen(h->descr)).text);
}

enum hr_status hr_npy_check_size(const char *name, struct hr_npy *npy, size_t there)
{
    size_t bytes = npy->item;
    npy->count = 1;
    for (size_t i = 0; i < npy->ndim; i++)
        if (!hr_size_mul(npy->count, npy->shape[i], &npy->count))
            return hr_fail(HR_E_FORMAT, "%s: its shape is too large, expected at most 8 GiB", name);
    if (!hr_size_mul(bytes, npy->count, &bytes) || bytes != there)
        return hr_fail(HR_E_FORMAT,
                       "%s: holds %zu bytes after the header, expected %zu elements of %zu", name,
                       there, npy->count, npy->item);
    return HR_OK;
}

enum hr_status hr_npy_parse_head(const char *name, const void *memory, size_t bytes,
                                 struct hr_npy *npy, size_t *begin)
{
    const uint8_t *at = memory;
    if (bytes < 10 || memcmp(at, HR_NPY_MAGIC, HR_NPY_MAGIC_BYTES) != 0)
        return hr_fail(HR_E_FORMAT, "%s: does not begin as an npy file does (93 'NUMPY')", name);
    if (at[6] < 1 || at[6] > 3)
        return hr_fail(HR_E_FORMAT, "%s: has version %d, expected 1 to 3", name, at[6]);
    const size_t before = at[6] == 1 ? 10 : 12;
    size_t length = at[8] | (size_t)at[9] << 8;
    if (before == 12 && bytes >= 12)
        length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (bytes < before || length > bytes - before || length > HR_NPY_MAX_HEADER)
        return hr_fail(HR_E_FORMAT, "%s: its header has %zu bytes, expected at most %zu", name,
                       length, hr_min_size(bytes, HR_NPY_MAX_HEADER));
    struct header header = {
        .name = name, .at = (const char *)at + before, .end = (const char *)at + before + length};
    HR_TRY(read_header(&header, npy));
    *begin = before + length;
    return take_type(&header, npy);
}

enum hr_status hr_npy_parse(const char *name, const void *memory, size_t bytes, struct hr_npy *out)
{
    struct hr_npy npy = {0};
    size_t begin;
    HR_TRY(hr_npy_parse_head(name, memory, bytes, &npy, &begin));
    HR_TRY(hr_npy_check_size(name, &npy, bytes - begin));
    npy.data = (const uint8_t *)memory + begin;
    *out = npy;
    return HR_OK;
}

/* --- elements */

static uint64_t load(const struct hr_npy *npy, size_t i)
{
    uint64_t word = 0;
    for (size_t b = 0; b < npy->item; b++) {
        const size_t place = npy->swapped ? npy->item - 1 - b : b;
        word |= (uint64_t)npy->data[i * npy->item + b] << 8 * place;
    }
    return word;
}

static int64_t load_integer(const struct hr_npy *npy, size_t i)
{
    const unsigned unused = (unsigned)(64 - 8 * npy->item);
    const uint64_t word = load(npy, i);
    return npy->kind == 'i' ? (int64_t)(word << unused) >> unused : (int64_t)word;
}

static double load_number(const struct hr_npy *npy, size_t i)
{
    const uint64_t word = load(npy, i);
    double wide;
    float narrow;
    if (npy->kind == 'u' || npy->kind == 'b')
        return (double)word;
    if (npy->kind == 'i')
        return (double)load_integer(npy, i);
    if (npy->item == 2)
        return (double)hr_of_binary16((uint16_t)word);
    if (npy->item == 8) {
        memcpy(&wide, &word, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &(uint32_t){(uint32_t)word}, sizeof narrow);
    return (double)narrow;
}

enum hr_status hr_npy_fail_number(const char *name, size_t i, size_t of_row, double value)
{
    return hr_fail(HR_E_FORMAT,
                   "%s: row %zu, column %zu is %g, counted from 0; expected a finite number", name,
                   i / of_row, i % of_row, value);
}

static enum hr_status take_floats(const char *name, const struct hr_npy *npy,
                                  struct hr_table *table)
{
    void *values, *exact;
    bool rounded = false;
    HR_TRY(hr_take(name, npy->count * sizeof *table->values, &values));
    table->values = values;
    for (size_t i = 0; i < npy->count; i++) {
        const double wide = load_number(npy, i), value = (double)(float)wide;
        table->values[i] = (float)wide;
        if (!isfinite(value))
            return hr_npy_fail_number(name, i, npy->count / npy->shape[0], value);
        rounded = rounded || wide < value || wide > value;
    }
    if (!rounded)
        return HR_OK;
    HR_TRY(hr_take(name, npy->count * sizeof *table->exact, &exact));
    table->exact = exact;
    for (size_t i = 0; i < npy->count; i++)
        table->exact[i] = load_number(npy, i);
    return HR_OK;
}

static bool is_text(const struct hr_npy *npy)
{
    return npy->kind == 'S' || npy->kind == 'U';
}

struct hr_shape hr_npy_shape(const struct hr_npy *npy)
{
    const size_t *s = npy->shape;
    return npy->ndim == 2   ? (struct hr_shape){s[1], 1, 1}
           : npy->ndim == 3 ? (struct hr_shape){1, s[1], s[2]}
                            : (struct hr_shape){s[1], s[2], s[3]};
}

static enum hr_status fail_text(const char *name, const char *what)
{
    return hr_fail(HR_E_FORMAT, "%s: holds texts, expected numbers for %s", name, what);
}

enum hr_status hr_npy_take_features(const char *name, const struct hr_npy *npy,
                                    struct hr_table *table)
{
    void *pixels;
    if (npy->ndim < 2)
        return hr_fail(HR_E_FORMAT, "%s: has %zu dimensions, expected 2 to 4: (n,F) ... (n,C,H,W)",
                       name, npy->ndim);
    if (is_text(npy))
        return fail_text(name, "features");
    table->count = npy->shape[0];
    table->shape = hr_npy_shape(npy);
    if (npy->count == 0)
        return hr_fail(HR_E_FORMAT, "%s: has no elements, expected some", name);
    table->features = npy->kind == 'u' && npy->item == 1 ? HR_FEATURES_BYTES : HR_FEATURES_FLOATS;
    if (table->features == HR_FEATURES_FLOATS)
        return take_floats(name, npy, table);
    HR_TRY(hr_take(name, npy->count, &pixels));
    table->pixels = memcpy(pixels, npy->data, npy->count);
    return HR_OK;
}

/* Appends a code point as UTF-8; false: it is none. */
static bool add_utf8(uint64_t code, char *out, size_t *used)
{
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    out[(*used)++] = (char)(first[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        out[(*used)++] = (char)(0x80 | (code >> 6 * i & 0x3f));
    return true;
}

/* The text of an element, without the zeros behind it; `out` has 4 bytes a letter and one more. */
static enum hr_status element_text(const char *name, const struct hr_npy *npy, size_t i, char *out)
{
    const size_t step = npy->kind == 'U' ? 4 : 1;
    const struct hr_npy letters = {.item = step, .swapped = npy->swapped, .data = npy->data};
    const size_t begin = i * (npy->item / step);
    size_t count = npy->item / step, used = 0;
    while (count && !load(&letters, begin + count - 1))
        count--;
    for (size_t k = 0; k < count; k++) {
        const uint64_t code = load(&letters, begin + k);
        if (!code || (step == 4 && !add_utf8(code, out, &used)))
            return hr_fail(HR_E_FORMAT, "%s: label %zu has a letter %#llx, expected text", name, i,
                           (unsigned long long)code);
        if (step == 1)
            out[used++] = (char)code;
    }
    out[used] = '\0';
    if (used >= 1 && used <= HR_LABEL_MAX_BYTES)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: label %zu has %zu bytes, expected 1 to %d", name, i, used,
                   HR_LABEL_MAX_BYTES);
}

static enum hr_status label_text(const char *name, const struct hr_npy *npy, size_t i, char *out,
                                 size_t size)
{
    if (is_text(npy))
        return element_text(name, npy, i, out);
    const double value = load_number(npy, i);
    const bool whole = fabs(value) < 0x1p53 && value == trunc(value);
    if (!isfinite(value))
        return hr_fail(HR_E_FORMAT, "%s: label %zu is %g, expected a number", name, i, value);
    if (npy->kind == 'f' && !whole)
        snprintf(out, size, npy->item == 4 ? "%.9g" : "%.17g", value);
    else if (npy->kind == 'u')
        snprintf(out, size, "%llu", (unsigned long long)load(npy, i));
    else
        snprintf(out, size, "%lld",
                 npy->kind == 'f' ? (long long)value : (long long)load_integer(npy, i));
    return HR_OK;
}

/* y of a regression: (n) or (n,k). */
static enum hr_status take_targets(const char *name, const struct hr_npy *npy,
                                   struct hr_target_rows *rows, struct hr_table *table)
{
    const size_t width = npy->ndim == 2 ? npy->shape[1] : 1;
    double row[HR_MAX_TARGETS];
    void *numbers;
    if (npy->ndim < 1 || npy->ndim > 2 || npy->shape[0] != table->count)
        return hr_fail(HR_E_FORMAT,
                       "%s: has %zu dimensions, %zu targets, expected (%zu) or (%zu,k)", name,
                       npy->ndim, npy->ndim ? npy->shape[0] : 0, table->count, table->count);
    HR_TRY(hr_target_rows_begin(rows, name, width, NULL));
    HR_TRY(hr_take(name, table->count * sizeof *table->labels, &numbers));
    table->labels = numbers;
    for (size_t i = 0; i < table->count; i++) {
        for (size_t k = 0; k < width; k++) {
            row[k] = load_number(npy, i * width + k);
            if (!isfinite(row[k]))
                return hr_fail(HR_E_FORMAT,
                               "%s: row %zu, column %zu is %g, expected a finite target", name, i,
                               k, row[k]);
        }
        HR_TRY(hr_target_rows_add(rows, name, row, &table->labels[i]));
    }
    return HR_OK;
}

enum hr_status hr_npy_take_labels(const char *name, const struct hr_npy *npy,
                                  struct hr_labels *labels, struct hr_table *table)
{
    char text[4 * MAX_TEXT + 1];
    void *numbers;
    if (labels->targets.wanted && is_text(npy))
        return fail_text(name, "targets");
    if (labels->targets.wanted)
        return take_targets(name, npy, &labels->targets, table);
    if (npy->ndim != 1 || npy->count != table->count)
        return hr_fail(HR_E_FORMAT, "%s: has %zu dimensions, %zu labels, expected 1 dimension, %zu",
                       name, npy->ndim, npy->count, table->count);
    HR_TRY(hr_take(name, npy->count * sizeof *table->labels, &numbers));
    table->labels = numbers;
    for (size_t i = 0; i < npy->count; i++) {
        HR_TRY(label_text(name, npy, i, text, sizeof text));
        HR_TRY(hr_labels_add(labels, name, text, strlen(text), &table->labels[i]));
    }
    return HR_OK;
}

/* Magic, version 1.0, the length of what follows, a Python dict, blanks, a newline: a multiple of
 * 64 bytes, as NumPy wants it. */
enum hr_status hr_npy_write(const char *path, const struct hr_npy *npy)
{
    enum { HEADER = 128, BEFORE = 10 };
    char header[HEADER], second[24] = "";
    struct hr_file_writer writer;
    const size_t columns = npy->ndim > 1 ? npy->shape[1] : 1;
    const size_t bytes = npy->shape[0] * columns * npy->item;
    enum hr_status st;
    memset(header, ' ', sizeof header);
    memcpy(header, HR_NPY_MAGIC "\x01\x00\x76\x00", BEFORE); /* 118 bytes of text */
    if (npy->ndim > 1)
        snprintf(second, sizeof second, " %zu", columns);
    const int used =
        snprintf(header + BEFORE, sizeof header - BEFORE,
                 "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (%zu,%s), }",
                 npy->item > 1 ? '<' : '|', npy->kind, npy->item, npy->shape[0], second);
    header[BEFORE + used] = ' ';
    header[HEADER - 1] = '\n';
    HR_TRY(hr_file_replace(&writer, path, HEADER + bytes));
    HR_TRY_GOTO(hr_file_write(&writer, header, HEADER), st, out);
    HR_TRY_GOTO(hr_file_write(&writer, npy->data, bytes), st, out);
    return hr_file_finish(&writer);
out:
    hr_file_abandon(&writer);
    return st;
}
