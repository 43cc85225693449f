/* What hogring top shows above its table: the run, and how far it is. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/size.h"
#include "report/human.h"
#include "shm/process.h"
#include "terminal/output.h"
#include "views/top.h"

enum { BAR = 20, NARROW = 72 };

/* A line of parts, of which those that do not fit are left out. */
struct parts {
    char text[256];
    size_t used, room;
};

static void add(struct parts *parts, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct parts *parts, const char *format, ...)
{
    char part[128];
    va_list args;
    va_start(args, format);
    vsnprintf(part, sizeof part, format, args);
    va_end(args);
    const char *before = parts->used ? ", " : "";
    const size_t more = strlen(before) + strlen(part);
    if (parts->used + more >= sizeof parts->text ||
        (parts->room && parts->used + more > parts->room))
        return;
    snprintf(parts->text + parts->used, sizeof parts->text - parts->used, "%s%s", before, part);
    parts->used += more;
}

static void print_progress(FILE *out, const struct hr_top *top, size_t columns_there)
{
    const struct hr_course *course = &top->run.control->course;
    const uint64_t done = hr_atom64_load_relaxed(&course->samples),
                   total = hr_atom64_load_relaxed(&course->total);
    const bool narrow = columns_there && columns_there < NARROW;
    struct parts parts = {.room = columns_there};
    char text[HR_HUMAN_MAX];
    if (!total)
        return;
    const double part = fmin((double)done / (double)total, 1);
    const int full = (int)(part * BAR);
    if (narrow)
        add(&parts, "%.0f %%", 100 * part);
    else
        add(&parts, "[%.*s%.*s] %.0f %%", full, "####################", BAR - full,
            "--------------------", 100 * part);
    add(&parts, "epoch %.2f of %.10g", hr_course_load(&course->epoch),
        hr_course_load(&course->epochs));
    if (isfinite(top->eta_s))
        add(&parts, "about %s to go", hr_human_wait(text, top->eta_s));
    fprintf(out, "%s\n", parts.text);
}

static void print_measures(FILE *out, const struct hr_top *top, size_t columns_there)
{
    const struct hr_control *control = top->run.control;
    const struct hr_course *course = &control->course;
    const double loss = hr_course_load(&course->train_loss),
                 accuracy = hr_course_load(&course->accuracy);
    struct parts parts = {.room = columns_there};
    char text[HR_HUMAN_MAX];
    if (isfinite(top->samples_per_s))
        add(&parts, "%s samples/s", hr_human_short(text, top->samples_per_s));
    if (isfinite(loss))
        add(&parts, "loss %s", hr_human_loss(text, loss));
    if (isfinite(accuracy))
        add(&parts, "accuracy %.2f %%", 100 * accuracy);
    add(&parts, "memory %s", hr_bytes_text(hr_process_resident_bytes(top->run.pid)).text);
    if (control->about.segment_bytes)
        add(&parts, "shared %s", hr_bytes_text(control->about.segment_bytes).text);
    fprintf(out, "%s\n", parts.text);
}

/* "3 workers, 1 server, as threads" */
static void print_ranks(FILE *out, const struct hr_top *top)
{
    const struct hr_control *control = top->run.control;
    static const char *const seats[] = {", all played by one process", " as threads",
                                        " as processes", " started one by one"};
    const struct hr_about *about = &control->about;
    const bool staged = about->stages > 1;
    const size_t workers = about->workers, n = top->run.nranks;
    const size_t servers = (staged ? hr_min_size(about->first_stage, n) : n) - workers;
    if (!workers || workers > n)
        fprintf(out, "%zu rank%s", n, n == 1 ? "" : "s");
    else
        fprintf(out, "%zu %s%s", workers, staged ? "replica" : "worker", workers == 1 ? "" : "s");
    if (workers && workers <= n && staged)
        fprintf(out, " of %u ranks", about->stages);
    if (workers && servers && servers <= n)
        fprintf(out, ", %zu server%s", servers, servers == 1 ? "" : "s");
    fputs(about->seating < sizeof seats / sizeof *seats ? seats[about->seating] : "", out);
}

void hr_top_print_head(FILE *out, const struct hr_top *top, const struct hr_top_room *room)
{
    const struct hr_control *control = top->run.control;
    char command[sizeof control->about.command];
    memcpy(command, control->about.command, sizeof command); /* a stranger's, perhaps */
    hr_make_printable(&(struct hr_printable_state){0}, command, strlen(command), "");
    const char *slash = memrchr(command, '/', strcspn(command, " "));
    const bool well = top->look.state == HR_RUN_ALIVE;
    const FILE *style = room->style;
    char text[HR_HUMAN_MAX];
    fprintf(out, "%s%s%s\n", hr_style(style, HR_BOLD), slash ? slash + 1 : command,
            hr_style(style, HR_PLAIN));
    fprintf(out, "pid %ld, %s%s", top->run.pid, hr_printable(control->about.strategy).text,
            control->about.strategy[0] ? ", " : "");
    print_ranks(out, top);
    fprintf(out, ", %s: %s%s%s\n", hr_human_wait(text, top->age_s),
            hr_style(style, well ? HR_GOOD : HR_BAD), hr_run_state_str(top->look.state),
            hr_style(style, HR_PLAIN));
    print_progress(out, top, room->columns);
    print_measures(out, top, room->columns);
    if (control->about.seating == HR_SEATS_PLAYED &&
        isfinite(hr_course_load(&control->course.seconds)))
        fprintf(out, "%.6g s of the run's own clock\n", hr_course_load(&control->course.seconds));
}
