#include "launch/child_watch.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "shm/process.h"

/* Close what has ended; how many live on. */
static size_t count_living(struct hr_child_watch *undertaker)
{
    size_t living = 0;
    for (size_t i = 0; i < undertaker->count; i++) {
        struct pollfd *process = &undertaker->process[i];
        if (process->fd >= 0 && process->revents) {
            close(process->fd);
            process->fd = -1;
        }
        living += process->fd >= 0;
    }
    return living;
}

static void *watch(void *arg)
{
    struct hr_child_watch *undertaker = arg;
    while (count_living(undertaker) > 0) {
        if (poll(undertaker->process, undertaker->count, -1) < 0 && errno != EINTR)
            break;
        hr_bell_ring(undertaker->bell);
    }
    return NULL;
}

void hr_child_watch_start(struct hr_child_watch *undertaker, struct hr_bell *bell,
                          const pid_t *pids, size_t count)
{
    sigset_t all, before;
    *undertaker = (struct hr_child_watch){.bell = bell, .count = count};
    for (size_t i = 0; i < count; i++)
        undertaker->process[i] = (struct pollfd){.fd = hr_process_open(pids[i]), .events = POLLIN};
    sigfillset(&all); /* signals are for the threads that were there before */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    undertaker->runs = pthread_create(&undertaker->thread, NULL, watch, undertaker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hr_child_watch_join(struct hr_child_watch *undertaker)
{
    if (undertaker->runs)
        pthread_join(undertaker->thread, NULL);
    for (size_t i = 0; i < undertaker->count; i++)
        if (undertaker->process[i].fd >= 0)
            close(undertaker->process[i].fd);
    *undertaker = (struct hr_child_watch){0};
}
