#include "group/one_shot.h"

#include <string.h>

#include "group/member.h"

size_t hr_posts_bytes(size_t nranks)
{
    return 2 * nranks * sizeof(struct hr_slot);
}

static struct hr_slot *slot_of(const struct hr_posts *posts, size_t rank)
{
    return &posts->slots[posts->number % 2 * posts->nranks + rank];
}

const struct hr_slot *hr_post_of(const struct hr_posts *posts, size_t rank)
{
    return slot_of(posts, rank);
}

void hr_post(struct hr_posts *posts, const struct hr_call *call, const void *payload, size_t bytes)
{
    posts->number++;
    posts->next = 0;
    struct hr_slot *slot = slot_of(posts, posts->rank);
    slot->call = *call;
    if (bytes)
        memcpy(slot->payload, payload, bytes);
    hr_bell_ring(&slot->bell); /* partner: hr_posts_complete */
}

bool hr_posts_complete(struct hr_posts *posts)
{
    const uint32_t postings = (uint32_t)((posts->number + 1) / 2); /* made in each slot by now */
    for (; posts->next < posts->nranks; posts->next++)
        if (!hr_bell_has_rung(&slot_of(posts, posts->next)->bell, postings))
            return false;
    return true;
}

struct hr_bell *hr_posts_bell(const struct hr_posts *posts)
{
    return &slot_of(posts, posts->next < posts->nranks ? posts->next : posts->rank)->bell;
}

bool hr_posts_agree(struct hr_member *member)
{
    for (size_t r = 0; HR_SAFETY && r < member->options.nranks; r++) {
        const struct hr_call *theirs = &hr_post_of(&member->posts, r)->call;
        if (!hr_call_equal(theirs, &member->call)) {
            member->status = hr_member_mismatch(member, &member->call, r, theirs);
            return false;
        }
    }
    return true;
}

/* --- the method --- */

static void start(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    const size_t bytes = job->operation == HR_OP_BARRIER ? 0 : hr_job_bytes(job);
    for (size_t r = 0; job->operation != HR_OP_BARRIER && r < member->options.nranks; r++)
        if (r != member->rank)
            hr_member_account(member, r, bytes, 1);
    hr_post(&member->posts, &member->call, job->in, bytes);
}

static void reduce(struct hr_member *member)
{
    const void *in[HR_MAX_RANKS];
    hr_place_moves(&member->place);
    for (size_t r = 0; r < member->options.nranks; r++)
        in[r] = hr_post_of(&member->posts, r)->payload;
    if (member->job.operation != HR_OP_BARRIER)
        hr_element_tree(member->job.kind, &member->job.out, 1, in, member->options.nranks,
                        member->job.count);
}

static bool test(struct hr_member *member)
{
    if (!hr_posts_complete(&member->posts))
        return false;
    if (hr_posts_agree(member))
        reduce(member);
    return true;
}

static struct hr_bell *bell(const struct hr_member *member)
{
    return hr_posts_bell(&member->posts);
}

const struct hr_method hr_by_one_shot = {start, test, bell};
