#include "group/posts.h"

#include <string.h>

#include "base/size.h"
#include "group/member.h"

size_t hr_posts_bytes(size_t nranks)
{
    return 2 * nranks * sizeof(struct hr_post);
}

static struct hr_post *slot_of(const struct hr_posts *posts, size_t rank)
{
    return &posts->slots[posts->number % 2 * posts->nranks + rank];
}

/* The slot of `rank` for the latest posting: readable from when that rank has posted until this
 * rank posts twice more. */
static const struct hr_post *post_of(const struct hr_posts *posts, size_t rank)
{
    return slot_of(posts, rank);
}

/* Post a call with `bytes` of payload. Never waits. */
static void post(struct hr_posts *posts, const struct hr_call *call, const void *payload,
                 size_t bytes)
{
    posts->number++;
    posts->next = 0;
    struct hr_post *slot = slot_of(posts, posts->rank);
    slot->call = *call;
    if (bytes)
        memcpy(slot->payload, payload, bytes);
    hr_bell_ring(&slot->bell); /* partner: posts_complete */
}

/* Have all posted? Never waits. While it is false posts->next is a rank that has not. */
static bool posts_complete(struct hr_posts *posts)
{
    const uint32_t postings = (uint32_t)((posts->number + 1) / 2); /* made in each slot by now */
    for (; posts->next < posts->nranks; posts->next++)
        if (!hr_bell_has_rung(&slot_of(posts, posts->next)->bell, postings))
            return false;
    return true;
}

/* Have all who posted called the same? If not, the member's status says so. */
static bool posts_agree(struct hr_member *member)
{
    for (size_t r = 0; HR_SAFETY && r < member->options.nranks; r++) {
        const struct hr_call *theirs = &post_of(&member->posts, r)->call;
        if (!hr_call_equal(theirs, &member->call)) {
            member->status = hr_member_mismatch(member, &member->call, r, theirs);
            return false;
        }
    }
    return true;
}

/* --- one-shot --- */

static void start_one_shot(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    const size_t bytes = job->operation == HR_OP_BARRIER ? 0 : hr_job_bytes(job);
    for (size_t r = 0; job->operation != HR_OP_BARRIER && r < member->options.nranks; r++)
        if (r != member->rank)
            hr_traffic_add(&member->traffic[r], bytes, 1);
    post(&member->posts, &member->call, job->in, bytes);
}

static void reduce_payloads(struct hr_member *member)
{
    const void *in[HR_MAX_RANKS];
    hr_place_moves(&member->place);
    for (size_t r = 0; r < member->options.nranks; r++)
        in[r] = post_of(&member->posts, r)->payload;
    if (member->job.operation != HR_OP_BARRIER)
        hr_element_tree(member->job.kind, &member->job.out, 1, in, member->options.nranks,
                        member->job.count);
}

static bool test_one_shot(struct hr_member *member)
{
    if (!posts_complete(&member->posts))
        return false;
    if (posts_agree(member))
        reduce_payloads(member);
    return true;
}

/* What to park on while not all have posted: of the one that is waited for. */
static struct hr_bell *bell(const struct hr_member *member)
{
    const struct hr_posts *posts = &member->posts;
    return &slot_of(posts, posts->next < posts->nranks ? posts->next : posts->rank)->bell;
}

const struct hr_method hr_by_one_shot = {start_one_shot, test_one_shot, bell};

/* === direct: each sums its own chunk === */

/* The payload of a post: where a rank's part of a piece lies, from the segment's start. */
struct whereabouts {
    uint64_t in, out;
};

size_t hr_stages_bytes(size_t nranks)
{
    return 2 * nranks * (size_t)HR_STAGE_BYTES;
}

static size_t elem_bytes(const struct hr_member *member)
{
    return hr_type_bytes(member->job.kind.type);
}

/* Elements of a piece, but for the last one. */
static size_t piece_elems(const struct hr_member *member)
{
    return member->direct.staged ? HR_STAGE_BYTES / elem_bytes(member) : member->job.count;
}

static size_t count_of(const struct hr_member *member, size_t piece)
{
    const size_t most = piece_elems(member);
    return hr_min_size(most, member->job.count - piece * most);
}

/* The chunk of `rank` in a piece, in bytes from the piece's start. */
static struct hr_region chunk_of(const struct hr_member *member, size_t piece, size_t rank)
{
    const struct hr_layout layout = {.count = count_of(member, piece),
                                     .elem_bytes = elem_bytes(member),
                                     .nchunks = member->options.nranks};
    return hr_layout_region(&layout, rank, 1);
}

/* --- in place --- */

static void post_whereabouts(struct hr_member *member)
{
    const uintptr_t segment = (uintptr_t)member->place.segment;
    const struct whereabouts mine = {(uintptr_t)member->job.in - segment,
                                     (uintptr_t)member->job.out - segment};
    hr_member_account_direct(member, member->job.count);
    post(&member->posts, &member->call, &mine, sizeof mine);
}

/* The own chunk, into everybody's output. */
static void reduce_in_place(struct hr_member *member)
{
    const struct hr_region mine = chunk_of(member, 0, member->rank);
    const uintptr_t segment = (uintptr_t)member->place.segment;
    const void *in[HR_MAX_RANKS];
    void *out[HR_MAX_RANKS];
    for (size_t r = 0; r < member->options.nranks; r++) {
        struct whereabouts at;
        memcpy(&at, post_of(&member->posts, r)->payload, sizeof at);
        in[r] = (const void *)(segment + (uintptr_t)at.in + mine.begin);
        out[r] = (void *)(segment + (uintptr_t)at.out + mine.begin);
    }
    hr_element_tree(member->job.kind, out, member->options.nranks, in, member->options.nranks,
                    mine.bytes / elem_bytes(member));
}

/* --- staged --- */

static unsigned char *stage_of(const struct hr_member *member, size_t piece, size_t rank)
{
    return member->direct.stages + (piece % 2 * member->options.nranks + rank) * HR_STAGE_BYTES;
}

/* The caller's buffers, at a piece. */
static const unsigned char *own_in(const struct hr_member *member, size_t piece)
{
    return (const unsigned char *)member->job.in + piece * piece_elems(member) * elem_bytes(member);
}

static unsigned char *own_out(const struct hr_member *member, size_t piece)
{
    return (unsigned char *)member->job.out + piece * piece_elems(member) * elem_bytes(member);
}

/* Copy what others own of a piece. */
static void copy_chunks(const struct hr_member *member, size_t piece, unsigned char *to,
                        const unsigned char *from)
{
    for (size_t r = 0; r < member->options.nranks; r++) {
        const struct hr_region chunk = chunk_of(member, piece, r);
        if (r != member->rank && chunk.bytes)
            memcpy(to + chunk.begin, from + chunk.begin, chunk.bytes);
    }
}

/* The own chunk of a piece, over the inputs on the stages. */
static void reduce_staged(const struct hr_member *member, size_t piece)
{
    const struct hr_region mine = chunk_of(member, piece, member->rank);
    const void *in[HR_MAX_RANKS];
    void *out[HR_MAX_RANKS];
    for (size_t r = 0; r < member->options.nranks; r++)
        in[r] = out[r] = stage_of(member, piece, r) + mine.begin;
    in[member->rank] = own_in(member, piece) + mine.begin;
    out[member->rank] = own_out(member, piece) + mine.begin;
    if (mine.bytes)
        hr_element_tree(member->job.kind, out, member->options.nranks, in, member->options.nranks,
                        mine.bytes / elem_bytes(member));
}

/* A stage is free for a piece when this rank has copied the one before out of it, which it does
 * after all owners have stored their sums there. */
static void take_step(struct hr_member *member, size_t step)
{
    const struct hr_direct *s = &member->direct;
    unsigned char *stage = stage_of(member, step, member->rank);
    if (step >= 2)
        copy_chunks(member, step - 2, own_out(member, step - 2), stage);
    if (step < s->pieces) {
        hr_member_account_direct(member, count_of(member, step));
        copy_chunks(member, step, stage, own_in(member, step));
    }
    if (step >= 1 && step <= s->pieces)
        reduce_staged(member, step - 1);
}

/* --- the method --- */

static void start_direct(struct hr_member *member)
{
    struct hr_direct *s = &member->direct;
    s->staged = member->choice.own_memory;
    s->step = 0;
    s->pieces = 1;
    if (!s->staged) {
        post_whereabouts(member);
        return;
    }
    HR_ASSERT(s->stages);
    if (member->job.count)
        s->pieces = (member->job.count - 1) / piece_elems(member) + 1;
    take_step(member, 0);
    post(&member->posts, &member->call, NULL, 0);
}

static bool test_direct(struct hr_member *member)
{
    struct hr_direct *s = &member->direct;
    while (posts_complete(&member->posts)) {
        if (!posts_agree(member))
            return true;
        hr_place_moves(&member->place);
        const bool last = ++s->step == s->pieces + 1;
        if (s->staged)
            take_step(member, s->step);
        else if (!last)
            reduce_in_place(member);
        if (last)
            return true;
        post(&member->posts, &member->call, NULL, 0);
    }
    return false;
}

const struct hr_method hr_by_direct = {start_direct, test_direct, bell};
