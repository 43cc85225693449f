#include "group/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/fpenv.h"
#include "base/log.h"
#include "base/size.h"
#include "group/executor.h"
#include "group/p2p.h"
#include "launch/join.h"
#include "launch/launch.h"
#include "netsim/links.h"

enum {
    USUAL_ARENA = 16 << 20,
    USUAL_TIMEOUT_S = 30,
    USUAL_GROUPS = 8,
    PAYLOAD = 64 << 20,      /* at most, of all streams of the world's group together */
    SMALL_PAYLOAD = 2 << 20, /* of a further group's */
    LARGEST_SLOT = 32 << 10, /* 8 of them, a stream's, stay in L2 */
    LEAST_SLOT = 512,
};

/* What all ranks of a world know; private memory, filled before ranks are forked. */
struct hr_world_layout {
    struct hr_group_options group; /* of the world's group */
    struct hr_group_options small; /* of further groups: slots of another size */
    size_t group_bytes, groups_bytes, arena_bytes, segment_bytes;
    enum hr_launch launch;
    int64_t timeout_ns, spin_ns, yield_ns;
    bool pin;
    struct hr_wires wires; /* emulated links; without ranks: there are none */
    size_t wires_bytes;
};

/* --- options --- */

/* The largest slot with which the payload of all streams fits into `bytes`. */
static size_t slot_bytes_within(size_t bytes, size_t nranks)
{
    const size_t streams = nranks * (2 * nranks - 1);
    size_t slot = LARGEST_SLOT;
    while (slot > LEAST_SLOT && slot * streams * HR_STREAM_SLOTS > bytes)
        slot /= 2;
    return slot;
}

static enum hr_status read_transport(const char *name, bool *copies)
{
    *copies = name && !strcmp(name, "copy");
    if (!name || *copies || !strcmp(name, "zero-copy"))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--transport %s: expected zero-copy or copy", name);
}

static enum hr_status read_options(const struct hr_world_options *o, struct hr_world_layout *layout)
{
    struct hr_group_options *group = &layout->group;
    if (o->nranks < 1 || o->nranks > HR_MAX_RANKS)
        return hr_fail(HR_E_USAGE, "%zu ranks: expected 1 to %d", o->nranks, HR_MAX_RANKS);
    HR_TRY(hr_launch_parse(o->launch ? o->launch : "thread", &layout->launch));
    HR_TRY(hr_algorithm_find(o->algorithm ? o->algorithm : "auto", &group->algorithm));
    HR_TRY(read_transport(o->transport, &group->copies));
    group->nranks = o->nranks;
    group->crowded = o->nranks > hr_cpus_allowed();
    group->helpers = hr_cpus_cores() - 1;
    group->group_size = o->group_size;
    group->any_operation = true;
    if (group->algorithm == &hr_allreduce_auto)
        group->one_shot_bytes = hr_tune_one_shot_bytes(o->nranks);
    if (group->copies || layout->launch == HR_LAUNCH_PROCESS)
        group->slot_bytes = slot_bytes_within(PAYLOAD, o->nranks);
    layout->small = *group;
    if (group->slot_bytes)
        layout->small.slot_bytes = slot_bytes_within(SMALL_PAYLOAD, o->nranks);
    layout->pin = o->pin != 0;
    const double timeout = o->timeout > 0 ? o->timeout : o->timeout < 0 ? 0 : USUAL_TIMEOUT_S;
    layout->timeout_ns = (int64_t)(timeout * (double)HR_NS_PER_SECOND);
    layout->spin_ns = hr_spin_budget_ns(o->nranks);
    layout->yield_ns = hr_yield_budget_ns(o->nranks);
    return HR_OK;
}

static enum hr_status read_links(const struct hr_world_options *o, struct hr_world_layout *layout)
{
    if (!o->link && !o->topology)
        return HR_OK;
    if (!layout->group.copies)
        return hr_fail(HR_E_USAGE, "--%s: links are emulated for --transport copy only",
                       o->link ? "link" : "topology");
    HR_TRY(hr_wires_open(&layout->wires, o->nranks, o->link, o->topology,
                         o->slower > 0 ? o->slower : 1));
    layout->wires_bytes = hr_round_up(hr_wires_bytes(&layout->wires), HR_LINE);
    return HR_OK;
}

/* Check the options and compute all sizes; finish with hr_wires_close(&layout->wires). HR_E_USAGE,
 * HR_E_NOMEM, and what topology files can be refused for. */
static enum hr_status lay_out(const struct hr_world_options *o, struct hr_world_layout *layout)
{
    size_t one_group, arenas;
    *layout = (struct hr_world_layout){0};
    HR_TRY(read_options(o, layout));
    HR_TRY(read_links(o, layout));
    HR_TRY(hr_group_bytes(&layout->group, &layout->group_bytes));
    HR_TRY(hr_group_bytes(&layout->small, &one_group));
    layout->group_bytes = hr_round_up(layout->group_bytes, HR_LINE);
    layout->groups_bytes =
        (o->max_groups ? o->max_groups : USUAL_GROUPS) * hr_round_up(one_group, HR_LINE);
    /* A few lines more for each arena, so that equal buffers of different ranks do not fall into
     * the same set of the cache. */
    const size_t arena = o->arena_bytes ? o->arena_bytes : USUAL_ARENA;
    layout->arena_bytes = hr_round_up(arena, 4096) + 9 * (size_t)HR_LINE;
    if (arena > SIZE_MAX / 2 || !hr_size_mul(layout->arena_bytes, o->nranks, &arenas) ||
        !hr_size_add(layout->group_bytes + layout->groups_bytes + layout->wires_bytes, arenas,
                     &layout->segment_bytes))
        return hr_fail(HR_E_NOMEM, "%zu arenas of %zu bytes do not fit into memory", o->nranks,
                       arena);
    return HR_OK;
}

/* Where the words of emulated links lie in the segment. */
static struct hr_atom64 *wires_in(const struct hr_world_layout *layout, void *segment)
{
    return (struct hr_atom64 *)(void *)((unsigned char *)segment + layout->group_bytes +
                                        layout->groups_bytes);
}

/* --- a rank's groups --- */

static enum hr_status make_group(struct hr_rank_world *world,
                                 const struct hr_group_options *options, void *memory,
                                 const size_t *ranks, size_t rank, struct hr_group **out)
{
    struct hr_group *group = calloc(1, sizeof *group);
    if (!group)
        return hr_fail(HR_E_NOMEM, "no memory for a group");
    group->world = world;
    for (size_t r = 0; r < options->nranks; r++)
        group->world_rank[r] = (uint16_t)(ranks ? ranks[r] : r);
    const struct hr_place place = {
        .group = memory,
        .segment = world->segment->base,
        .control = world->control,
        .waiter = &world->waiter,
        .segment_bytes = world->layout->launch == HR_LAUNCH_THREAD ? 0 : world->segment->bytes,
        .world_rank = group->world_rank,
        .number = world->groups_made,
        .wires = world->layout->wires.nranks ? &world->layout->wires : NULL,
    };
    const enum hr_status status = hr_member_init(&group->member, options, &place, rank);
    if (status != HR_OK)
        free(group);
    else
        *out = group;
    return status;
}

/* In a rank: the world as its group. Finish with hr_group_free. */
static enum hr_status enter(struct hr_rank_world *world, struct hr_group **group)
{
    world->waiter = (struct hr_waiter){.abort = &world->control->abort,
                                       .spin_ns = world->layout->spin_ns,
                                       .yield_ns = world->layout->yield_ns,
                                       .timeout_ns = world->layout->timeout_ns};
    hr_control_phase(world->control, world->rank, HR_PHASE_COMMUNICATE);
    if (world->layout->wires.nranks) /* else the kernel rounds sleeps up by 50 us */
        prctl(PR_SET_TIMERSLACK, 1);
    if (world->layout->pin)
        hr_cpus_pin(world->local_rank);
    return make_group(world, &world->layout->group, world->segment->base, NULL, world->rank, group);
}

void hr_group_free(struct hr_group *group)
{
    if (!group)
        return;
    hr_member_fini(&group->member);
    free(group);
}

static enum hr_status check_list(const struct hr_group *world, const size_t *ranks, size_t n)
{
    const size_t size = hr_group_size(world);
    if (world->world->layout->group.nranks != size)
        return hr_fail(HR_E_USAGE, "hr_group_new: expected the world's group");
    if (n < 1 || n > size)
        return hr_fail(HR_E_USAGE, "hr_group_new: %zu ranks of a world of %zu", n, size);
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] >= size)
            return hr_fail(HR_E_USAGE, "hr_group_new: there is no rank %zu in a world of %zu",
                           ranks[i], size);
        for (size_t j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return hr_fail(HR_E_USAGE, "hr_group_new: rank %zu is listed twice", ranks[i]);
    }
    return HR_OK;
}

static enum hr_status reduce_two(struct hr_group *world, const int64_t in[2], int64_t out[2],
                                 enum hr_redop redop)
{
    hr_member_start(&world->member, &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                                     .kind = {HR_INT64, redop},
                                                     .in = in,
                                                     .out = out,
                                                     .count = 2});
    return hr_member_wait(&world->member);
}

/* All ranks must give the same list: compare a digest of it. */
static enum hr_status check_agreement(struct hr_group *world, const size_t *ranks, size_t n)
{
    uint64_t digest = 0;
    int64_t least[2], most[2];
    for (size_t i = 0; i < n; i++)
        digest = digest * 67 + ranks[i] + 1;
    const int64_t mine[2] = {(int64_t)n, (int64_t)(digest >> 1)};
    HR_TRY(reduce_two(world, mine, least, HR_MIN));
    HR_TRY(reduce_two(world, mine, most, HR_MAX));
    if (memcmp(least, most, sizeof least) != 0)
        return hr_fail(HR_E_MISMATCH, "hr_group_new: ranks gave different lists");
    return HR_OK;
}

enum hr_status hr_group_new(struct hr_group *world, const size_t *ranks, size_t n,
                            struct hr_group **group)
{
    struct hr_rank_world *rank_world = world->world;
    struct hr_group_options options = rank_world->layout->small;
    size_t bytes, me = n;
    *group = NULL;
    HR_TRY(check_list(world, ranks, n));
    HR_TRY(check_agreement(world, ranks, n));
    options.nranks = n;
    HR_TRY(hr_group_bytes(&options, &bytes));
    bytes = hr_round_up(bytes, HR_LINE);
    if (bytes > rank_world->layout->groups_bytes - rank_world->groups_used)
        return hr_fail(HR_E_NOMEM, "hr_group_new: no room for another group (max_groups)");
    unsigned char *memory = (unsigned char *)rank_world->segment->base +
                            rank_world->layout->group_bytes + rank_world->groups_used;
    rank_world->groups_used += bytes;
    rank_world->groups_made++;
    for (size_t i = 0; i < n; i++)
        me = ranks[i] == rank_world->rank ? i : me;
    if (me == 0)
        HR_TRY(hr_group_init(memory, &options));
    if (me < n)
        HR_TRY(make_group(rank_world, &options, memory, ranks, me, group));
    return hr_member_barrier(&world->member); /* nobody uses it before it is there */
}

/* --- what a rank may ask of its group --- */

size_t hr_group_rank(const struct hr_group *group)
{
    return group->member.rank;
}

size_t hr_group_size(const struct hr_group *group)
{
    return group->member.options.nranks;
}

size_t hr_local_rank(const struct hr_group *group)
{
    return group->world->local_rank;
}

struct hr_traffic hr_group_traffic(const struct hr_group *group, size_t peer)
{
    HR_ASSERT(peer < hr_group_size(group));
    return group->member.traffic[peer];
}

enum hr_status hr_group_alloc(struct hr_group *group, size_t bytes, void **memory)
{
    struct hr_rank_world *world = group->world;
    const struct hr_world_layout *layout = world->layout;
    const size_t left = layout->arena_bytes - world->arena_used;
    if (bytes > left || hr_round_up(bytes, HR_LINE) > left)
        return hr_fail(HR_E_NOMEM,
                       "hr_group_alloc: %zu bytes, and %zu are left of %zu "
                       "(arena_bytes)",
                       bytes, left, layout->arena_bytes);
    *memory = (unsigned char *)world->segment->base + layout->group_bytes + layout->groups_bytes +
              layout->wires_bytes + world->rank * layout->arena_bytes + world->arena_used;
    world->arena_used += hr_round_up(bytes, HR_LINE);
    return HR_OK;
}

/* --- a world of ranks that we start --- */

struct spawn {
    struct hr_world_layout layout;
    struct hr_segment segment, control;
    hr_rank_fn work;
    void *arg;
};

static enum hr_status rank_main(void *arg, size_t rank)
{
    struct spawn *spawn = arg;
    struct hr_rank_world world = {.layout = &spawn->layout,
                                  .segment = &spawn->segment,
                                  .control = spawn->control.base,
                                  .rank = rank,
                                  .local_rank = rank};
    struct hr_group *group;
    HR_TRY(enter(&world, &group));
    const enum hr_status status = spawn->work(group, spawn->arg);
    if (spawn->layout.launch == HR_LAUNCH_PROCESS)
        fflush(NULL); /* a rank ends by _exit, and what it has printed should not be lost */
    hr_group_free(group);
    return status;
}

enum hr_status hr_world_run(const struct hr_world_options *options, hr_rank_fn work, void *arg)
{
    struct spawn *spawn = calloc(1, sizeof *spawn);
    enum hr_status status;
    bool stuck = false;
    if (!spawn)
        return hr_fail(HR_E_NOMEM, "no memory for a world");
    spawn->work = work;
    spawn->arg = arg;
    HR_TRY_GOTO(lay_out(options, &spawn->layout), status, out);
    const size_t n = spawn->layout.group.nranks;
    HR_TRY_GOTO(hr_segment_create(hr_control_bytes(n), true, &spawn->control), status, out);
    HR_TRY_GOTO(hr_segment_create(spawn->layout.segment_bytes, false, &spawn->segment), status,
                out);
    hr_control_init(spawn->control.base, n);
    spawn->layout.wires.free_at = wires_in(&spawn->layout, spawn->segment.base);
    HR_TRY_GOTO(hr_group_init(spawn->segment.base, &spawn->layout.group), status, out);
    const struct hr_launch_options launch = {.launch = spawn->layout.launch,
                                             .nranks = n,
                                             .control = spawn->control.base,
                                             .main = rank_main,
                                             .timeout_ns = spawn->layout.timeout_ns,
                                             .arg = spawn};
    fflush(NULL); /* else what the caller has printed would be printed by every rank */
    status = hr_launch_run(&launch, &stuck);
    if (stuck) /* a thread that does not end still uses all of it */
        return status;
out:
    hr_segment_destroy(&spawn->segment);
    hr_segment_destroy(&spawn->control);
    hr_wires_close(&spawn->layout.wires);
    free(spawn);
    return status;
}

/* === where auto changes to direct === */

enum { LEAST = 256, SIZES = 5, ROUNDS = 5, CALLS = 100, LARGEST_FILE = 64 << 10 };
_Static_assert(LEAST << (SIZES - 1) == HR_POST_BYTES, "sizes double up to the largest notice");

/* --- measuring --- */

struct trial {
    int64_t best_ns[SIZES]; /* of CALLS calls; writer: rank 0 */
};

static enum hr_status time_calls(struct hr_group *world, float *buffer, size_t bytes, int64_t *took)
{
    const struct hr_job job = {.operation = HR_OP_ALL_REDUCE,
                               .kind = {HR_FLOAT32, HR_MAX},
                               .in = buffer,
                               .out = buffer,
                               .count = bytes / sizeof *buffer};
    HR_TRY(hr_member_barrier(&world->member));
    const int64_t began = hr_clock_ns();
    for (size_t call = 0; call < CALLS; call++) {
        hr_member_start(&world->member, &job);
        HR_TRY(hr_member_wait(&world->member));
    }
    *took = hr_clock_ns() - began;
    return HR_OK;
}

static enum hr_status time_sizes(struct hr_group *world, void *arg)
{
    struct trial *trial = arg;
    void *buffer;
    HR_TRY(hr_group_alloc(world, HR_POST_BYTES, &buffer));
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t size = 0; size < SIZES; size++) {
            int64_t took;
            HR_TRY(time_calls(world, buffer, (size_t)LEAST << size, &took));
            if (hr_group_rank(world) == 0 && (round == 0 || took < trial->best_ns[size]))
                trial->best_ns[size] = took;
        }
    return HR_OK;
}

static enum hr_status try_algorithm(const char *algorithm, size_t nranks, struct trial *trial)
{
    const struct hr_world_options options = {.nranks = nranks,
                                             .algorithm = algorithm,
                                             .arena_bytes = HR_POST_BYTES,
                                             .max_groups = 1,
                                             .pin = 1};
    return hr_world_run(&options, time_sizes, trial);
}

static size_t measure(size_t nranks)
{
    struct trial one_shot, direct;
    size_t bytes = 0;
    if (try_algorithm("one-shot", nranks, &one_shot) != HR_OK ||
        try_algorithm("direct", nranks, &direct) != HR_OK)
        return 0;
    for (size_t size = 0; size < SIZES && one_shot.best_ns[size] <= direct.best_ns[size]; size++)
        bytes = (size_t)LEAST << size;
    return bytes;
}

/* --- the file --- */

const char *hr_tune_file(void)
{
    static char path[HR_PATH_MAX];
    const char *asked = getenv("HOGRING_TUNE"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    path[0] = '\0';
    if (asked)
        snprintf(path, sizeof path, "%s", asked);
    else if (cache && cache[0] == '/')
        snprintf(path, sizeof path, "%s/hogring/tune", cache);
    else if (home && home[0] == '/')
        snprintf(path, sizeof path, "%s/.cache/hogring/tune", home);
    return path;
}

/* The two lines that a file of this machine begins with. */
static void write_head(char *head, size_t size)
{
    char model[201];
    hr_cpus_model(model, sizeof model);
    snprintf(head, size,
             "# hogring: auto reduces buffers up to so many bytes in one shot, larger ones "
             "directly\n# %s, %zu processors\n",
             model[0] ? model : "unknown processor", hr_cpus_allowed());
}

/* The line of `nranks` behind the head; false when there is none. */
static bool find_line(const char *text, const char *head, size_t nranks, size_t *bytes)
{
    if (strncmp(text, head, strlen(head)) != 0)
        return false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t ranks, found;
        line += *line == '\n';
        if (sscanf(line, "ranks %zu one-shot %zu", &ranks, &found) == 2 && ranks == nranks) {
            *bytes = found < HR_POST_BYTES ? found : HR_POST_BYTES;
            return true;
        }
    }
    return false;
}

static bool recall(const char *head, size_t nranks, size_t *bytes, char **text)
{
    size_t length;
    if (hr_file_read_own(hr_tune_file(), LARGEST_FILE, text, &length) != HR_OK)
        return false;
    return find_line(*text, head, nranks, bytes);
}

/* A file that is there and does not begin as we begin one (text; NULL: it cannot be read). */
static bool is_foreign(const char *text)
{
    static const char begin[] = "# hogring: ";
    return access(hr_tune_file(), F_OK) == 0 &&
           (!text || (text[0] && strncmp(text, begin, sizeof begin - 1) != 0));
}

/* Keep the lines that are there, if they are this machine's. If writing fails we measure again next
 * time. */
static enum hr_status remember(const char *head, const char *text, size_t nranks, size_t bytes)
{
    char folder[HR_PATH_MAX], whole[LARGEST_FILE];
    const bool ours = text && strncmp(text, head, strlen(head)) == 0;
    snprintf(whole, sizeof whole, "%sranks %zu one-shot %zu\n", ours ? text : head, nranks, bytes);
    if (!hr_tune_file()[0])
        return HR_OK;
    if (is_foreign(text)) {
        hr_log(HR_LOG_WARNING,
               "%s: is not what hogring keeps there, or cannot be read, and is left as it is "
               "(HOGRING_TUNE names another file)",
               hr_tune_file());
        return HR_OK;
    }
    HR_TRY(hr_path_parent(folder, hr_tune_file()));
    HR_TRY(hr_folder_make(folder));
    return hr_file_replace_durably(hr_tune_file(), whole, strlen(whole));
}

size_t hr_tune_one_shot_bytes(size_t nranks)
{
    char head[512], *text = NULL;
    size_t bytes = 0;
    if (nranks < 2 || nranks > hr_cpus_allowed())
        return 0;
    write_head(head, sizeof head);
    if (!recall(head, nranks, &bytes, &text)) {
        bytes = measure(nranks);
        const enum hr_status kept = remember(head, text, nranks, bytes);
        (void)kept; /* what is not kept is measured again */
    }
    free(text);
    return bytes;
}

/* === a world of ranks that somebody else has started, one by one === */

/* What a joined rank holds. */
struct joined {
    struct hr_world_layout layout;
    struct hr_join join;
    struct hr_rank_world world;
};

static struct joined *joined_of(struct hr_group *group)
{
    return (struct joined *)((unsigned char *)group->world - offsetof(struct joined, world));
}

static bool rank_0_is_ready(void *arg)
{
    const struct hr_control *control = arg;
    return hr_atom32_load_acquire(&control->rank[0].phase) !=
           HR_PHASE_STARTING; /* partner: below */
}

/* Rank 0 makes the group in the segment; nobody may use it before. */
static enum hr_status set_up(struct joined *joined)
{
    struct hr_control *control = joined->join.control;
    const size_t rank = joined->join.options.rank, n = joined->join.options.nranks;
    joined->layout.wires.free_at = wires_in(&joined->layout, joined->join.segment.base);
    if (rank != 0) {
        struct hr_waiter waiter = {.timeout_ns = joined->layout.timeout_ns};
        hr_join_watch(&joined->join, &waiter);
        return hr_wait_until(&waiter, &control->rank[rank].bell, rank_0_is_ready, control,
                             "rank 0 to set the world up");
    }
    HR_TRY(hr_group_init(joined->join.segment.base, &joined->layout.group));
    hr_control_phase(control, 0, HR_PHASE_COMMUNICATE); /* partner: rank_0_is_ready */
    for (size_t r = 0; r < n; r++)
        hr_bell_ring(&control->rank[r].bell);
    return HR_OK;
}

static enum hr_status enter_joined(struct joined *joined, struct hr_group **world)
{
    HR_TRY(set_up(joined));
    joined->world = (struct hr_rank_world){.layout = &joined->layout,
                                           .segment = &joined->join.segment,
                                           .control = joined->join.control,
                                           .rank = joined->join.options.rank,
                                           .local_rank = joined->join.options.local_rank};
    HR_TRY(enter(&joined->world, world));
    hr_join_watch(&joined->join, &joined->world.waiter);
    hr_fp_flush_denormals();
    return HR_OK;
}

static void release(struct joined *joined, enum hr_status outcome)
{
    hr_join_close(&joined->join, outcome);
    hr_wires_close(&joined->layout.wires);
    free(joined);
}

static enum hr_status meet(const struct hr_world_options *asked, struct joined *joined)
{
    struct hr_world_options options = *asked;
    struct hr_join_options here = {0};
    HR_TRY(hr_join_environment(&here));
    options.nranks = here.nranks;
    options.launch = "process";
    HR_TRY(lay_out(&options, &joined->layout));
    here.timeout_ns = joined->layout.timeout_ns;
    here.segment_bytes = joined->layout.segment_bytes;
    return hr_join_open(&here, &joined->join);
}

enum hr_status hr_world_join(const struct hr_world_options *options, struct hr_group **world)
{
    struct joined *joined = calloc(1, sizeof *joined);
    if (!joined)
        return hr_fail(HR_E_NOMEM, "no memory for a world");
    enum hr_status status = meet(options, joined);
    if (status == HR_OK)
        status = enter_joined(joined, world);
    if (status != HR_OK)
        release(joined, status);
    return status;
}

void hr_world_leave(struct hr_group *world, enum hr_status status)
{
    struct joined *joined = joined_of(world);
    hr_group_free(world);
    release(joined, status);
}

/* === the public operations of hogring/group.h: arguments are checked, and they are jobs === */

static enum hr_status check_peer(const struct hr_group *group, const char *what, size_t rank)
{
    if (rank < hr_group_size(group))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: there is no rank %zu in a group of %zu", what, rank,
                   hr_group_size(group));
}

static enum hr_status check_kind(const char *what, struct hr_kind kind, size_t count, size_t blocks)
{
    if (kind.type >= HR_TYPES)
        return hr_fail(HR_E_USAGE, "%s: there is no type %d", what, (int)kind.type);
    if (kind.redop >= HR_REDOPS)
        return hr_fail(HR_E_USAGE, "%s: there is no operator %d", what, (int)kind.redop);
    if (count > SIZE_MAX / 2 / 8 / blocks)
        return hr_fail(HR_E_USAGE, "%s: %zu elements are more than fit into memory", what, count);
    return HR_OK;
}

static bool overlap(const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes)
{
    return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

/* Input and output are the same (in place), where the operation allows it, or do not overlap. */
static enum hr_status check_apart(const struct hr_group *group, const struct hr_job *job)
{
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    const size_t n = hr_group_size(group), rank = hr_group_rank(group);
    const struct hr_layout layout = {job->count, hr_type_bytes(job->kind.type), facts->blocks, n, 0,
                                     0};
    const size_t block = job->count * layout.elem_bytes;
    const unsigned char *in = job->in, *out = job->out;
    if (hr_layout_origin(&layout, in, facts->in, rank) ==
            hr_layout_origin(&layout, out, facts->out, rank) ||
        !overlap(in, facts->in == HR_ALL_BLOCKS ? n * block : block, out,
                 facts->out == HR_ALL_BLOCKS ? n * block : block))
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s: input and output overlap, and are not in place", facts->name);
}

static enum hr_status run(struct hr_group *group, const struct hr_job *job)
{
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    HR_TRY(check_kind(facts->name, job->kind, job->count, hr_group_size(group)));
    HR_TRY(check_peer(group, facts->name, job->root));
    /* A rank that is not the root uses only one of the two; the other may be anything. */
    if (!facts->rooted || hr_group_rank(group) == job->root)
        HR_TRY(check_apart(group, job));
    hr_member_start(&group->member, job);
    return hr_member_wait(&group->member);
}

enum hr_status hr_barrier(struct hr_group *group)
{
    return run(group, &(struct hr_job){.operation = HR_OP_BARRIER});
}

enum hr_status hr_broadcast(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                            size_t root)
{
    return run(group,
               &(struct hr_job){
                   HR_OP_BROADCAST, {type, HR_SUM}, buffer, buffer, count, root, NULL, NULL, 0});
}

enum hr_status hr_all_reduce(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type, enum hr_redop redop)
{
    return run(group,
               &(struct hr_job){HR_OP_ALL_REDUCE, {type, redop}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_reduce(struct hr_group *group, const void *in, void *out, size_t count,
                         enum hr_type type, enum hr_redop redop, size_t root)
{
    return run(group,
               &(struct hr_job){HR_OP_REDUCE, {type, redop}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_reduce_scatter(struct hr_group *group, const void *in, void *out, size_t count,
                                 enum hr_type type, enum hr_redop redop)
{
    return run(group, &(struct hr_job){
                          HR_OP_REDUCE_SCATTER, {type, redop}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_all_gather(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type)
{
    return run(group, &(struct hr_job){
                          HR_OP_ALL_GATHER, {type, HR_SUM}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_gather(struct hr_group *group, const void *in, void *out, size_t count,
                         enum hr_type type, size_t root)
{
    return run(group,
               &(struct hr_job){HR_OP_GATHER, {type, HR_SUM}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_scatter(struct hr_group *group, const void *in, void *out, size_t count,
                          enum hr_type type, size_t root)
{
    return run(group, &(struct hr_job){
                          HR_OP_SCATTER, {type, HR_SUM}, in, out, count, root, NULL, NULL, 0});
}

enum hr_status hr_all_to_all(struct hr_group *group, const void *in, void *out, size_t count,
                             enum hr_type type)
{
    return run(group, &(struct hr_job){
                          HR_OP_ALL_TO_ALL, {type, HR_SUM}, in, out, count, 0, NULL, NULL, 0});
}

enum hr_status hr_isend(struct hr_group *group, const void *buffer, size_t count, enum hr_type type,
                        size_t to, struct hr_request **request)
{
    HR_TRY(check_kind("send", (struct hr_kind){type, HR_SUM}, count, 1));
    HR_TRY(check_peer(group, "send", to));
    return hr_p2p_send(&group->member, buffer, count, type, to, request);
}

enum hr_status hr_irecv(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                        size_t from, struct hr_request **request)
{
    HR_TRY(check_kind("receive", (struct hr_kind){type, HR_SUM}, count, 1));
    HR_TRY(check_peer(group, "receive", from));
    return hr_p2p_receive(&group->member, buffer, count, type, from, request);
}

enum hr_status hr_wait(struct hr_request *request)
{
    return hr_p2p_wait(request);
}

enum hr_status hr_send(struct hr_group *group, const void *buffer, size_t count, enum hr_type type,
                       size_t to)
{
    struct hr_request *request;
    HR_TRY(hr_isend(group, buffer, count, type, to, &request));
    return hr_wait(request);
}

enum hr_status hr_recv(struct hr_group *group, void *buffer, size_t count, enum hr_type type,
                       size_t from)
{
    struct hr_request *request;
    HR_TRY(hr_irecv(group, buffer, count, type, from, &request));
    return hr_wait(request);
}
