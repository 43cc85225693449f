#include "launch/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/peer_watch.h"
#include "shm/process.h"

/* What may stand behind the control block: the rendezvous of ranks started one by one. */
enum { BEHIND_BYTES = 4096, PATH_BYTES = 96 };

static void path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "/dev/shm/%s", name);
}

/* --- reading --- */

static bool read_whole(int fd, void *to, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const ssize_t got = pread(fd, (unsigned char *)to + at, bytes - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool has_form(const struct hr_control *control, size_t bytes)
{
    const bool played = control->about.seating == HR_SEATS_PLAYED;
    return control->nranks >= 1 && (control->nranks <= HR_MAX_RANKS || played) &&
           bytes >= hr_control_bytes(control->nranks) &&
           bytes - hr_control_bytes(control->nranks) <= BEHIND_BYTES;
}

/* Why its first bytes are no run's of this version; "": they are. */
static void judge_head(struct hr_run_file *file, const struct hr_control *head, size_t bytes)
{
    static const char unset[sizeof head->magic];
    file->fresh = !memcmp(head->magic, unset, sizeof unset) ||
                  (!memcmp(head->magic, "HOGRING", sizeof head->magic) && !head->version);
    if (memcmp(head->magic, "HOGRING", sizeof head->magic) != 0)
        snprintf(file->fault, sizeof file->fault, "is no run of hogring");
    else if (head->version != HR_CONTROL_VERSION)
        snprintf(file->fault, sizeof file->fault, "is of another version of hogring (%u, here %d)",
                 head->version, HR_CONTROL_VERSION);
    else if (!has_form(head, bytes))
        snprintf(file->fault, sizeof file->fault, "is torn: %zu bytes do not fit %u ranks", bytes,
                 head->nranks);
}

/* Operations that were written between the two copies are of no moment. */
static void drop_torn_operations(struct hr_control *control, struct hr_control *before)
{
    for (size_t r = 0; r < control->nranks; r++) {
        struct hr_flight *flight = hr_control_flight(control, r);
        const struct hr_flight *old = hr_control_flight(before, r);
        for (size_t i = 0; i < HR_FLIGHT_ENTRIES; i++)
            if (memcmp(&flight->slot[i], &old->slot[i], sizeof old->slot[i]) != 0)
                hr_atom64_store_relaxed(&flight->slot[i].number, 0); /* a copy: no partner */
    }
}

/* Text that a stranger ended, or not; and no time before the clock began. */
static void tame(struct hr_control *control)
{
    control->about.began = control->about.began > 0 ? control->about.began : 0;
    control->about.command[sizeof control->about.command - 1] = '\0';
    control->about.strategy[sizeof control->about.strategy - 1] = '\0';
    control->failure.message[sizeof control->failure.message - 1] = '\0';
    for (size_t r = 0; r < control->nranks; r++)
        control->rank[r].host[sizeof control->rank[r].host - 1] = '\0';
}

/* Ranks that are played have no recorders. */
static struct hr_control *copy_of_first(int fd)
{
    const size_t bytes = hr_control_bytes(HR_MAX_RANKS);
    struct hr_control *copy = aligned_alloc(HR_LINE, (bytes + HR_LINE - 1) / HR_LINE * HR_LINE);
    const size_t read = offsetof(struct hr_control, rank) + HR_MAX_RANKS * sizeof *copy->rank;
    if (copy)
        memset(copy, 0, bytes);
    if (copy && read_whole(fd, copy, read)) {
        copy->nranks = HR_MAX_RANKS;
        return copy;
    }
    free(copy);
    return NULL;
}

static struct hr_control *new_copy(int fd, size_t bytes)
{
    struct hr_control *copy = aligned_alloc(HR_LINE, (bytes + HR_LINE - 1) / HR_LINE * HR_LINE);
    if (copy && read_whole(fd, copy, bytes))
        return copy;
    free(copy);
    return NULL;
}

static void read_control(int fd, struct hr_run_file *file, size_t size)
{
    struct hr_control head;
    if (size < sizeof head || !read_whole(fd, &head, sizeof head)) {
        snprintf(file->fault, sizeof file->fault, "is torn: %zu bytes are too few for a run", size);
        file->fresh = size == 0;
        return;
    }
    judge_head(file, &head, size);
    if (file->fault[0])
        return;
    const bool many = head.nranks > HR_MAX_RANKS;
    const size_t bytes = hr_control_bytes(head.nranks);
    struct hr_control *before = many ? copy_of_first(fd) : new_copy(fd, bytes);
    struct hr_control *control = many ? copy_of_first(fd) : new_copy(fd, bytes);
    /* Whoever changes the number of ranks meanwhile is no run. */
    file->nranks = head.nranks;
    head.nranks = many ? HR_MAX_RANKS : head.nranks;
    if (before && control && before->nranks == head.nranks && control->nranks == head.nranks) {
        drop_torn_operations(control, before);
        tame(control);
        file->control = control;
    } else {
        snprintf(file->fault, sizeof file->fault, "cannot be read whole");
        free(control);
    }
    free(before);
}

/* Read-only, and no file that a name stands for in another way. */
static int open_file(const struct hr_run_file *file)
{
    char path[PATH_BYTES];
    path_of(file->name, path);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void read_file(struct hr_run_file *file)
{
    struct stat info = {0};
    const int fd = open_file(file), cause = errno;
    if (fd < 0 && cause == ENOENT)
        file->gone = true;
    else if (fd < 0)
        snprintf(file->fault, sizeof file->fault, "cannot be opened: %s", strerror(cause));
    else if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        snprintf(file->fault, sizeof file->fault, "is no segment");
    else if (info.st_uid != geteuid())
        snprintf(file->fault, sizeof file->fault, "is another user's (uid %u)",
                 (unsigned)info.st_uid);
    else
        read_control(fd, file, (size_t)info.st_size);
    if (fd >= 0) {
        file->inode = info.st_ino;
        close(fd);
    }
}

/* --- whose it is --- */

static bool is_foreign(const char *name)
{
    char path[PATH_BYTES];
    struct stat info;
    path_of(name, path);
    return lstat(path, &info) == 0 && info.st_uid != geteuid();
}

/* Is this one of the names? Then whose. */
static bool read_name(const char *name, struct hr_run_file *file, uint64_t *started)
{
    unsigned long long ticks = 0;
    char own[40];
    *file = (struct hr_run_file){0};
    snprintf(own, sizeof own, "hogring-run.%ld.", (long)geteuid());
    if (strlen(name) >= sizeof file->name)
        return false;
    snprintf(file->name, sizeof file->name, "%s", name);
    file->joined = !strncmp(name, own, strlen(own)) ||
                   (!strncmp(name, "hogring-run.", 12) && is_foreign(name));
    if (file->joined)
        return true;
    unsigned any;
    unsigned long long space = 0;
    int length = 0, whole = 0;
    const bool ours = sscanf(name, "hogring.%ld.%llu.%8x%n.%llx%n", &file->pid, &ticks, &any,
                             &length, &space, &whole) >= 3;
    *started = file->started = ticks;
    file->elsewhere = space && space != hr_process_namespace();
    return ours && file->pid > 0 && !name[whole ? whole : length];
}

static bool look_at(const char *name, struct hr_run_file *file)
{
    uint64_t started = 0;
    if (!read_name(name, file, &started))
        return false;
    file->foreign = is_foreign(name);
    if (!file->joined)
        file->dead = !file->foreign && !file->elsewhere && hr_process_is_dead(file->pid, started);
    read_file(file);
    if (file->elsewhere && !file->foreign && !file->gone) {
        free(file->control);
        file->control = NULL;
        snprintf(file->fault, sizeof file->fault,
                 "is another container's (pid namespace): ask hogring doctor there");
    }
    if (file->joined && file->control) {
        file->pid = (long)hr_atom64_load_relaxed(&file->control->rank[0].pid); /* a copy */
        file->dead = hr_ranks_are_gone(file->control);
    }
    file->fresh = file->fresh && !file->dead;
    return true;
}

/* --- one of them, again and again --- */

bool hr_run_has_pid(const struct hr_run_file *run, long pid)
{
    if (run->pid == pid || (!run->dead && hr_process_parent(run->pid) == pid))
        return true;
    for (size_t r = 0; run->control && r < run->control->nranks; r++)
        if ((long)hr_atom64_load_relaxed(&run->control->rank[r].pid) == pid) /* a copy */
            return true;
    return false;
}

int hr_run_open(const struct hr_run_file *file)
{
    struct stat info;
    const int fd = open_file(file);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_ino == file->inode &&
        info.st_uid == geteuid() && S_ISREG(info.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool hr_run_read_again(int fd, struct hr_run_file *file)
{
    struct stat info;
    free(file->control);
    file->control = NULL;
    file->fault[0] = '\0';
    if (fstat(fd, &info) != 0)
        return false;
    file->gone = info.st_nlink == 0; /* asked before it is read: then it holds the end */
    read_control(fd, file, (size_t)info.st_size);
    if (!file->control)
        return false;
    file->dead = file->joined ? hr_ranks_are_gone(file->control)
                              : hr_process_is_dead(file->pid, file->started);
    return true;
}

/* --- all of them --- */

static int by_beginning(const void *a, const void *b)
{
    const struct hr_run_file *x = a, *y = b;
    const int64_t began[2] = {x->control ? x->control->about.began : 0,
                              y->control ? y->control->about.began : 0};
    return began[0] != began[1] ? (began[0] > began[1]) - (began[0] < began[1])
                                : strcmp(x->name, y->name);
}

enum hr_status hr_runs_find(struct hr_runs *runs)
{
    enum hr_status status = HR_OK;
    struct hr_run_file file;
    *runs = (struct hr_runs){0};
    DIR *dir = opendir("/dev/shm");
    if (!dir)
        return hr_fail_errno(HR_E_SHM, "/dev/shm");
    for (struct dirent *entry; status == HR_OK && (entry = readdir(dir));) {
        if (!look_at(entry->d_name, &file))
            continue;
        struct hr_run_file *more = realloc(runs->file, (runs->n + 1) * sizeof *more);
        if (!more) {
            status = hr_fail(HR_E_NOMEM, "no memory for a list of runs");
            free(file.control);
            continue;
        }
        runs->file = more;
        runs->file[runs->n++] = file;
    }
    closedir(dir);
    if (status != HR_OK)
        hr_runs_free(runs);
    else if (runs->n)
        qsort(runs->file, runs->n, sizeof *runs->file, by_beginning);
    return status;
}

void hr_runs_free(struct hr_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        free(runs->file[i].control);
    free(runs->file);
    *runs = (struct hr_runs){0};
}

/* --- what dead ones left --- */

static int64_t later(int64_t a, uint64_t b)
{
    return b <= INT64_MAX && (int64_t)b > a ? (int64_t)b : a;
}

int64_t hr_run_last_seen(const struct hr_control *control)
{
    /* Of a copy: no partner. */
    int64_t last = later(control->about.began, hr_atom64_load_relaxed(&control->looked));
    for (size_t r = 0; r < control->nranks; r++)
        last = later(last, hr_atom64_load_relaxed(&control->rank[r].since));
    return last;
}

const struct hr_run_file *hr_runs_last_crash(const struct hr_runs *runs)
{
    const struct hr_run_file *last = NULL;
    for (size_t i = 0; i < runs->n; i++) {
        const struct hr_run_file *file = &runs->file[i];
        if (file->dead && file->control &&
            (!last || hr_run_last_seen(file->control) >= hr_run_last_seen(last->control)))
            last = file;
    }
    return last;
}

bool hr_run_remove(const struct hr_run_file *file)
{
    char name[sizeof file->name + 1];
    snprintf(name, sizeof name, "/%s", file->name);
    return file->dead && file->inode && hr_segment_remove(name, file->inode);
}

size_t hr_runs_sweep(void)
{
    struct hr_runs runs;
    size_t removed = 0;
    if (hr_runs_find(&runs) != HR_OK) /* nobody is hurt by what stays */
        return 0;
    const struct hr_run_file *last = hr_runs_last_crash(&runs);
    for (size_t i = 0; i < runs.n; i++)
        removed += &runs.file[i] != last && hr_run_remove(&runs.file[i]);
    hr_runs_free(&runs);
    return removed;
}
