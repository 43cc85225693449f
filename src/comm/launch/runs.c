#include "launch/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/process.h"

/* What may stand behind the control block: the rendezvous of ranks started one by one. */
enum { BEHIND_BYTES = 4096, PATH_BYTES = 96 };

static void path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "/dev/shm/%s", name);
}

/* --- a rank, by its line --- */

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
    const bool played = control->about.rank_kind == HR_RANKS_SERIAL;
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

/* few: of the first ranks of those that one process runs, which have no recorders. */
static struct hr_control *new_copy(int fd, size_t nranks, bool few)
{
    const size_t bytes = (hr_control_bytes(nranks) + HR_LINE - 1) / HR_LINE * HR_LINE;
    struct hr_control *copy = aligned_alloc(HR_LINE, bytes);
    const size_t read = few ? offsetof(struct hr_control, rank) + nranks * sizeof *copy->rank
                            : hr_control_bytes(nranks);
    if (copy)
        memset(copy, 0, bytes);
    if (!copy || !read_whole(fd, copy, read)) {
        free(copy);
        return NULL;
    }
    if (few)
        copy->nranks = (uint32_t)nranks;
    return copy;
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
    file->nranks = head.nranks;
    head.nranks = many ? HR_MAX_RANKS : head.nranks;
    struct hr_control *before = new_copy(fd, head.nranks, many);
    struct hr_control *control = new_copy(fd, head.nranks, many);
    /* Whoever changes the number of ranks meanwhile is no run. */
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

/* When the run was last seen to do something, by hr_clock_ns. Of readable ones. */
static int64_t run_last_seen(const struct hr_control *control)
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
            (!last || run_last_seen(file->control) >= run_last_seen(last->control)))
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

/* === one look at a run from outside === */

const char *hr_run_state_str(enum hr_run_state state)
{
    static const char *const texts[] = {"alive", "held up", "stopped", "ending", "dead"};
    return texts[state];
}

/* --- what the copy says; it may hold anything, and has no writers --- */

/* A time of the copy: between the beginning of the clock and now. */
static int64_t time_in(uint64_t ns, int64_t now)
{
    return ns < (uint64_t)now ? (int64_t)ns : now;
}

static struct hr_wait_rules rules_of(const struct hr_control *control, int64_t long_ns)
{
    const struct hr_about *about = &control->about;
    const bool trains = about->workers > 0; /* else it is a group of the library */
    return (struct hr_wait_rules){
        .warn_ns = long_ns,
        .workers = trains && about->workers < control->nranks ? about->workers : control->nranks,
        .owners = about->owners,
        .first_stage = about->first_stage,
        .stages = about->stages,
        .waits = !trains                                ? HR_WAITS_FOR_STEP
                 : about->waits <= HR_WAITS_FOR_SLOWEST ? (enum hr_waits_for)about->waits
                                                        : HR_WAITS_FOR_SERVERS,
    };
}

/* --- what the kernel says --- */

static bool is_stopped(const struct hr_run_file *run, size_t r)
{
    char text[100];
    if (run->dead) /* as its launcher saw it last */
        return hr_atom64_load_relaxed(&run->control->rank[r].presence.stopped) != 0;
    return hr_control_stopped(run->control, r, text, sizeof text);
}

/* When it was stopped. Where no launcher has seen it: when the launcher itself was, or, at the
 * earliest, when the rank began what it does. */
static void see_stop(const struct hr_run_file *run, size_t r, struct hr_look *look)
{
    const uint64_t seen = hr_atom64_load_relaxed(&run->control->rank[r].presence.stopped);
    const uint64_t looked = hr_atom64_load_relaxed(&run->control->looked);
    struct hr_seen_rank *rank = &look->waits.rank[r];
    rank->not_before = !seen && !looked;
    rank->stopped_since =
        rank->not_before ? rank->since : time_in(seen ? seen : looked, look->waits.now);
}

static void see_rank(const struct hr_run_file *run, size_t r, struct hr_look *look)
{
    const struct hr_rank_status *line = &run->control->rank[r];
    struct hr_seen_rank *rank = &look->waits.rank[r];
    const uint64_t since = hr_atom64_load_relaxed(&line->since);
    rank->view = (struct hr_rank_view){
        .pid = (long)hr_atom64_load_relaxed(&line->pid),
        .host = line->host,
        .phase = (enum hr_phase)hr_atom32_load_relaxed(&line->phase),
        .step = hr_atom64_load_relaxed(&line->step),
        .over = hr_atom32_load_relaxed(&line->result) != HR_RUNNING ||
                hr_roster_is_gone(run->control, r),
    };
    rank->view.stopped = !rank->view.over && is_stopped(run, r);
    rank->since = rank->awake_since =
        time_in(since ? since : (uint64_t)run->control->about.began, look->waits.now);
    look->lost[r] = !run->dead && !rank->view.over && rank->view.pid > 0 &&
                    hr_process_is_dead(rank->view.pid, hr_atom64_load_relaxed(&line->started));
}

/* --- ranks that do not train: their phases say little, their flight recorders more --- */

/* Its last collective of all ranks; false: it has called none. */
static bool last_of_all(const struct hr_flight *flight, struct hr_flight_entry *entry)
{
    for (size_t back = 0; back < HR_FLIGHT_ENTRIES; back++)
        if (hr_flight_read(flight, back, entry) && entry->group == 0)
            return true;
    return false;
}

/* A rank is in its last collective, or between that and the next, whose number is its step. */
static void see_collective(struct hr_control *control, size_t r, struct hr_look *look)
{
    struct hr_seen_rank *rank = &look->waits.rank[r];
    struct hr_flight_entry last = {.end_ns = 1};
    if (rank->view.phase != HR_PHASE_COMMUNICATE)
        return;
    const bool any = last_of_all(hr_control_flight(control, r), &last);
    const int64_t since = last.end_ns ? last.end_ns : last.start_ns;
    rank->view.phase = last.end_ns ? HR_PHASE_BETWEEN : HR_PHASE_COMMUNICATE;
    rank->view.step = last.sequence + (last.end_ns != 0);
    if (any)
        rank->since = rank->awake_since = time_in(since > 0 ? (uint64_t)since : 0, look->waits.now);
}

/* --- whose fault it is --- */

static void find_culprits(struct hr_look *look)
{
    const struct hr_waits *waits = &look->waits;
    struct hr_hold_up *hold_up = &look->hold_up;
    for (size_t c = 0; c < waits->nranks; c++) {
        const bool stopped = hr_waits_is_stopped(waits, c);
        const int64_t longest = hr_waits_longest(waits, c);
        if (!waits->rank[c].view.over && (stopped || longest >= waits->rules.warn_ns))
            hold_up->holding[hold_up->n++] = c;
    }
    hr_hold_up_find_waiters(waits, hold_up);
}

static enum hr_run_state state_of(const struct hr_run_file *run, const struct hr_look *look)
{
    bool stopped = look->launcher_stopped;
    for (size_t i = 0; i < look->hold_up.n; i++)
        stopped = stopped || look->waits.rank[look->hold_up.holding[i]].view.stopped;
    if (run->dead)
        return HR_RUN_DEAD;
    if (hr_atom32_load_relaxed(&run->control->abort))
        return HR_RUN_ENDING;
    const bool held_up = look->hold_up.n || look->silent_ns >= look->waits.rules.warn_ns;
    return stopped ? HR_RUN_STOPPED : held_up ? HR_RUN_HELD_UP : HR_RUN_ALIVE;
}

void hr_look_at(const struct hr_run_file *run, int64_t long_ns, struct hr_look *look)
{
    const struct hr_control *control = run->control;
    const int64_t now = hr_control_clock_ns(control), last = later(run_last_seen(control), 0);
    *look = (struct hr_look){.waits = {.rules = rules_of(control, long_ns),
                                       .nranks = control->nranks,
                                       .now = run->dead && last < now ? last : now}};
    const uint64_t looked = hr_atom64_load_relaxed(&control->looked);
    if (looked)
        look->silent_ns = look->waits.now - time_in(looked, look->waits.now);
    look->launcher_stopped = !run->dead && !run->joined && hr_process_is_stopped(run->pid);
    for (size_t r = 0; r < control->nranks; r++)
        see_rank(run, r, look);
    for (size_t r = 0; !control->about.workers && r < control->nranks; r++)
        see_collective(run->control, r, look);
    for (size_t r = 0; r < control->nranks; r++)
        see_stop(run, r, look);
    find_culprits(look);
    look->state = state_of(run, look);
}

size_t hr_look_waits_for(const struct hr_look *look, size_t rank, size_t *whom, int64_t *time)
{
    size_t n = 0;
    *time = 0;
    for (size_t c = 0; c < look->waits.nranks; c++) {
        const int64_t waited =
            look->waits.rank[c].view.over ? 0 : hr_waits_time(&look->waits, rank, c);
        if (waited)
            whom[n++] = c;
        *time = waited > *time ? waited : *time;
    }
    return n;
}

/* --- in words --- */

/* Is the launcher's process that of all ranks, too? */
static bool is_one_process(const struct hr_control *control)
{
    return control->about.rank_kind == HR_RANKS_THREADS ||
           control->about.rank_kind == HR_RANKS_SERIAL;
}

/* A launcher that is stopped, or has not looked for long. */
static size_t say_launcher(const struct hr_run_file *run, const struct hr_look *look, char *text,
                           size_t size)
{
    const double silent = hr_seconds(look->silent_ns);
    if (look->launcher_stopped &&
        !look->silent_ns) /* nobody looks after ranks that one thread runs */
        return (size_t)snprintf(text, size, "the process (pid %ld) is stopped", run->pid);
    if (look->launcher_stopped && is_one_process(run->control))
        return (size_t)snprintf(text, size,
                                "the process (pid %ld) has been stopped for %.1f s, with all its "
                                "ranks",
                                run->pid, silent);
    if (look->launcher_stopped)
        return (size_t)snprintf(text, size,
                                "the launcher (pid %ld) has been stopped for %.1f s: meanwhile "
                                "nothing is saved, and nobody is missed",
                                run->pid, silent);
    if (look->silent_ns >= look->waits.rules.warn_ns)
        return (size_t)snprintf(text, size,
                                "the launcher (pid %ld) has not looked after its ranks for %.1f s: "
                                "it saves, or has no processor",
                                run->pid, silent);
    return 0;
}

static size_t say_lost(const struct hr_look *look, char *text, size_t size)
{
    for (size_t r = 0; r < look->waits.nranks; r++)
        if (look->lost[r])
            return (size_t)snprintf(text, size, "rank %zu (pid %ld) is gone, while %s", r,
                                    look->waits.rank[r].view.pid,
                                    hr_phase_str(look->waits.rank[r].view.phase));
    return 0;
}

/* How it ended, as far as that is known. */
static size_t say_end(const struct hr_run_file *run, char *text, size_t size)
{
    const struct hr_failure *failure = &run->control->failure;
    if (!hr_atom32_load_relaxed(&run->control->abort))
        return run->dead ? (size_t)snprintf(text, size, "the run died: its %s (pid %ld) is gone",
                                            run->joined ? "rank 0" : "launcher", run->pid)
                         : 0;
    if (failure->rank < run->control->nranks)
        return (size_t)snprintf(text, size, "the run %s: rank %u: %s",
                                run->dead ? "failed" : "fails", failure->rank, failure->message);
    return (size_t)snprintf(text, size, "the run %s: %s", run->dead ? "failed" : "fails",
                            failure->message);
}

void hr_look_say(const struct hr_run_file *run, const struct hr_look *look, char *text, size_t size)
{
    text[0] = '\0';
    size_t used = say_end(run, text, size);
    const bool all_stopped = look->launcher_stopped && is_one_process(run->control);
    if (!used && !run->dead)
        used = say_launcher(run, look, text, size);
    if (!used)
        used = say_lost(look, text, size);
    if (!look->hold_up.n || all_stopped || used + 3 >= size)
        return;
    used += (size_t)snprintf(text + used, size - used, "%s", used ? "; " : "");
    hr_hold_up_describe(&look->waits, &look->hold_up, text + used, size - used);
}
