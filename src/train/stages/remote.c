#include "stages/remote.h"

#include <string.h>

#include "base/size.h"
#include "hogring/update_rule.h"

/* What a message is about. word[0], word[1]: what goes with it (bridge.h); then, of
 *   NUMBERS      a micro-batch's labels and samples        pass, index, count, which
 *   ACTIVATIONS  in a slot                                 the boundary's word
 *   GRADIENTS    in a slot                                 the same, loss, correct, which
 *   SLICE        of weights, gradients, or state
 *   STEP         what the lead says of it                  the lead's word
 *   DRAIN                                                  the lead's word
 *   OVER
 *   DONE                                                   the ranks' word, their stage
 */
enum kind { NUMBERS = 1, ACTIVATIONS, GRADIENTS, SLICE, STEP, DRAIN, OVER, DONE };

enum { MORE = 4 /* words of a message behind those of its cargo */ };

/* --- who lives where --- */

static size_t machines_of(const struct hr_pipeline *pipeline)
{
    return hr_max_size(pipeline->options.machines, 1);
}

/* Stages of a machine. */
static size_t run_of(const struct hr_pipeline *pipeline)
{
    return pipeline->ranks / machines_of(pipeline);
}

static size_t home_of(const struct hr_pipeline *pipeline, size_t k)
{
    return k / run_of(pipeline);
}

/* Do the parts beside a boundary live on two machines? */
static bool is_between(const struct hr_pipeline *pipeline, size_t boundary)
{
    const size_t K = pipeline->ranks;
    return home_of(pipeline, boundary % K) != home_of(pipeline, (boundary + 1) % K);
}

/* --- rings: forward and backward of each boundary; to each machine; from each stage --- */

/* What a stage says at a time, at most: slices (of a stream of weights and state), and a word. */
static size_t most_at_a_time(const struct hr_pipeline *pipeline)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return hr_max_size(o->streams ? 1 + HR_UPDATE_RULE_STATES : o->shape.chunks, 1) + 1;
}

/* Room for all that is said in a step, and then some: no ring is full where all goes well. */
static size_t slots_of(const struct hr_pipeline *pipeline)
{
    const size_t step =
        hr_max_size(2 * pipeline->options.shape.micro_batches, most_at_a_time(pipeline) + 1);
    size_t slots = 8;
    while (slots < 2 * step)
        slots *= 2;
    return slots;
}

static size_t boundary_ring(size_t boundary, bool backward)
{
    return 2 * boundary + backward;
}

static size_t step_ring(const struct hr_pipeline *pipeline, size_t machine)
{
    return 2 * pipeline->parts + machine;
}

static size_t done_ring(const struct hr_pipeline *pipeline, size_t k)
{
    return 2 * pipeline->parts + machines_of(pipeline) + k;
}

static size_t rings_of(const struct hr_pipeline *pipeline)
{
    return machines_of(pipeline) > 1 ? done_ring(pipeline, pipeline->ranks) : 0;
}

static struct hr_ring *ring_at(const struct hr_pipeline *pipeline,
                               const struct hr_pipeline_memory *at, size_t number)
{
    return (void *)(at->rings + number * hr_ring_bytes(slots_of(pipeline)));
}

size_t hr_remote_bytes(const struct hr_pipeline *pipeline)
{
    return rings_of(pipeline) * hr_ring_bytes(slots_of(pipeline));
}

void hr_remote_init(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at)
{
    for (size_t i = 0; i < rings_of(pipeline); i++)
        hr_ring_init(ring_at(pipeline, at, i), slots_of(pipeline), 0);
}

/* A ring that is in use, between stages. */
struct between {
    struct hr_ring *ring;
    size_t from, to, boundary;
};

typedef enum hr_status (*visit_fn)(void *arg, const struct between *between);

static enum hr_status each(const struct hr_pipeline *pipeline, const struct hr_pipeline_memory *at,
                           visit_fn visit, void *arg)
{
    const size_t K = pipeline->ranks, run = run_of(pipeline);
    for (size_t b = 0; b + 1 < pipeline->parts; b++) {
        const size_t before = b % K, behind = (b + 1) % K;
        if (!is_between(pipeline, b))
            continue;
        HR_TRY(visit(arg, &(struct between){ring_at(pipeline, at, boundary_ring(b, false)), before,
                                            behind, b}));
        HR_TRY(visit(arg, &(struct between){ring_at(pipeline, at, boundary_ring(b, true)), behind,
                                            before, b}));
    }
    for (size_t m = 1; m < machines_of(pipeline); m++)
        HR_TRY(visit(
            arg, &(struct between){ring_at(pipeline, at, step_ring(pipeline, m)), 0, m * run, 0}));
    for (size_t k = run; rings_of(pipeline) && k < K; k++)
        HR_TRY(
            visit(arg, &(struct between){ring_at(pipeline, at, done_ring(pipeline, k)), k, 0, 0}));
    return HR_OK;
}

struct visiting {
    const struct hr_pipeline *pipeline;
    hr_remote_visit_fn visit;
    void *arg;
};

static enum hr_status visit_members(void *arg, const struct between *between)
{
    const struct visiting *it = arg;
    const size_t team = it->pipeline->team;
    return it->visit(it->arg, between->from * team, between->to * team, between->ring);
}

enum hr_status hr_remote_each(const struct hr_pipeline *pipeline,
                              const struct hr_pipeline_memory *at, hr_remote_visit_fn visit,
                              void *arg)
{
    struct visiting it = {pipeline, visit, arg};
    return each(pipeline, at, visit_members, &it);
}

/* --- bells --- */

static void ring_member(const struct hr_stage *stage, size_t member)
{
    if (stage->place.bell)
        hr_bell_ring(stage->place.bell[member]);
}

/* Stages [first, first + n), whoever of them waits. */
static void ring_stages(const struct hr_stage *stage, size_t first, size_t n)
{
    const size_t team = stage->pipeline->team;
    for (size_t member = first * team; member < (first + n) * team; member++)
        ring_member(stage, member);
}

/* --- said --- */

static bool has_room(struct hr_ring *ring, size_t n)
{
    const uint64_t last = hr_ring_committed_spsc(ring) + n;
    return last <= ring->mask + 1 || hr_ring_released_spsc(ring, last - ring->mask - 1);
}

/* Is there no room in a ring from this stage? */
static enum hr_status look_for_room(void *arg, const struct between *between)
{
    const struct hr_stage *stage = arg;
    return between->from != stage->rank || has_room(between->ring, most_at_a_time(stage->pipeline))
               ? HR_OK
               : HR_E_TIMEOUT;
}

bool hr_remote_has_room(const struct hr_stage *stage)
{
    return stage->t || !rings_of(stage->pipeline) ||
           each(stage->pipeline, &stage->at, look_for_room, (void *)(uintptr_t)stage) == HR_OK;
}

/* n bytes at `bytes`, to stage `to`. */
static void say(const struct hr_stage *stage, size_t number, size_t to, enum kind kind,
                const void *bytes, size_t n, const uint64_t *more)
{
    struct hr_ring *ring = ring_at(stage->pipeline, &stage->at, number);
    struct hr_message *message = hr_ring_try_reserve_spsc(ring);
    HR_ASSERT(message); /* hr_remote_has_room */
    *message = (struct hr_message){.kind = kind, .from = (uint32_t)stage->rank};
    message->word[0] = n ? (uintptr_t)bytes - (uintptr_t)stage->place.origin : 0;
    message->word[1] = n;
    for (size_t i = 0; more && i < MORE; i++)
        message->word[2 + i] = more[i];
    hr_ring_commit_spsc(ring);
    ring_member(stage, to * stage->pipeline->team);
}

/* The slices of parts [first, end), one behind the other, at `params`. */
static void say_slice(const struct hr_stage *stage, size_t number, size_t to, const float *params,
                      size_t first, size_t end)
{
    const struct hr_model *last = stage->pipeline->part[end - 1];
    const size_t begin = hr_part_param_begin(stage->pipeline->part[first]),
                 stop = hr_part_param_begin(last) + hr_model_param_count(last);
    if (stop > begin)
        say(stage, number, to, SLICE, params + begin, (stop - begin) * sizeof *params, NULL);
}

static const float *place_at(const struct hr_stage *stage, uintptr_t offset)
{
    return (const float *)((uintptr_t)stage->place.origin + offset);
}

void hr_remote_publish(const struct hr_stage *lead, bool weights)
{
    const struct hr_pipeline *pipeline = lead->pipeline;
    const struct hr_pipeline_step *step = lead->at.step;
    const size_t K = pipeline->ranks, run = run_of(pipeline);
    const uint64_t more[MORE] = {hr_atom64_load_relaxed(&step->begun)}; /* our own word */
    for (size_t m = 1; m < machines_of(pipeline); m++) {
        const size_t number = step_ring(pipeline, m), first = m * run;
        for (size_t v = 0; weights && v < pipeline->options.shape.chunks; v++)
            say_slice(lead, number, first, place_at(lead, step->weights), v * K + first,
                      v * K + first + run);
        say(lead, number, first, STEP, &step->index,
            offsetof(struct hr_pipeline_step, over) - offsetof(struct hr_pipeline_step, index),
            more);
    }
}

/* Where a run is aborted the last step may still fill a ring: who is there reads of that. */
static void say_to_all(const struct hr_stage *lead, enum kind kind, const uint64_t *more)
{
    const struct hr_pipeline *pipeline = lead->pipeline;
    for (size_t m = 1; m < machines_of(pipeline); m++)
        if (has_room(ring_at(pipeline, &lead->at, step_ring(pipeline, m)), 1))
            say(lead, step_ring(pipeline, m), m * run_of(pipeline), kind, NULL, 0, more);
}

void hr_remote_publish_end(const struct hr_stage *lead)
{
    say_to_all(lead, OVER, NULL);
}

void hr_remote_drain(const struct hr_stage *lead)
{
    const uint64_t more[MORE] = {hr_atom64_load_relaxed(&lead->at.step->drains)}; /* our own word */
    say_to_all(lead, DRAIN, more);
}

void hr_remote_forward(const struct hr_stage *stage, size_t part, size_t m, const float *x,
                       size_t floats)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const struct hr_pipeline_micro *micro = &stage->at.micro[m];
    const struct hr_pipeline_memory *at = &stage->at;
    if (stage->t || stage->status != HR_OK || !is_between(pipeline, part))
        return;
    const size_t number = boundary_ring(part, false), to = (part + 1) % pipeline->ranks;
    const uint64_t numbers[MORE] = {micro->pass, micro->index, micro->count, m};
    const uint64_t word[MORE] = {hr_atom64_load_relaxed(&at->boundary[part].forward)}; /* our own */
    if (part < pipeline->ranks) /* later parts' machines have them */
        say(stage, number, to, NUMBERS, hr_pipeline_labels(pipeline, at, m),
            hr_pipeline_number_bytes(pipeline), numbers);
    say(stage, number, to, ACTIVATIONS, x, floats * sizeof *x, word);
}

void hr_remote_backward(const struct hr_stage *stage, size_t part, size_t m, const float *dx,
                        size_t floats)
{
    if (stage->t || stage->status != HR_OK || !is_between(stage->pipeline, part - 1))
        return;
    const struct hr_batch_result *result = &stage->at.micro[m].result;
    uint64_t more[MORE] = {hr_atom64_load_relaxed(&stage->at.boundary[part - 1].backward), 0,
                           result->correct, m}; /* our own word */
    memcpy(&more[1], &result->loss_sum, sizeof more[1]);
    say(stage, boundary_ring(part - 1, true), (part - 1) % stage->pipeline->ranks, GRADIENTS, dx,
        floats * sizeof *dx, more);
}

bool hr_remote_from_lead(const struct hr_stage *stage)
{
    return home_of(stage->pipeline, stage->rank) != 0;
}

void hr_remote_finish(const struct hr_stage *stage)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const size_t number = done_ring(pipeline, stage->rank);
    const uint64_t more[MORE] = {stage->step, stage->rank};
    if (stage->t || !hr_remote_from_lead(stage))
        return;
    for (size_t p = stage->rank; p < pipeline->parts; p += pipeline->ranks)
        say_slice(stage, number, 0, place_at(stage, stage->at.step->grads), p, p + 1);
    say(stage, number, 0, DONE, NULL, 0, more);
}

void hr_remote_drained(const struct hr_stage *stage)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const size_t k = stage->rank, number = done_ring(pipeline, k),
                 params = hr_model_param_count(pipeline->options.model);
    const uint64_t more[MORE] = {stage->backwards, k};
    if (!hr_remote_from_lead(stage))
        return;
    say_slice(stage, number, 0, place_at(stage, stage->at.step->weights), k, k + 1);
    for (size_t i = 0; i < stage->place.nstates; i++)
        say_slice(stage, number, 0, stage->place.state + i * params, k, k + 1);
    say(stage, number, 0, DONE, NULL, 0, more);
}

/* --- taken --- */

static void take_numbers(const struct hr_stage *stage, const uint64_t *more)
{
    struct hr_pipeline_micro *micro = &stage->at.micro[more[3]];
    micro->pass = more[0];
    micro->index = more[1];
    micro->count = more[2];
}

static void take_result(const struct hr_stage *stage, const uint64_t *more)
{
    struct hr_batch_result *result = &stage->at.micro[more[3]].result;
    memcpy(&result->loss_sum, &more[1], sizeof result->loss_sum);
    result->correct = more[2];
}

/* Here this rank is the words' writer, in place of who is over there. Partners: who waits. */
static void take(const struct hr_stage *stage, const struct between *between,
                 const struct hr_message *message)
{
    const struct hr_pipeline *pipeline = stage->pipeline;
    const struct hr_pipeline_memory *at = &stage->at;
    const uint64_t *more = message->word + 2;
    const bool of_lead = message->kind >= STEP && message->kind <= OVER;
    switch ((enum kind)message->kind) {
    case NUMBERS:
        take_numbers(stage, more);
        return;
    case ACTIVATIONS:
        hr_atom64_store_release(&at->boundary[between->boundary].forward, more[0]);
        break;
    case GRADIENTS:
        take_result(stage, more);
        hr_atom64_store_release(&at->boundary[between->boundary].backward, more[0]);
        break;
    case SLICE:
        return;
    case STEP:
        hr_atom64_store_release(&at->step->begun, more[0]);
        break;
    case DRAIN:
        hr_atom64_store_release(&at->step->drains, more[0]);
        break;
    case OVER:
        hr_atom32_store_release(&at->step->over, 1);
        break;
    case DONE:
        for (size_t t = 0; t < pipeline->team; t++)
            hr_atom64_store_release(&at->rank[more[1] * pipeline->team + t].done, more[0]);
        break;
    }
    ring_stages(stage, stage->rank, of_lead ? run_of(pipeline) : 1);
}

static enum hr_status take_all(void *arg, const struct between *between)
{
    const struct hr_stage *stage = arg;
    if (between->to != stage->rank)
        return HR_OK;
    for (const struct hr_message *message; (message = hr_ring_peek_spsc(between->ring));) {
        take(stage, between, message);
        hr_ring_release_spsc(between->ring);
        ring_member(stage, between->from * stage->pipeline->team);
    }
    return HR_OK;
}

void hr_remote_take(struct hr_stage *stage)
{
    if (stage->t || !rings_of(stage->pipeline))
        return;
    if (each(stage->pipeline, &stage->at, take_all, stage) != HR_OK)
        HR_ASSERT(false); /* nothing there fails */
}
