#include "base/leftovers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST = 16, PATH_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* owner is the pid that added it, 0: free. The handler, in any thread, does not lock: owner is set
 * behind path and taken back before it. */
static struct {
    atomic_int owner;
    char path[PATH_BYTES];
} table[MOST];

void hr_leftover_add(const char *path)
{
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < MOST && table[i].owner == getpid())
        i++;
    if (i < MOST && strlen(path) < PATH_BYTES) {
        table[i].owner = 0;
        snprintf(table[i].path, PATH_BYTES, "%s", path);
        table[i].owner = getpid();
    }
    pthread_mutex_unlock(&lock);
}

void hr_leftover_forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MOST; i++)
        if (table[i].owner == getpid() && !strcmp(table[i].path, path))
            table[i].owner = 0;
    pthread_mutex_unlock(&lock);
}

void hr_leftovers_remove(void)
{
    for (size_t i = 0; i < MOST; i++)
        if (table[i].owner == getpid())
            unlink(table[i].path);
}
