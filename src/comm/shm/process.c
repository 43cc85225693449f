#include "shm/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What /proc/<pid>/stat says; `state` is 0 when it says nothing. */
struct stat_line {
    char state;                 /* field 3 */
    long parent;                /* field 4 */
    long threads;               /* field 20 */
    unsigned long long started; /* field 22 */
};

static struct stat_line read_stat(long pid)
{
    struct stat_line line = {0};
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return line;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *field = strrchr(text, ')'); /* the name before it may hold anything */
    for (int number = 3; field && number <= 22; number++) {
        field = strchr(field + 1, ' ');
        if (field && number == 3)
            line.state = field[1];
        else if (field && number == 4)
            line.parent = strtol(field, NULL, 10);
        else if (field && number == 20)
            line.threads = strtol(field, NULL, 10);
        else if (field && number == 22)
            line.started = strtoull(field, NULL, 10);
    }
    return line;
}

unsigned long long hr_process_start_time(long pid)
{
    return read_stat(pid).started;
}

bool hr_process_is_dead(long pid, unsigned long long started)
{
    const struct stat_line now = read_stat(pid);
    if (!now.started)
        return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
    if (started && now.started != started)
        return true;
    /* When its first thread has ended a process looks like a zombie, though others run on. */
    return (now.state == 'Z' || now.state == 'X') && now.threads <= 1;
}

unsigned long long hr_process_namespace(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

long hr_process_parent(long pid)
{
    return read_stat(pid).parent;
}

bool hr_process_is_stopped(long pid)
{
    const char state = read_stat(pid).state;
    return state == 'T' || state == 't';
}

unsigned long long hr_process_resident_bytes(long pid)
{
    char path[64];
    unsigned long long size, resident = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (unsigned long long)sysconf(_SC_PAGESIZE);
}

int hr_process_open(pid_t pid)
{
#ifdef SYS_pidfd_open
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
#else
    (void)pid;
    return -1;
#endif
}
