/* hogring top - a run, looked at while it goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/commands.h"
#include "cli/top.h"
#include "terminal/output.h"
#include "json/value.h"
#include "shm/process.h"
#include "terminal/screen.h"

/* A look at once takes that long, or as long as it takes until a sample is trained on. */
static const double window_s = 0.5, longest_window_s = 2;
/* The next run of a comparison begins within that time. */
static const double next_run_s = 2;

/* --- which run --- */

static bool goes_on(const struct hr_run_file *run)
{
    return !run->foreign && !run->gone && !run->fresh && !run->dead && !run->elsewhere;
}

static enum hr_status none_found(const struct hr_runs *runs, long pid)
{
    for (size_t i = 0; pid && i < runs->n; i++)
        if (hr_run_has_pid(&runs->file[i], pid))
            return runs->file[i].dead || runs->file[i].gone
                       ? hr_fail(HR_E_SHM,
                                 "top %ld: the run has ended (hogring doctor %ld says "
                                 "how, if it crashed)",
                                 pid, pid)
                       : hr_fail(HR_E_SHM, "top %ld: the run %s", pid,
                                 runs->file[i].fresh       ? "has not begun yet"
                                 : runs->file[i].elsewhere ? "is of another pid namespace"
                                                           : "is another user's");
    if (pid)
        return hr_fail(HR_E_SHM,
                       "top %ld: there is no run of that process; it may have ended (hogring "
                       "doctor lists those that are here)",
                       pid);
    return hr_fail(HR_E_SHM, "top: no run goes on here");
}

/* The one that is asked for; without a pid the only one. */
static enum hr_status choose(const struct hr_runs *runs, long pid, const struct hr_run_file **run)
{
    size_t n = 0;
    *run = NULL;
    for (size_t i = 0; i < runs->n; i++) {
        const struct hr_run_file *file = &runs->file[i];
        if (!goes_on(file) || (pid && !hr_run_has_pid(file, pid)))
            continue;
        *run = *run ? *run : file;
        n++;
    }
    if (!n)
        return none_found(runs, pid);
    if (n > 1)
        return hr_fail(HR_E_USAGE,
                       "top: %zu runs go on here: name one by its pid, as %ld (hogring doctor "
                       "lists them)",
                       n, (*run)->pid);
    if (!(*run)->control)
        return hr_fail(HR_E_SHM, "/dev/shm/%s %s", (*run)->name, (*run)->fault);
    return HR_OK;
}

static enum hr_status open_run(struct hr_top *top, long pid)
{
    struct hr_runs runs;
    const struct hr_run_file *run;
    HR_TRY(hr_runs_find(&runs));
    enum hr_status status = choose(&runs, pid, &run);
    if (status == HR_OK)
        status = hr_top_open(top, run);
    hr_runs_free(&runs);
    return status;
}

/* --- once --- */

static void wait_for(double seconds)
{
    usleep((useconds_t)(1e6 * seconds));
}

static enum hr_status look_once(const struct hr_cli *cli, struct hr_top *top)
{
    char said[700];
    bool goes = hr_top_look(top);
    for (double passed = 0; goes && passed < longest_window_s; passed += window_s) {
        wait_for(window_s);
        goes = hr_top_look(top);
        if (hr_top_moved(top) || hr_signals_seen(NULL))
            break;
    }
    if (!goes) {
        hr_top_say_end(top, said, sizeof said);
        return hr_fail(HR_E_SHM, "top: %s", said);
    }
    if (hr_cli_speaks(cli)) {
        hr_top_print(stdout, top, &(struct hr_top_room){hr_output_width(), 0, stdout});
        printf("\nrates and shares are of %.1f s; staleness is of the run so far, as mean/most\n",
               top->window_s);
    }
    return cli->json[0] ? hr_json_write(cli->json, hr_json_object("run", hr_top_json(top), NULL))
                        : HR_OK;
}

/* --- again and again --- */

static void draw(const struct hr_screen *screen, const struct hr_top *top)
{
    const struct hr_screen_size size = hr_screen_size(screen);
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return;
    const struct hr_top_room room = {size.columns, size.lines > 1 ? size.lines - 1 : 1, stdout};
    hr_top_print(memory, top, &room);
    fprintf(memory, "%sq: quit%s\n", hr_style(stdout, HR_FAINT), hr_style(stdout, HR_PLAIN));
    fclose(memory);
    hr_screen_draw(screen, text);
    free(text);
}

/* The same command's next run, if one begins soon. */
static bool goes_on_with_next(struct hr_top *top)
{
    const long pid = top->run.pid;
    struct hr_top next;
    for (double passed = 0; passed < next_run_s && !hr_signals_seen(NULL); passed += 0.1) {
        if (open_run(&next, pid) == HR_OK) {
            hr_top_close(top);
            *top = next;
            return true;
        }
        if (hr_process_is_dead(pid, top->run.started))
            return false;
        wait_for(0.1);
    }
    return false;
}

static void watch(const struct hr_cli *cli, struct hr_top *top, bool *ended)
{
    struct hr_screen screen;
    const int pause_ms = (int)(1e3 * cli->interval);
    char key = 0;
    hr_screen_open(&screen, STDIN_FILENO, STDOUT_FILENO);
    while (!*ended && key != 'q' && key != 'Q' && !hr_signals_seen(NULL)) {
        if (!hr_top_look(top)) {
            *ended = !goes_on_with_next(top);
            continue;
        }
        draw(&screen, top);
        key = hr_screen_key(&screen, pause_ms);
    }
    hr_screen_close(&screen);
}

static enum hr_status look_on(const struct hr_cli *cli, struct hr_top *top)
{
    char said[700];
    bool ended = false;
    hr_signals_run_begins(); /* what is typed or sent is seen between two looks */
    watch(cli, top, &ended);
    hr_signals_run_ended();
    if (ended) {
        hr_top_say_end(top, said, sizeof said);
        printf("%s\n", said);
    }
    return hr_signals_seen(NULL) ? hr_fail(HR_E_INTERRUPTED, "interrupted; the run goes on")
                                 : HR_OK;
}

static enum hr_status check(const struct hr_cli *cli)
{
    HR_TRY(hr_cli_check(cli, HR_TOP, "interval"));
    if (cli->json[0] && !cli->once)
        return hr_fail(HR_E_USAGE, "--json: needs --once");
    if (!cli->once && !hr_screen_can(STDOUT_FILENO))
        return hr_fail(HR_E_USAGE, "top: stdout is no terminal that can be drawn on again; --once "
                                   "prints one table");
    return HR_OK;
}

static int run(struct hr_cli *cli)
{
    struct hr_top *top = calloc(1, sizeof *top);
    long pid;
    enum hr_status status = top ? check(cli) : hr_fail(HR_E_NOMEM, "no memory to look at a run in");
    if (status == HR_OK)
        status = hr_cli_parse_pid(cli, "top", &pid);
    if (status == HR_OK)
        status = open_run(top, pid);
    if (status == HR_OK)
        status = cli->once ? look_once(cli, top) : look_on(cli, top);
    if (top)
        hr_top_close(top);
    free(top);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_top = {
    .name = "top",
    .summary = "watch a run: ranks, speed, waiting, memory",
    .bit = HR_TOP,
    .usage = "[PID] [OPTIONS]",
    .story =
        "Shows this user's run (of several, that of PID), until it ends or q is typed: how far\n"
        "it is, and for each rank what it does and for how long, its speed, where its time\n"
        "goes, and how stale its updates are. It only reads, and does not slow the run down.\n",
    .examples = "  hogring top\n"
                "  hogring top 4711 --interval 2s\n"
                "  hogring top --once\n"
                "  hogring top --once --json -\n",
    .run = run,
};
