/* Topology files, read: see topology.h for the format. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "netsim/topology.h"

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
        const enum hr_status status = hr_topology_add_node(reader->topology, reader->word, ranks);
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
    HR_TRY(hr_topology_add_medium(reader->topology, reader->word, &wire->medium));
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
    const enum hr_status status = hr_topology_finish(reader->topology);
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
