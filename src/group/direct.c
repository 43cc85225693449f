#include "group/direct.h"

#include <string.h>

#include "base/size.h"
#include "group/member.h"

/* The payload of a post: where a rank's part of a piece lies, from the segment's start. */
struct whereabouts {
    uint64_t in, out;
};

size_t hr_stages_bytes(size_t nranks)
{
    return 2 * nranks * (size_t)HR_STAGE_BYTES;
}

static unsigned char *stage_of(const struct hr_member *member, size_t rank)
{
    const struct hr_direct *s = &member->direct;
    return s->stages + (s->pieces % 2 * member->options.nranks + rank) * HR_STAGE_BYTES;
}

static size_t elem_bytes(const struct hr_member *member)
{
    return hr_type_bytes(member->job.kind.type);
}

/* The chunk of `rank` in this piece, in bytes from the piece's start. */
static struct hr_region chunk_of(const struct hr_member *member, size_t rank)
{
    const struct hr_layout piece = {.count = member->direct.count,
                                    .elem_bytes = elem_bytes(member),
                                    .nchunks = member->options.nranks};
    return hr_layout_region(&piece, rank, 1);
}

/* The caller's buffers, at this piece. */
static const unsigned char *own_in(const struct hr_member *member)
{
    return (const unsigned char *)member->job.in + member->direct.first * elem_bytes(member);
}

static unsigned char *own_out(const struct hr_member *member)
{
    return (unsigned char *)member->job.out + member->direct.first * elem_bytes(member);
}

/* --- a piece --- */

static void copy_in(struct hr_member *member)
{
    for (size_t r = 0; r < member->options.nranks; r++) {
        const struct hr_region chunk = chunk_of(member, r);
        if (r != member->rank && chunk.bytes)
            memcpy(stage_of(member, member->rank) + chunk.begin, own_in(member) + chunk.begin,
                   chunk.bytes);
    }
}

static void copy_out(struct hr_member *member)
{
    for (size_t r = 0; r < member->options.nranks; r++) {
        const struct hr_region chunk = chunk_of(member, r);
        if (r != member->rank && chunk.bytes)
            memcpy(own_out(member) + chunk.begin, stage_of(member, r) + chunk.begin, chunk.bytes);
    }
}

static void begin_piece(struct hr_member *member, size_t first)
{
    struct hr_direct *s = &member->direct;
    const uintptr_t segment = (uintptr_t)member->place.segment;
    const size_t left = member->job.count - first;
    s->first = first;
    s->count = s->staged ? hr_min_size(left, HR_STAGE_BYTES / elem_bytes(member)) : left;
    s->reduced = false;
    s->pieces++;
    hr_member_account_direct(member, s->count);
    if (s->staged)
        copy_in(member);
    const unsigned char *in = s->staged ? stage_of(member, member->rank) : own_in(member);
    const unsigned char *out = s->staged ? in : own_out(member);
    const struct whereabouts mine = {(uintptr_t)in - segment, (uintptr_t)out - segment};
    hr_post(&member->posts, &member->call, &mine, sizeof mine);
}

/* Reduce the own chunk: into everybody's output; staged, into ours and what others copy out. */
static void reduce_own(struct hr_member *member)
{
    const struct hr_region mine = chunk_of(member, member->rank);
    const uintptr_t segment = (uintptr_t)member->place.segment;
    const void *in[HR_MAX_RANKS];
    void *out[HR_MAX_RANKS];
    for (size_t r = 0; r < member->options.nranks; r++) {
        struct whereabouts at;
        memcpy(&at, hr_post_of(&member->posts, r)->payload, sizeof at);
        in[r] = (const void *)(segment + (uintptr_t)at.in + mine.begin);
        out[r] = (void *)(segment + (uintptr_t)at.out + mine.begin);
    }
    size_t nout = member->options.nranks;
    if (member->direct.staged) {
        in[member->rank] = own_in(member) + mine.begin;
        out[0] = own_out(member) + mine.begin;
        out[1] = stage_of(member, member->rank) + mine.begin;
        nout = member->options.nranks > 1 ? 2 : 1;
    }
    hr_element_tree(member->job.kind, out, nout, in, member->options.nranks,
                    mine.bytes / elem_bytes(member));
}

/* --- the method --- */

static void start(struct hr_member *member)
{
    struct hr_direct *s = &member->direct;
    s->staged = member->choice.own_memory;
    HR_ASSERT(!s->staged || s->stages);
    begin_piece(member, 0);
}

static bool test(struct hr_member *member)
{
    struct hr_direct *s = &member->direct;
    while (hr_posts_complete(&member->posts)) {
        if (!hr_posts_agree(member))
            return true;
        hr_place_moves(&member->place);
        if (!s->reduced) {
            reduce_own(member);
            s->reduced = true;
            hr_post(&member->posts, &member->call, NULL, 0);
            continue;
        }
        if (s->staged)
            copy_out(member);
        if (s->first + s->count == member->job.count)
            return true;
        begin_piece(member, s->first + s->count);
    }
    return false;
}

static struct hr_bell *bell(const struct hr_member *member)
{
    return hr_posts_bell(&member->posts);
}

const struct hr_method hr_by_direct = {start, test, bell};
