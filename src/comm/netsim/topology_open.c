/* Topologies by name: families on paper, and files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"
#include "netsim/topology.h"

static enum hr_status add_ranks(struct hr_topology *topology, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char name[HR_TOPOLOGY_NAME];
        snprintf(name, sizeof name, "gpu%zu", r);
        HR_TRY(hr_topology_add_node(topology, name, true));
    }
    return HR_OK;
}

static enum hr_status make_star(struct hr_topology *topology, size_t n, const struct hr_link *link)
{
    HR_TRY(add_ranks(topology, n));
    HR_TRY(hr_topology_add_node(topology, "switch", false));
    for (size_t r = 0; r < n; r++)
        HR_TRY(hr_topology_add_wire(topology, &(struct hr_topology_wire){.a = (uint16_t)r,
                                                                         .b = (uint16_t)n,
                                                                         .lanes = 1,
                                                                         .medium = HR_TOPOLOGY_NONE,
                                                                         .link = *link}));
    return hr_topology_finish(topology);
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
    return hr_topology_finish(topology);
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
