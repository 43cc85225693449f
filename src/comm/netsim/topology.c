#include "netsim/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"

/* === one link === */

/* Larger values are taken for a mistake. */
static const double least_bandwidth = 1, most_bandwidth = 1e15, most_latency_s = 3600;

static bool parse(const char *text, struct hr_link *link)
{
    char bandwidth[64];
    double latency_s = 0;
    const char *comma = strchr(text, ',');
    const size_t length = comma ? (size_t)(comma - text) : strlen(text);
    if (length >= sizeof bandwidth)
        return false;
    snprintf(bandwidth, sizeof bandwidth, "%.*s", (int)length, text);
    if (!hr_parse_bandwidth(bandwidth, &link->bandwidth) || link->bandwidth < least_bandwidth ||
        link->bandwidth > most_bandwidth)
        return false;
    if (comma && (!hr_parse_duration(comma + 1, &latency_s) || latency_s > most_latency_s))
        return false;
    link->latency_ps = llround(latency_s * 1e12);
    return true;
}

enum hr_status hr_link_parse(const char *where, const char *text, struct hr_link *out)
{
    struct hr_link link;
    if (!parse(text, &link))
        return hr_fail(HR_E_USAGE,
                       "%s%s: expected BANDWIDTH[,LATENCY], as 16GB/s or 16GB/s,5us (1B/s to "
                       "1000TB/s, at most 1h)",
                       where, text);
    *out = link;
    return HR_OK;
}

int64_t hr_link_busy_ps(uint64_t bytes, double bandwidth)
{
    const double ps = (double)bytes * 1e12 / bandwidth;
    return ps < (double)HR_PS_NEVER ? (int64_t)llround(ps) : HR_PS_NEVER;
}

/* === nodes and wires === */

/* *list grows by powers of two: room for one more than n. */
static enum hr_status make_room(void **list, size_t n, size_t size)
{
    if (n & (n - 1)) /* not at a power of two */
        return HR_OK;
    void *more = realloc(*list, (n ? 2 * n : 1) * size);
    if (!more)
        return hr_fail(HR_E_NOMEM, "no memory for a topology");
    *list = more;
    return HR_OK;
}

static enum hr_status add_name(struct hr_node **list, size_t *n, const char *name)
{
    void *names = *list;
    HR_TRY(make_room(&names, *n, sizeof **list));
    *list = names;
    snprintf((*list)[(*n)++].name, HR_TOPOLOGY_NAME, "%s", name);
    return HR_OK;
}

/* Begin with a zeroed struct, add, then finish: routes, and that all ranks reach one another. Names
 * are cut to HR_TOPOLOGY_NAME. */
static enum hr_status add_node(struct hr_topology *topology, const char *name, bool is_rank)
{
    void *ranks = topology->rank_node;
    if (topology->nnodes == HR_TOPOLOGY_NODES)
        return hr_fail(HR_E_FORMAT, "%s: more than %d nodes", name, HR_TOPOLOGY_NODES);
    if (is_rank && topology->nranks == HR_TOPOLOGY_RANKS)
        return hr_fail(HR_E_FORMAT, "%s: more than %d ranks", name, HR_TOPOLOGY_RANKS);
    HR_TRY(add_name(&topology->node, &topology->nnodes, name));
    if (!is_rank)
        return HR_OK;
    HR_TRY(make_room(&ranks, topology->nranks, sizeof *topology->rank_node));
    topology->rank_node = ranks;
    topology->rank_node[topology->nranks++] = (uint16_t)(topology->nnodes - 1);
    return HR_OK;
}

enum hr_status hr_topology_add_wire(struct hr_topology *topology,
                                    const struct hr_topology_wire *wire)
{
    void *wires = topology->wire;
    if (topology->nwires == HR_TOPOLOGY_WIRES)
        return hr_fail(HR_E_FORMAT, "more than %d links", HR_TOPOLOGY_WIRES);
    HR_TRY(make_room(&wires, topology->nwires, sizeof *wire));
    topology->wire = wires;
    topology->wire[topology->nwires++] = *wire;
    return HR_OK;
}

static enum hr_status add_medium(struct hr_topology *topology, const char *name, uint16_t *medium)
{
    size_t i = 0;
    while (i < topology->nmedia && strcmp(topology->medium[i].name, name) != 0)
        i++;
    *medium = (uint16_t)i; /* fewer than wires */
    return i < topology->nmedia ? HR_OK : add_name(&topology->medium, &topology->nmedia, name);
}

size_t hr_topology_node(const struct hr_topology *topology, const char *name)
{
    for (size_t i = 0; i < topology->nnodes; i++)
        if (!strcmp(topology->node[i].name, name))
            return i;
    return HR_TOPOLOGY_NONE;
}

void hr_topology_fini(struct hr_topology *topology)
{
    free(topology->node);
    free(topology->rank_node);
    free(topology->wire);
    free(topology->medium);
    free(topology->next);
    *topology = (struct hr_topology){0};
}

/* === routes: for every destination, a breadth-first walk outwards from it === */

/* The wires at each node, in the order of the text: those of node v are
 * list[begin[v]] .. list[begin[v + 1]]. One allocation for all working space. */
struct routing {
    uint32_t *begin; /* (nnodes + 1) */
    uint16_t *list;  /* (2 nwires) */
    uint16_t *queue; /* (nnodes) */
    uint16_t *far;   /* (nnodes) links to the destination; NOT_SEEN */
    double *width;   /* (nnodes) bandwidth of the way there */
    void *memory;    /* owned */
};

enum { NOT_SEEN = 0xffff };

static enum hr_status take_memory(struct routing *routing, const struct hr_topology *topology)
{
    const size_t n = topology->nnodes, wires = topology->nwires; /* both are limited */
    const size_t bytes = n * (sizeof(double) + sizeof(uint32_t) + 2 * sizeof(uint16_t)) +
                         sizeof(uint32_t) + 2 * wires * sizeof(uint16_t);
    routing->memory = calloc(1, bytes);
    if (!routing->memory)
        return hr_fail(HR_E_NOMEM, "no memory to route %zu nodes", n);
    routing->width = routing->memory;
    routing->begin = (uint32_t *)(routing->width + n);
    routing->list = (uint16_t *)(routing->begin + n + 1);
    routing->queue = routing->list + 2 * wires;
    routing->far = routing->queue + n;
    return HR_OK;
}

static void list_wires(struct routing *routing, const struct hr_topology *topology)
{
    uint32_t *begin = routing->begin;
    for (size_t w = 0; w < topology->nwires; w++) {
        begin[topology->wire[w].a + 1]++;
        begin[topology->wire[w].b + 1]++;
    }
    for (size_t v = 0; v < topology->nnodes; v++)
        begin[v + 1] += begin[v];
    for (size_t w = topology->nwires; w-- > 0;) { /* from behind: begin[v + 1] falls to begin[v] */
        routing->list[--begin[topology->wire[w].a + 1]] = (uint16_t)w;
        routing->list[--begin[topology->wire[w].b + 1]] = (uint16_t)w;
    }
    memmove(begin, begin + 1, topology->nnodes * sizeof *begin);
    begin[topology->nnodes] = (uint32_t)(2 * topology->nwires);
}

static double narrower(double a, double b)
{
    return a < b ? a : b;
}

/* All that is next to v, which is nearer to `to`. */
static void reach_from(struct routing *routing, struct hr_topology *topology, size_t v, size_t to,
                       size_t *reached)
{
    for (uint32_t i = routing->begin[v]; i < routing->begin[v + 1]; i++) {
        const struct hr_topology_wire *wire = &topology->wire[routing->list[i]];
        const size_t u = hr_wire_across(wire, v);
        const double width = narrower(routing->width[v], hr_wire_bandwidth(wire));
        if (routing->far[u] == NOT_SEEN) {
            routing->far[u] = (uint16_t)(routing->far[v] + 1);
            routing->queue[(*reached)++] = (uint16_t)u;
        } else if (routing->far[u] != routing->far[v] + 1 || width <= routing->width[u]) {
            continue;
        }
        routing->width[u] = width;
        topology->next[u * topology->nnodes + to] = routing->list[i];
    }
}

static void route_to(struct routing *routing, struct hr_topology *topology, size_t to)
{
    size_t reached = 1;
    memset(routing->far, 0xff, topology->nnodes * sizeof *routing->far);
    routing->far[to] = 0;
    routing->width[to] = 1e300;
    routing->queue[0] = (uint16_t)to;
    for (size_t i = 0; i < reached; i++)
        reach_from(routing, topology, routing->queue[i], to, &reached);
}

static enum hr_status check_reach(const struct hr_topology *topology)
{
    if (topology->nranks < 2)
        return hr_fail(HR_E_FORMAT, "%zu gpus: expected 2 to %d (\"gpu NAME...\")",
                       topology->nranks, HR_TOPOLOGY_RANKS);
    const size_t first = topology->rank_node[0];
    for (size_t v = 0; v < topology->nnodes; v++)
        if (v != first && topology->next[first * topology->nnodes + v] == HR_TOPOLOGY_NONE)
            return hr_fail(HR_E_FORMAT, "no links lead from %s to %s", topology->node[first].name,
                           topology->node[v].name);
    return HR_OK;
}

static enum hr_status finish(struct hr_topology *topology)
{
    struct routing routing = {0};
    const size_t entries = topology->nnodes * topology->nnodes; /* nodes are limited */
    topology->next = malloc((entries ? entries : 1) * sizeof *topology->next);
    if (!topology->next)
        return hr_fail(HR_E_NOMEM, "no memory for the routes of %zu nodes", topology->nnodes);
    memset(topology->next, 0xff, entries * sizeof *topology->next);
    HR_TRY(take_memory(&routing, topology));
    list_wires(&routing, topology);
    for (size_t to = 0; to < topology->nnodes; to++)
        route_to(&routing, topology, to);
    free(routing.memory);
    return check_reach(topology);
}

/* === topology files, read: see topology.h for the format === */

enum { MAX_WORD = 128 };

struct reader {
    const char *name; /* of the file, for messages */
    const char *at;   /* the rest of the text */
    size_t line;
    char word[MAX_WORD]; /* the last one read; "" at the end of a line */
    struct hr_topology *topology;
};

/* "file:line: word: ..." */
#define COMPLAIN(reader, format, ...)                                                              \
    hr_fail(HR_E_FORMAT, "%s:%zu: " format, (reader)->name, (reader)->line, __VA_ARGS__)

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Read the next word of this line into reader->word: cut to what fits (no valid word is that long),
 * '?' for what cannot be printed. False, with "", at the end of the line. */
static bool next_word(struct reader *reader)
{
    size_t n = 0;
    while (is_blank(*reader->at))
        reader->at++;
    if (*reader->at == '#')
        reader->at += strcspn(reader->at, "\n");
    for (; *reader->at && *reader->at != '\n' && *reader->at != '#' && !is_blank(*reader->at);
         reader->at++)
        if (n + 1 < MAX_WORD)
            reader->word[n++] = isprint((unsigned char)*reader->at) ? *reader->at : '?';
    reader->word[n] = 0;
    return n > 0;
}

static bool is_name(const char *word)
{
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            return false;
    return word[0] && strlen(word) < HR_TOPOLOGY_NAME;
}

static enum hr_status read_name(struct reader *reader)
{
    if (is_name(reader->word))
        return HR_OK;
    return COMPLAIN(reader, "\"%s\": expected a name of 1 to %d letters, digits, - _ or .",
                    reader->word, HR_TOPOLOGY_NAME - 1);
}

/* gpu NAME... and node NAME... */
static enum hr_status read_nodes(struct reader *reader, bool ranks)
{
    if (!next_word(reader))
        return COMPLAIN(reader, "%s: expected names behind it", ranks ? "gpu" : "node");
    do {
        HR_TRY(read_name(reader));
        if (hr_topology_node(reader->topology, reader->word) != HR_TOPOLOGY_NONE)
            return COMPLAIN(reader, "%s: there is a node of that name already", reader->word);
        const enum hr_status status = add_node(reader->topology, reader->word, ranks);
        if (status != HR_OK)
            return hr_fail_within(status, "%s:%zu", reader->name, reader->line);
    } while (next_word(reader));
    return HR_OK;
}

static enum hr_status read_end(struct reader *reader, uint16_t *node)
{
    if (!next_word(reader))
        return COMPLAIN(reader, "%s: expected \"link A B BANDWIDTH [LATENCY] [xN] [shared NAME]\"",
                        "link");
    const size_t found = hr_topology_node(reader->topology, reader->word);
    if (found == HR_TOPOLOGY_NONE)
        return COMPLAIN(reader,
                        "%s: no such node; expected one that a gpu or node line above names",
                        reader->word);
    *node = (uint16_t)found;
    return HR_OK;
}

/* BANDWIDTH [LATENCY], the grammar of --link with a blank for its comma; the word behind them is
 * read too. */
static enum hr_status read_link(struct reader *reader, struct hr_link *link)
{
    char text[2 * MAX_WORD + 1], where[HR_TOPOLOGY_NAME + 4096];
    if (!next_word(reader))
        return COMPLAIN(reader, "%s: expected a bandwidth behind the two nodes, as 16GB/s", "link");
    memcpy(text, reader->word, sizeof reader->word);
    if (next_word(reader) && isdigit((unsigned char)reader->word[0])) {
        strcat(strcat(text, ","), reader->word);
        next_word(reader);
    }
    snprintf(where, sizeof where, "%.4000s:%zu: ", reader->name, reader->line);
    return hr_link_parse(where, text, link) == HR_OK ? HR_OK : HR_E_FORMAT;
}

static enum hr_status read_lanes(struct reader *reader, struct hr_topology_wire *wire)
{
    uint64_t lanes = 0;
    if (reader->word[0] != 'x')
        return HR_OK;
    if (!hr_parse_count(reader->word + 1, &lanes) || lanes < 1 || lanes > HR_TOPOLOGY_LANES)
        return COMPLAIN(reader, "%s: expected x1 to x%d lanes", reader->word, HR_TOPOLOGY_LANES);
    wire->lanes = (uint16_t)lanes;
    next_word(reader);
    return HR_OK;
}

static enum hr_status read_medium(struct reader *reader, struct hr_topology_wire *wire)
{
    if (strcmp(reader->word, "shared") != 0)
        return HR_OK;
    next_word(reader);
    HR_TRY(read_name(reader));
    HR_TRY(add_medium(reader->topology, reader->word, &wire->medium));
    next_word(reader);
    return HR_OK;
}

static enum hr_status check_ends(const struct reader *reader, const struct hr_topology_wire *wire)
{
    const struct hr_topology *topology = reader->topology;
    const char *a = topology->node[wire->a].name, *b = topology->node[wire->b].name;
    if (wire->a == wire->b)
        return COMPLAIN(reader, "link %s %s: expected two different nodes", a, b);
    for (size_t w = 0; w < topology->nwires; w++) {
        const struct hr_topology_wire *other = &topology->wire[w];
        if ((other->a == wire->a && other->b == wire->b) ||
            (other->a == wire->b && other->b == wire->a))
            return COMPLAIN(reader, "link %s %s: there is one already; write x2 for two lanes", a,
                            b);
    }
    return HR_OK;
}

static enum hr_status read_wire(struct reader *reader)
{
    struct hr_topology_wire wire = {.lanes = 1, .medium = HR_TOPOLOGY_NONE};
    HR_TRY(read_end(reader, &wire.a));
    HR_TRY(read_end(reader, &wire.b));
    HR_TRY(check_ends(reader, &wire));
    HR_TRY(read_link(reader, &wire.link));
    HR_TRY(read_lanes(reader, &wire));
    HR_TRY(read_medium(reader, &wire));
    if (reader->word[0])
        return COMPLAIN(reader, "\"%s\": expected [LATENCY] [xN] [shared NAME], in this order",
                        reader->word);
    const enum hr_status status = hr_topology_add_wire(reader->topology, &wire);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s:%zu", reader->name, reader->line);
}

static enum hr_status read_line(struct reader *reader)
{
    if (!next_word(reader))
        return HR_OK;
    if (!strcmp(reader->word, "gpu"))
        return read_nodes(reader, true);
    if (!strcmp(reader->word, "node"))
        return read_nodes(reader, false);
    if (!strcmp(reader->word, "link"))
        return read_wire(reader);
    return COMPLAIN(reader, "\"%s\": expected gpu, node or link", reader->word);
}

static enum hr_status read_all(struct reader *reader)
{
    for (reader->line = 1; *reader->at; reader->line++) {
        HR_TRY(read_line(reader));
        if (*reader->at == '\n')
            reader->at++;
    }
    const enum hr_status status = finish(reader->topology);
    return status == HR_OK ? HR_OK : hr_fail_within(status, "%s", reader->name);
}

enum hr_status hr_topology_parse(const char *name, const char *text, struct hr_topology *out)
{
    *out = (struct hr_topology){0};
    struct reader reader = {.name = name, .at = text, .topology = out};
    const enum hr_status status = read_all(&reader);
    if (status != HR_OK)
        hr_topology_fini(out);
    return status;
}

/* === topologies by name: families on paper, and files === */

static enum hr_status add_ranks(struct hr_topology *topology, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char name[HR_TOPOLOGY_NAME];
        snprintf(name, sizeof name, "gpu%zu", r);
        HR_TRY(add_node(topology, name, true));
    }
    return HR_OK;
}

static enum hr_status make_star(struct hr_topology *topology, size_t n, const struct hr_link *link)
{
    HR_TRY(add_ranks(topology, n));
    HR_TRY(add_node(topology, "switch", false));
    for (size_t r = 0; r < n; r++)
        HR_TRY(hr_topology_add_wire(topology, &(struct hr_topology_wire){.a = (uint16_t)r,
                                                                         .b = (uint16_t)n,
                                                                         .lanes = 1,
                                                                         .medium = HR_TOPOLOGY_NONE,
                                                                         .link = *link}));
    return finish(topology);
}

static enum hr_status make_ring(struct hr_topology *topology, size_t n, const struct hr_link *link)
{
    HR_TRY(add_ranks(topology, n));
    for (size_t r = 0; r < (n == 2 ? 1 : n); r++)
        HR_TRY(
            hr_topology_add_wire(topology, &(struct hr_topology_wire){.a = (uint16_t)r,
                                                                      .b = (uint16_t)((r + 1) % n),
                                                                      .lanes = 1,
                                                                      .medium = HR_TOPOLOGY_NONE,
                                                                      .link = *link}));
    return finish(topology);
}

static enum hr_status make_family(const char *what, const struct hr_link *link,
                                  struct hr_topology *out)
{
    uint64_t n;
    if (!hr_parse_count(strchr(what, ':') + 1, &n) || n < 2 || n > HR_TOPOLOGY_RANKS)
        return hr_fail(HR_E_USAGE, "--topology %s: expected 2 to %d ranks, as star:8", what,
                       HR_TOPOLOGY_RANKS);
    *out = (struct hr_topology){0};
    const enum hr_status status =
        what[0] == 's' ? make_star(out, n, link) : make_ring(out, n, link);
    if (status != HR_OK)
        hr_topology_fini(out);
    return status;
}

static enum hr_status read_file(const char *path, struct hr_topology *out)
{
    char *text;
    size_t bytes;
    HR_TRY(hr_file_read_all(path, 1 << 20, &text, &bytes));
    const enum hr_status status =
        strlen(text) == bytes ? hr_topology_parse(path, text, out)
                              : hr_fail(HR_E_FORMAT, "%s: holds a zero byte: expected text", path);
    free(text);
    return status;
}

enum hr_status hr_topology_open(const char *what, const struct hr_link *link,
                                struct hr_topology *out)
{
    if (!strncmp(what, "star:", 5) || !strncmp(what, "ring:", 5))
        return make_family(what, link, out);
    return read_file(what, out);
}
