#include "launch/peer_watch.h"

#include <stdio.h>
#include <unistd.h>

#include "shm/process.h"

static long pid_of(const struct hr_rank_status *line)
{
    return (long)hr_atom64_load_acquire(&line->pid); /* partner: who claims the line */
}

bool hr_rank_is_dead(const struct hr_rank_status *line)
{
    const long pid = pid_of(line);
    /* Partner: who has claimed the line. 0 until it is all there. */
    return pid && hr_process_is_dead(pid, hr_atom64_load_acquire(&line->started));
}

bool hr_rank_has_returned(const struct hr_rank_status *line)
{
    return hr_atom32_load_acquire(&line->result) != HR_RUNNING; /* partner: who leaves */
}

bool hr_ranks_are_gone(const struct hr_control *control)
{
    for (size_t r = 0; r < control->nranks; r++) {
        const struct hr_rank_status *line = &control->rank[r];
        if (pid_of(line) && !hr_rank_has_returned(line) && !hr_rank_is_dead(line))
            return false;
    }
    return true;
}

void hr_peer_watch_init(struct hr_peer_watch *watch, struct hr_control *control, size_t rank)
{
    *watch = (struct hr_peer_watch){.control = control, .rank = rank};
    for (size_t r = 0; r < HR_MAX_RANKS; r++)
        watch->process[r] = (struct pollfd){.fd = -1, .events = POLLIN};
}

/* Is that rank gone? Its pidfd is opened at the first look and asked from the next one on. */
static bool is_gone(struct hr_peer_watch *watch, size_t rank)
{
    const struct hr_rank_status *line = &watch->control->rank[rank];
    struct pollfd *process = &watch->process[rank];
    if (process->fd >= 0)
        return process->revents != 0;
    process->revents = 0;
    if (pid_of(line))
        process->fd = hr_process_open((pid_t)pid_of(line));
    return hr_rank_is_dead(line); /* if not, the descriptor is of that process and no later one */
}

static void stop_looking_at(struct hr_peer_watch *watch, size_t rank)
{
    if (watch->process[rank].fd >= 0)
        close(watch->process[rank].fd);
    watch->process[rank].fd = -1;
    watch->over[rank] = true;
}

/* One of the survivors publishes; if it dies while doing so, another one does. */
static bool may_speak(struct hr_peer_watch *watch)
{
    struct hr_atom32 *speaker = &watch->control->speaker;
    const uint32_t now = hr_atom32_load_relaxed(speaker); /* partner: below; hands nothing over */
    const uint32_t me = (uint32_t)watch->rank + 1;
    if (now == me)
        return true;
    if (now && !hr_rank_is_dead(&watch->control->rank[now - 1]))
        return false;
    return hr_atom32_replace_relaxed(speaker, now, me);
}

static void speak_for(struct hr_peer_watch *watch, size_t rank)
{
    const struct hr_rank_status *line = &watch->control->rank[rank];
    char text[200];
    snprintf(text, sizeof text, "pid %ld is gone, while %s", pid_of(line),
             hr_phase_str((enum hr_phase)hr_atom32_load_relaxed(&line->phase)));
    if (may_speak(watch))
        hr_control_abort(watch->control, rank, HR_E_LOST, text);
}

void hr_peer_watch_look(void *arg)
{
    struct hr_peer_watch *watch = arg;
    const size_t n = watch->control->nranks;
    poll(watch->process, n, 0);
    for (size_t r = 0; r < n; r++) {
        if (r == watch->rank || watch->over[r] || !is_gone(watch, r))
            continue;
        /* Asked after its end, so that its last words are seen. */
        if (hr_rank_has_returned(&watch->control->rank[r]))
            stop_looking_at(watch, r);
        else
            speak_for(watch, r);
    }
}

void hr_peer_watch_stopped(const struct hr_waiter *waiter, const struct hr_control *control,
                           char *text, size_t size)
{
    char stopped[100];
    text[0] = '\0';
    for (size_t r = 0; waiter->look == hr_peer_watch_look && r < control->nranks && !text[0]; r++)
        if (hr_control_stopped(control, r, stopped, sizeof stopped))
            snprintf(text, size, "; rank %zu: %s", r, stopped);
}

void hr_peer_watch_fini(struct hr_peer_watch *watch)
{
    for (size_t r = 0; watch->control && r < HR_MAX_RANKS; r++)
        stop_looking_at(watch, r);
    watch->control = NULL;
}
