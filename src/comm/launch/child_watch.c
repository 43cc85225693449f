#include "launch/child_watch.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/signals.h"
#include "shm/process.h"

/* Close what has ended; how many live on. */
static size_t count_living(struct hr_child_watch *watch)
{
    size_t living = 0;
    for (size_t i = 0; i < watch->count; i++) {
        struct pollfd *process = &watch->process[i];
        if (process->fd >= 0 && process->revents) {
            close(process->fd);
            process->fd = -1;
        }
        living += process->fd >= 0;
    }
    return living;
}

static void *watch_main(void *arg)
{
    struct hr_child_watch *watch = arg;
    const struct pollfd *stop = &watch->process[watch->count];
    while (count_living(watch) > 0 && !stop->revents) {
        if (poll(watch->process, watch->count + 1, -1) < 0 && errno != EINTR)
            break;
        hr_bell_ring(watch->bell);
    }
    return NULL;
}

void hr_child_watch_start(struct hr_child_watch *watch, struct hr_bell *bell, const pid_t *pids,
                          size_t count)
{
    const int stop = eventfd(0, EFD_CLOEXEC);
    *watch = (struct hr_child_watch){.bell = bell};
    if (stop < 0)
        return;
    watch->count = count;
    for (size_t i = 0; i < count; i++)
        watch->process[i] = (struct pollfd){.fd = hr_process_open(pids[i]), .events = POLLIN};
    watch->process[count] = (struct pollfd){.fd = stop, .events = POLLIN};
    watch->runs = hr_thread_start(&watch->thread, watch_main, watch) == 0;
}

void hr_child_watch_stop(struct hr_child_watch *watch)
{
    if (!watch->count)
        return;
    if (watch->runs && eventfd_write(watch->process[watch->count].fd, 1) == 0)
        pthread_join(watch->thread, NULL);
    for (size_t i = 0; i <= watch->count; i++)
        if (watch->process[i].fd >= 0)
            close(watch->process[i].fd);
    *watch = (struct hr_child_watch){0};
}
