#include "worker/staged.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "stages/remote.h"
#include "strategy/shared.h"
#include "worker/input.h"
#include "worker/outcome.h"

size_t hr_staged_rank(const struct hr_train_job *job, size_t worker, size_t k)
{
    return k == 0 ? worker : job->first_stage + worker * (job->pipeline->members - 1) + k - 1;
}

void hr_staged_member(const struct hr_train_job *job, size_t rank, size_t *worker, size_t *k)
{
    const size_t others = job->pipeline->members - 1;
    *worker = (rank - job->first_stage) / others;
    *k = (rank - job->first_stage) % others + 1;
}

/* The first of a stage's team speaks for it. */
static struct hr_stage_when *when_of(const struct hr_train_job *job, size_t worker, size_t member)
{
    const size_t team = job->pipeline->team;
    if (worker > 0 || !job->when || member % team)
        return NULL;
    return &job->when[member / team * hr_spans_of_a_stage(job->pipeline)];
}

struct hr_stage_place hr_staged_place(const struct hr_train_job *job, size_t worker, size_t k,
                                      struct hr_bell **bell)
{
    struct hr_control *control = job->shared->control;
    const size_t ranks = job->pipeline->members;
    for (size_t i = 0; i < ranks; i++)
        bell[i] = &control->rank[hr_staged_rank(job, worker, i)].bell;
    return (struct hr_stage_place){
        .memory = (unsigned char *)job->stage_memory + worker * hr_pipeline_bytes(job->pipeline),
        .origin = job->shared->segment,
        .bell = bell,
        .flight = hr_control_flight(control, hr_staged_rank(job, worker, k)),
        .group = (uint32_t)worker + 1,
        .account = &job->stage_accounts[worker * ranks + k],
        .when = when_of(job, worker, k),
        .spans = job->shared->spans ? job->shared->spans[hr_staged_rank(job, worker, k)] : NULL,
    };
}

static struct hr_pipeline_memory memory_of(const struct hr_train_job *job, size_t worker)
{
    unsigned char *memory = job->stage_memory;
    return hr_pipeline_memory_at(job->pipeline, memory + worker * hr_pipeline_bytes(job->pipeline));
}

static struct hr_pipeline_step *step_of(const struct hr_train_job *job, size_t worker)
{
    return memory_of(job, worker).step;
}

/* --- stages on several machines --- */

void hr_staged_init(const struct hr_train_job *job)
{
    for (size_t w = 0; job->stage_memory && w < job->shared->workers; w++) {
        const struct hr_pipeline_memory at = memory_of(job, w);
        hr_remote_init(job->pipeline, &at);
    }
}

struct visiting {
    const struct hr_train_job *job;
    size_t worker;
    hr_visit_ring_fn visit;
    void *arg;
};

static enum hr_status visit_ranks(void *arg, size_t from, size_t to, struct hr_ring *ring)
{
    const struct visiting *it = arg;
    return it->visit(it->arg, hr_staged_rank(it->job, it->worker, from),
                     hr_staged_rank(it->job, it->worker, to), ring);
}

enum hr_status hr_staged_each_ring(const struct hr_train_job *job, hr_visit_ring_fn visit,
                                   void *arg)
{
    for (size_t w = 0; job->stage_memory && w < job->shared->workers; w++) {
        struct visiting it = {job, w, visit, arg};
        const struct hr_pipeline_memory at = memory_of(job, w);
        HR_TRY(hr_remote_each(job->pipeline, &at, visit_ranks, &it));
    }
    return HR_OK;
}

/* --- the versions of its weights --- */

static struct hr_stage_account *accounts_of(const struct hr_train_worker *self)
{
    return &self->job->stage_accounts[self->worker.rank * self->job->pipeline->members];
}

enum hr_status hr_staged_start(struct hr_train_worker *self, size_t rank)
{
    const struct hr_train_job *job = self->job;
    if (job->pipeline && !job->serial)
        self->life = hr_atom32_load_acquire(&step_of(job, rank)->lives); /* lose */
    if (!job->pipeline || job->pipeline->options.schedule->synchronous || !job->serial)
        return HR_OK;
    return hr_versions_start(&self->versions, job->pipeline);
}

void hr_staged_begin(struct hr_train_worker *self)
{
    const struct hr_versions *versions = &self->versions;
    if (!versions->pipeline)
        return;
    hr_versions_add(&self->versions, self->worker.weights);
    for (size_t k = 0; k < versions->pipeline->ranks; k++) {
        struct hr_stage_stale *stale = &accounts_of(self)[k].stale;
        hr_stage_stale_count(stale, hr_versions_fill(versions),
                             hr_versions_age(versions, k, HR_FORWARD),
                             hr_versions_age(versions, k, HR_BACKWARD));
    }
}

void hr_staged_drain(struct hr_train_worker *self)
{
    const struct hr_versions *versions = &self->versions;
    if (!versions->pipeline)
        return;
    hr_versions_drain(&self->versions);
    for (size_t k = 0; k < versions->pipeline->ranks; k++)
        accounts_of(self)[k].stale.since = 0;
}

/* --- a step --- */

/* A share's micro-batches are its parts. */
struct loader {
    struct hr_train_worker *self;
    const struct hr_batch *share;      /* the worker's */
    const struct hr_prefetched *ahead; /* the same, decoded; or NULL */
    size_t first;                      /* its part that is micro-batch 0 of this round */
};

/* Returns the pass over the data. */
static uint64_t copy(const struct loader *loader, const struct hr_batch *piece, float *x,
                     uint32_t *labels, uint32_t *numbers)
{
    const struct hr_train_job *job = loader->self->job;
    const struct hr_prefetched *ahead = loader->ahead;
    const size_t features = hr_shape_elems(job->dataset->shape);
    const size_t from = piece->first - loader->share->first, count = piece->count;
    if (!count)
        return 0;
    memcpy(x, ahead->x + from * features, count * features * sizeof *x);
    memcpy(labels, ahead->y + from, count * sizeof *labels);
    memcpy(numbers, ahead->samples + from, count * sizeof *numbers);
    return hr_batch_schedule_piece(&job->shared->schedule, piece, 0).pass;
}

static uint64_t decode(const struct loader *loader, const struct hr_batch *piece, float *x,
                       uint32_t *labels, uint32_t *numbers)
{
    struct hr_input *input = &loader->self->buffers->input;
    hr_input_decode(input, piece, x, labels);
    memcpy(numbers, input->samples, piece->count * sizeof *numbers);
    return input->pass;
}

static uint64_t load(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    const struct loader *loader = arg;
    struct hr_account *account = &loader->self->worker.stats->account;
    const struct hr_batch piece =
        hr_input_part(loader->share, loader->self->parts, loader->first + m);
    const enum hr_activity was = hr_account_turn(account, HR_LOAD);
    const uint64_t pass = (loader->ahead ? copy : decode)(loader, &piece, x, labels, numbers);
    hr_account_turn(account, was);
    return pass;
}

/* The share, if a thread has decoded it. */
static const struct hr_prefetched *take_ahead(struct hr_train_worker *self, uint64_t index)
{
    struct hr_worker_stats *stats = self->worker.stats;
    const struct hr_prefetch_key key = {index, 0, 1, self->worker.group_rank,
                                        self->worker.group_size};
    if (!self->prefetch || key.group_size < self->job->shared->workers) /* a larger share */
        return NULL;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const struct hr_prefetched *ahead = hr_prefetch_take(self->prefetch, &key);
    hr_account_turn(&stats->account, was);
    stats->prefetch_hits += ahead != NULL;
    stats->prefetch_misses += !ahead;
    return ahead;
}

static struct hr_stage_context context_of(struct hr_train_worker *self)
{
    return (struct hr_stage_context){.waiter = &self->waiter,
                                     .control = self->job->shared->control,
                                     .rank = self->worker.rank,
                                     .stage = &self->buffers->lead};
}

/* A worker that was started again: where its stages have begun the life, too. */
static enum hr_status begin_life(const struct hr_train_worker *self, struct hr_stage *lead,
                                 const struct hr_stage_context *context)
{
    if (lead->life == self->life)
        return HR_OK;
    lead->life = self->life;
    HR_TRY(hr_stage_wait(context, hr_stage_others_live, lead, "the stages of its pipeline"));
    hr_stage_begin_life(lead);
    return HR_OK;
}

/* A rank without which it is no replica: the worker goes, too. */
static enum hr_status leave(const struct hr_train_job *job)
{
    if (job->launch == HR_LAUNCH_PROCESS)
        kill(getpid(), SIGKILL);
    return hr_fail(HR_E_GONE, "another rank of its pipeline was lost");
}

static enum hr_status lead(struct hr_train_worker *self, const struct hr_stage_task *task,
                           struct loader *loader, struct hr_batch_result *result)
{
    const struct hr_train_job *job = self->job;
    const size_t worker = self->worker.rank;
    const bool is_last = task->round + 1 == task->rounds;
    const struct hr_atom32 *revoke = self->waiter.revoke;
    struct hr_stage *stage = &self->buffers->lead;
    const struct hr_stage_place place = hr_staged_place(job, worker, 0, self->buffers->bell);
    hr_stage_sit(stage, &place);
    struct hr_stage_context context = context_of(self);
    /* A part's gradients are the batch's: with --overlap they are summed meanwhile. */
    context.final = hr_train_job_overlaps(job) && is_last ? hr_hand_over : NULL;
    context.arg = self;
    context.lives = &stage->at.step->lives;
    context.life = self->life;
    stage->load = load;
    stage->load_arg = loader;
    self->waiter.revoke = NULL; /* a step that is begun is made: other stages are in it */
    enum hr_status status = begin_life(self, stage, &context);
    if (status == HR_OK)
        status = hr_stage_lead(stage, &context, task, result);
    self->waiter.revoke = revoke;
    return status == HR_E_GONE ? leave(job) : status;
}

void hr_staged_lose(const struct hr_train_job *job, size_t worker)
{
    struct hr_atom32 *lives = &step_of(job, worker)->lives;
    hr_atom32_store_release(lives, hr_atom32_load_relaxed(lives) + 1); /* partners: who waits */
    for (size_t k = 0; k < job->pipeline->members; k++)
        hr_bell_ring(&job->shared->control->rank[hr_staged_rank(job, worker, k)].bell);
}

enum hr_status hr_staged_gradient(struct hr_train_worker *self, const struct hr_batch *share,
                                  uint64_t index, struct hr_batch_result *result)
{
    const struct hr_train_job *job = self->job;
    const struct hr_worker *worker = &self->worker;
    const size_t M = job->pipeline->options.shape.micro_batches;
    struct hr_stage_task task = {.weights = worker->weights,
                                 .grads = worker->grads,
                                 .count = share->count,
                                 .index = index,
                                 .rounds = self->parts / M};
    struct loader loader = {self, share, take_ahead(self, index), 0};
    const struct hr_crew_replica replica = {
        accounts_of(self), self->versions.pipeline ? &self->versions : NULL, load, &loader};
    for (; task.round < task.rounds; task.round++) {
        loader.first = task.round * M;
        if (job->serial)
            *result = hr_crew_step(&self->buffers->crew, &task, &replica);
        else
            HR_TRY(lead(self, &task, &loader, result));
    }
    return HR_OK;
}

/* A worker's gradient, for the timer. */
struct timed {
    double slow[HR_PIPELINE_STAGES];
    size_t rank[HR_PIPELINE_STAGES];
    struct hr_pipeline_gradient gradient;
};

static void set_timed(const struct hr_train_job *job, size_t worker, uint64_t step,
                      struct timed *timed)
{
    hr_conditions_slow_stages(job, worker, step, timed->slow);
    for (size_t k = 0; k < job->pipeline->ranks; k++)
        timed->rank[k] = hr_staged_rank(job, worker, k);
    timed->gradient = (struct hr_pipeline_gradient){
        .ps = hr_conditions_compute_ps(job, worker, step, 0),
        .slow = timed->slow,
        .rank = timed->rank,
        .first = job->stage_accounts[worker * job->pipeline->ranks].stale.since == 0,
    };
}

enum hr_status hr_staged_compute_ps(const struct hr_train_job *job, size_t worker, uint64_t step,
                                    int64_t *ps)
{
    const size_t ranks = job->pipeline->ranks;
    struct hr_stage_account *account = &job->stage_accounts[worker * ranks];
    struct hr_stage_time of[HR_PIPELINE_STAGES];
    struct timed timed;
    int64_t without_ps;
    set_timed(job, worker, step, &timed);
    HR_TRY(hr_pipeline_timer_take(job->timer, &timed.gradient, ps, &without_ps, of));
    account->span_ps += *ps;
    account->without_ps += without_ps;
    for (size_t k = 0; k < ranks; k++) {
        account[k].busy_ps += of[k].busy_ps;
        account[k].again_ps += of[k].again_ps;
    }
    return HR_OK;
}

int64_t hr_staged_longer_ns(const struct hr_train_job *job, size_t worker)
{
    const size_t ranks = job->pipeline ? job->pipeline->members : 0;
    if (ranks == 0)
        return 0;
    const struct hr_stage_account *account = &job->stage_accounts[worker * ranks];
    int64_t ns = -account->span_ns;
    for (size_t k = 0; k < ranks; k++)
        ns += account[k].busy_ns - account[k].again_ns;
    return ns;
}

/* A pipeline that never drains is drawn while it fills, and goes on. */
static size_t drawn(const struct hr_pipeline *pipeline)
{
    const struct hr_pipeline_options *o = &pipeline->options;
    return o->schedule->synchronous ? o->shape.micro_batches : 2 * pipeline->ranks;
}

enum hr_status hr_staged_spans(const struct hr_train_job *job, struct hr_stage_span **span,
                               size_t *n)
{
    struct timed timed;
    struct hr_pipeline_walk walk;
    *n = 0;
    if (job->when)
        return hr_spans_of_step(job->pipeline, job->when, span, n);
    if (!job->timer)
        return HR_OK;
    set_timed(job, 0, 0, &timed);
    HR_TRY(hr_pipeline_timer_walk(job->timer, &timed.gradient, drawn(job->pipeline), &walk));
    const enum hr_status status = hr_spans_of_walk(&walk, 1e-12, span, n);
    hr_pipeline_walk_fini(&walk);
    return status;
}

void hr_staged_end(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    if (!job->pipeline || job->serial || !self->buffers)
        return;
    const struct hr_stage_place place =
        hr_staged_place(job, self->worker.rank, 0, self->buffers->bell);
    hr_stage_sit(&self->buffers->lead, &place);
    hr_stage_publish_end(&self->buffers->lead);
}

/* --- a stage's update --- */

struct hr_streamed_stage hr_streamed_stage_of(const struct hr_train_job *job, size_t worker)
{
    return (struct hr_streamed_stage){job, worker, job->shared->snapshot.applied[0]};
}

static enum hr_status check_finite(const struct hr_train_job *job,
                                   const struct hr_stage_update *update)
{
    struct hr_gradient_check check;
    const struct hr_batch batch = hr_batch_schedule_batch(&job->shared->schedule, update->index);
    hr_gradient_check_begin(&check, update->grads, update->count, SIZE_MAX);
    const bool finite = hr_gradient_check_from(&check, 0);
    if (finite && isfinite(update->loss_sum))
        return HR_OK;
    return hr_fail(HR_E_DIVERGED,
                   "step %llu: the %s is not finite in epoch %llu, samples %llu to %llu of its "
                   "order",
                   (unsigned long long)update->index,
                   isfinite(update->loss_sum) ? "gradient" : "loss",
                   (unsigned long long)batch.epoch + 1, (unsigned long long)batch.first + 1,
                   (unsigned long long)(batch.first + batch.count));
}

/* (hr_update_slice_fn) HR_E_DIVERGED: the gradient or the loss is not finite. */
static enum hr_status update_slice(void *arg, const struct hr_stage_update *update)
{
    const struct hr_streamed_stage *stage = arg;
    const struct hr_shared_state *shared = stage->job->shared;
    HR_TRY(check_finite(stage->job, update));
    const struct hr_step step =
        hr_step_for(shared, update->index, update->samples, stage->before + update->number + 1);
    hr_step_update(&step, update->begin, update->count,
                   shared->weights[stage->worker] + update->begin, shared->own, update->grads);
    return HR_OK;
}

void hr_streamed_place(struct hr_streamed_stage *streamed, struct hr_stage_place *place)
{
    const struct hr_shared_state *shared = streamed->job->shared;
    place->update = update_slice;
    place->update_arg = streamed;
    place->state = shared->own;
    place->nstates = hr_state_floats(shared) / shared->params;
}

/* --- the worker --- */

static uint64_t load_streamed(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    struct hr_train_worker *self = arg;
    struct hr_account *account = &self->worker.stats->account;
    struct hr_input *input = &self->buffers->input;
    const struct hr_pipeline_micro *micro = &self->buffers->lead.at.micro[m];
    const struct hr_batch share =
        hr_input_share(self->job, self->worker.group_rank, self->worker.group_size, micro->index);
    const enum hr_activity was = hr_account_turn(account, HR_LOAD);
    hr_input_decode(input, &share, x, labels);
    memcpy(numbers, input->samples, share.count * sizeof *numbers);
    hr_account_turn(account, was);
    return input->pass;
}

static struct hr_stage *lead_of(struct hr_train_worker *self)
{
    struct hr_compute_buffers *buffers = self->buffers;
    struct hr_stage *lead = &buffers->lead;
    if (lead->load)
        return lead;
    struct hr_stage_place place = hr_staged_place(self->job, self->worker.rank, 0, buffers->bell);
    self->stage = hr_streamed_stage_of(self->job, self->worker.rank);
    hr_streamed_place(&self->stage, &place);
    lead->load = load_streamed;
    lead->load_arg = self;
    hr_stage_sit(lead, &place);
    return lead;
}

static void count(struct hr_train_worker *self, const struct hr_stream_done *done)
{
    if (!done->any)
        return;
    hr_count_gradient(self, done->index, done->samples, done->result.loss_sum);
    self->worker.stats->updates++;
    self->at_the_start = false;
}

enum hr_status hr_streamed_put(struct hr_train_worker *self, uint64_t index)
{
    const struct hr_worker *worker = &self->worker;
    const struct hr_batch share =
        hr_input_share(self->job, worker->group_rank, worker->group_size, index);
    const struct hr_stage_task put = {.weights = worker->weights,
                                      .grads = worker->grads,
                                      .count = share.count,
                                      .index = index,
                                      .rounds = 1};
    const struct hr_stage_context context = context_of(self);
    struct hr_stream_done done;
    HR_TRY(hr_stream_put(lead_of(self), &context, &put, &done));
    count(self, &done);
    return HR_OK;
}

enum hr_status hr_streamed_drain(struct hr_train_worker *self)
{
    const struct hr_stage_context context = context_of(self);
    struct hr_stream_done done = {.any = true};
    hr_account_turn(&self->worker.stats->account, HR_COMPUTE);
    while (done.any) {
        HR_TRY(hr_stream_drain(lead_of(self), &context, &done));
        count(self, &done);
    }
    return HR_OK;
}
