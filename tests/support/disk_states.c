/* States: disk.h. */
#include "support/disk.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/disk_calls.h"

enum { SECTOR = 512, MOST_ENTRIES = 256, MOST_FILE = 1 << 14, MOST_PENDING = 64 };

/* --- names --- */

struct entry {
    int folder, node;
    const char *name;
};

struct tree {
    size_t n;
    struct entry entry[MOST_ENTRIES];
};

static void take_away(struct tree *tree, int folder, const char *name, int node)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->entry[i].folder == folder && tree->entry[i].node == node &&
            !strcmp(tree->entry[i].name, name))
            tree->entry[i--] = tree->entry[--tree->n];
}

static void put(struct tree *tree, int folder, const char *name, int node)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->entry[i].folder == folder && !strcmp(tree->entry[i].name, name)) {
            tree->entry[i].node = node;
            return;
        }
    assert_true(tree->n < MOST_ENTRIES);
    tree->entry[tree->n++] = (struct entry){folder, node, name};
}

static void apply(struct tree *tree, const struct disk_call *call)
{
    if (call->act == DISK_REMOVE || call->act == DISK_RENAME)
        take_away(tree, call->folder, call->name, call->node);
    if (call->act == DISK_CREATE)
        put(tree, call->folder, call->name, call->node);
    if (call->act == DISK_EXCHANGE)
        put(tree, call->folder, call->name, call->other);
    if (call->act == DISK_RENAME || call->act == DISK_EXCHANGE)
        put(tree, call->to_folder, call->to_name, call->node);
}

static bool is_of_names(const struct disk_call *call)
{
    return call->act == DISK_CREATE || call->act == DISK_RENAME || call->act == DISK_EXCHANGE ||
           call->act == DISK_REMOVE;
}

static bool is_synced(size_t at, size_t end, int node)
{
    for (size_t i = at + 1; i < end; i++)
        if (disk_calls[i].act == DISK_SYNC && disk_calls[i].node == node)
            return true;
    return false;
}

/* --- data --- */

/* A file as a cut may find it. */
struct content {
    unsigned char data[MOST_FILE];
    size_t size;
};

static void overlay(struct content *content, const struct disk_call *call)
{
    if (call->act == DISK_WRITE) {
        assert_true(call->offset + call->bytes <= MOST_FILE);
        memcpy(content->data + call->offset, call->data, call->bytes);
        if (call->offset + call->bytes > content->size)
            content->size = call->offset + call->bytes;
        return;
    }
    if (call->bytes < content->size)
        memset(content->data + call->bytes, 0, content->size - call->bytes);
    content->size = call->bytes;
}

/* A file when the power is cut: what is durable of it, and what a program would have read. */
static struct view {
    bool is_file;
    size_t sectors; /* those of unsynced data; 0: all is synced */
    uint64_t hash;  /* where all is synced */
    struct content durable, read;
} views[DISK_MOST_NODES];

/* Which sectors of unsynced data are there, by number of the variant: every beginning, every end,
 * all but one, then drawn ones. */
static bool is_there(size_t variant, size_t sector, size_t sectors, int node)
{
    if (variant <= sectors)
        return sector < variant;
    variant -= sectors + 1;
    if (variant < sectors)
        return sector >= variant;
    variant -= sectors;
    if (variant < sectors)
        return sector != variant;
    return hr_random_block(check_seed(), HR_STREAM_TEST, variant << 8 | sector, (uint32_t)node)
               .v[0] &
           1;
}

enum { DRAWN_VARIANTS = 64 };

static size_t variants_of(size_t sectors)
{
    return sectors ? 2 * (3 * sectors + 1 + DRAWN_VARIANTS) : 1;
}

/* Even variants are as long as what is there, odd ones have their new size already. */
static void make_content(int node, size_t variant, struct content *out)
{
    const struct view *view = &views[node];
    const size_t sectors = view->sectors, now = view->read.size;
    size_t last = view->durable.size;
    *out = view->durable;
    for (size_t s = 0; s < sectors; s++)
        if (is_there(variant % variants_of(sectors) / 2, s, sectors, node)) {
            memcpy(out->data + s * SECTOR, view->read.data + s * SECTOR, SECTOR);
            last = (s + 1) * SECTOR > last ? (s + 1) * SECTOR : last;
        }
    if (sectors)
        out->size = variant % 2 || (last > now && now > view->durable.size) ? now : last;
}

static void view_file(int node, size_t end)
{
    struct view *view = &views[node];
    struct content *durable = &view->durable, *read = &view->read;
    memset(view, 0, sizeof *view);
    view->is_file = true;
    for (size_t i = 0; i < end; i++) {
        const struct disk_call *call = &disk_calls[i];
        if (call->node != node || (call->act != DISK_WRITE && call->act != DISK_RESIZE))
            continue;
        overlay(read, call);
        if (is_synced(i, end, node))
            overlay(durable, call);
    }
    const size_t size = read->size > durable->size ? read->size : durable->size;
    if (read->size != durable->size || memcmp(read->data, durable->data, size) != 0)
        view->sectors = (size + SECTOR - 1) / SECTOR;
    else
        view->hash = XXH3_64bits(read->data, size);
}

static const struct disk_call *creations[DISK_MOST_NODES];

/* How many variants the files have together: all draw by the same number. */
static size_t view_all(size_t end)
{
    size_t most = 1;
    for (size_t i = 0; i < end; i++) {
        if (disk_calls[i].act != DISK_CREATE)
            continue;
        const int node = disk_calls[i].node;
        creations[node] = &disk_calls[i];
        views[node].is_file = false;
        if (disk_calls[i].kind != DISK_FILE)
            continue;
        view_file(node, end);
        const size_t n = variants_of(views[node].sectors);
        most = n > most ? n : most;
    }
    return most;
}

/* --- a state --- */

struct choice {
    size_t end;     /* calls before the cut */
    size_t variant; /* of unsynced data */
    size_t nopen;
    const size_t *open; /* calls on names that are not synced */
    uint64_t done;      /* which of them have happened */
    struct tree tree;
};

static void build(struct choice *choice)
{
    size_t open = 0;
    choice->tree.n = 0;
    for (size_t i = 0; i < choice->end; i++) {
        if (!is_of_names(&disk_calls[i]))
            continue;
        const bool is_open = open < choice->nopen && choice->open[open] == i;
        if (!is_open || choice->done >> open & 1)
            apply(&choice->tree, &disk_calls[i]);
        open += is_open;
    }
}

static uint64_t hash_node(const struct choice *choice, int node, uint64_t above)
{
    static struct content content;
    const struct disk_call *creation = creations[node];
    if (creation && creation->kind == DISK_FILE) {
        uint64_t pair[2] = {above, views[node].hash};
        if (views[node].sectors) {
            make_content(node, choice->variant, &content);
            pair[1] = XXH3_64bits(content.data, content.size);
        }
        return XXH3_64bits(pair, sizeof pair);
    }
    if (creation && creation->kind == DISK_LINK)
        return XXH3_64bits_withSeed(creation->data, creation->bytes, above);
    uint64_t sum = above;
    for (size_t i = 0; i < choice->tree.n; i++) {
        const struct entry *entry = &choice->tree.entry[i];
        if (entry->folder == node)
            sum += hash_node(choice, entry->node,
                             XXH3_64bits_withSeed(entry->name, strlen(entry->name), above + 1));
    }
    return sum;
}

static void write_file(const char *path, const struct content *content)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content->data, content->size), content->size);
    close(fd);
}

static void write_node(const struct choice *choice, int node, const char *path)
{
    static struct content content;
    char inside[PATH_MAX];
    const struct disk_call *creation = creations[node];
    if (creation && creation->kind == DISK_FILE) {
        make_content(node, choice->variant, &content);
        write_file(path, &content);
        return;
    }
    if (creation && creation->kind == DISK_LINK) {
        assert_int_equal(symlink((const char *)creation->data, path), 0);
        return;
    }
    assert_int_equal(mkdir(path, 0755), 0);
    for (size_t i = 0; i < choice->tree.n; i++) {
        if (choice->tree.entry[i].folder != node)
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, choice->tree.entry[i].name);
        write_node(choice, choice->tree.entry[i].node, inside);
    }
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

/* --- all of them --- */

/* The hashes that were met: open addressing, 0 is free. */
struct met {
    uint64_t *hash;
    size_t n, size;
};

static bool meet(struct met *met, uint64_t hash)
{
    if (2 * (met->n + 1) > met->size) {
        struct met more = {calloc(met->size ? 2 * met->size : 1024, sizeof hash), 0,
                           met->size ? 2 * met->size : 1024};
        assert_non_null(more.hash);
        for (size_t i = 0; i < met->size; i++)
            if (met->hash[i])
                meet(&more, met->hash[i]);
        free(met->hash);
        *met = more;
    }
    size_t at = (hash += !hash) % met->size;
    while (met->hash[at] && met->hash[at] != hash)
        at = (at + 1) % met->size;
    if (met->hash[at])
        return false;
    met->hash[at] = hash;
    met->n++;
    return true;
}

static bool visit_one(struct disk_walk *walk, struct met *met, struct choice *choice)
{
    struct disk_state state = {.call = choice->end};
    const uint64_t what[4] = {check_seed(), choice->end, choice->variant, choice->done};
    if (walk->one_in > 1 && XXH3_64bits(what, sizeof what) % walk->one_in)
        return true;
    build(choice);
    for (size_t i = 0; i < choice->end; i++)
        if (disk_calls[i].act == DISK_MARK)
            state.mark = disk_calls[i].node;
    if (!meet(met, hash_node(choice, 0, (uint64_t)state.mark)))
        return true;
    write_node(choice, 0, walk->path);
    const bool go_on = walk->visit(&state, walk->context);
    nftw(walk->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    walk->visited++;
    return go_on;
}

static size_t open_names(size_t end, size_t *open)
{
    size_t n = 0;
    for (size_t i = 0; i < end; i++) {
        const struct disk_call *call = &disk_calls[i];
        if (!is_of_names(call) || is_synced(i, end, call->folder))
            continue;
        assert_true(n < MOST_PENDING);
        open[n++] = i;
    }
    return n;
}

static bool visit_cut(struct disk_walk *walk, struct met *met, size_t end)
{
    size_t open[MOST_PENDING];
    const size_t n = open_names(end, open), variants = view_all(end);
    const bool all = n <= walk->most_names;
    const uint64_t subsets = (uint64_t)1 << (all ? n : walk->most_names);
    for (uint64_t s = 0; s < subsets; s++) {
        struct choice choice = {.end = end, .nopen = n, .open = open, .done = s};
        const struct hr_philox drawn =
            hr_random_block(check_seed(), HR_STREAM_TEST, s, (uint32_t)end);
        if (!all) /* nothing, everything, then drawn ones */
            choice.done = s < 2 ? -s : (uint64_t)drawn.v[0] << 32 | drawn.v[1];
        for (choice.variant = 0; choice.variant < variants; choice.variant++)
            if (!visit_one(walk, met, &choice))
                return false;
    }
    return true;
}

void disk_visit(struct disk_walk *walk)
{
    struct met met = {0};
    walk->visited = 0;
    for (size_t end = walk->first; end <= disk_ncalls; end++)
        if (!visit_cut(walk, &met, end))
            break;
    walk->seen = met.n;
    free(met.hash);
}
