#include "net/space.h"

#include <string.h>

#include "base/arena.h"
#include "base/cpus.h"
#include "base/size.h"
#include "kernels/team.h"
#include "products/ready.h"

enum { MOST_AT_ONCE = 1024 };

static enum hr_status check_options(const struct hr_net *net, size_t max_batch,
                                    const struct hr_net_space_options *o)
{
    if (!net)
        return hr_fail(HR_E_USAGE, "net: found NULL");
    if (max_batch < 1)
        return hr_fail(HR_E_USAGE, "max_batch: found 0, expected at least 1");
    if (o->threads > HR_TEAM_MAX || o->at_once > MOST_AT_ONCE)
        return hr_fail(HR_E_USAGE, "found %zu threads, %zu at once; expected at most %d and %d",
                       o->threads, o->at_once, HR_TEAM_MAX, MOST_AT_ONCE);
    return HR_OK;
}

static struct hr_workspace_options workspace_options(const struct hr_net_space_options *o)
{
    return (struct hr_workspace_options){.seed = o->seed, .threads = o->threads};
}

static bool target_bytes(const struct hr_net *net, size_t max_batch, size_t *bytes)
{
    return hr_size_mul(max_batch, net->targets * sizeof(float), bytes);
}

/* Wherever the memory begins, there is an aligned address in its first bytes. */
enum hr_status hr_net_space_bytes(const struct hr_net *net, size_t max_batch,
                                  const struct hr_net_space_options *options, size_t *bytes)
{
    static const struct hr_net_space_options zeros;
    const struct hr_net_space_options *o = options ? options : &zeros;
    HR_TRY(check_options(net, max_batch, o));
    const struct hr_workspace_options of = workspace_options(o);
    const size_t own = HR_ARENA_ALIGN + hr_arena_need(sizeof(struct hr_net_space));
    const size_t rest = hr_workspace_place_bytes(net->model, max_batch, &of);
    size_t values, all;
    if (!bytes)
        return hr_fail(HR_E_USAGE, "bytes: found NULL");
    if (!rest || !target_bytes(net, max_batch, &values) || !hr_size_add(own, rest, &all) ||
        !hr_size_add(all, values, bytes))
        return hr_fail(HR_E_NOMEM, "a space for batches of %zu samples is too large", max_batch);
    return HR_OK;
}

enum hr_status hr_net_space_open(const struct hr_net *net, size_t max_batch,
                                 const struct hr_net_space_options *options, void *memory,
                                 size_t bytes, struct hr_net_space **out)
{
    const struct hr_net_space_options o = options ? *options : (struct hr_net_space_options){0};
    size_t needed;
    if (!out)
        return hr_fail(HR_E_USAGE, "hr_net_space_open: found NULL for the space");
    *out = NULL;
    HR_TRY(hr_net_space_bytes(net, max_batch, &o, &needed));
    if (!memory || bytes < needed)
        return hr_fail(HR_E_USAGE, "memory of a space: found %zu bytes at %p, expected %zu", bytes,
                       memory, needed);
    HR_TRY(hr_kernels_init_process(o.at_once ? o.at_once : hr_cpus_allowed()));
    unsigned char *at = memory;
    at += (HR_ARENA_ALIGN - (uintptr_t)at % HR_ARENA_ALIGN) % HR_ARENA_ALIGN;
    struct hr_net_space *space = (void *)at;
    const struct hr_workspace_options of = workspace_options(&o);
    *space = (struct hr_net_space){.net = net, .max_batch = max_batch};
    at += hr_arena_need(sizeof *space);
    space->workspace = hr_workspace_place(net->model, max_batch, &of, at);
    at += hr_workspace_place_bytes(net->model, max_batch, &of);
    space->targets = net->targets ? (void *)at : NULL;
    *out = space;
    return HR_OK;
}
