#include "compare/crowd.h"

#include <math.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "terminal/output.h"

static const double basis_s = 1.0;

void hr_crowd_open(struct hr_crowd *crowd, const struct hr_compare_runs *runs,
                   enum hr_telling telling)
{
    const struct hr_progress_subject subject = hr_compare_runs_subject(runs, 0);
    *crowd = (struct hr_crowd){.bytes = runs->per_seed * sizeof *crowd->cell,
                               .seeds = {.n = runs->n / runs->per_seed, .per_seed = 1},
                               .runs = runs};
    hr_progress_view_init(&crowd->view, hr_output_terminal(), &subject, telling);
    void *memory =
        mmap(NULL, crowd->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd->cell = memory == MAP_FAILED ? NULL : memory;
}

void hr_crowd_close(struct hr_crowd *crowd)
{
    hr_progress_view_end(&crowd->view);
    if (crowd->cell)
        munmap(crowd->cell, crowd->bytes);
    crowd->cell = NULL;
}

void hr_crowd_begin(struct hr_crowd *crowd, size_t first)
{
    crowd->first = first;
    crowd->began_ns = hr_clock_ns();
    for (size_t k = 0; crowd->cell && k < crowd->runs->per_seed; k++) {
        hr_atom64_store_relaxed(&crowd->cell[k].samples, 0); /* nobody is at work */
        hr_atom64_store_relaxed(&crowd->cell[k].total, 0);
        hr_course_store(&crowd->cell[k].epoch, 0);
    }
}

void hr_crowd_end(struct hr_crowd *crowd)
{
    crowd->seeds.seconds[crowd->first / crowd->runs->per_seed] =
        hr_seconds(hr_clock_ns() - crowd->began_ns);
}

void *hr_crowd_cell(const struct hr_crowd *crowd, size_t k)
{
    return crowd->cell ? &crowd->cell[k] : NULL;
}

void hr_crowd_tell(void *arg, const struct hr_progress *progress)
{
    struct hr_course *cell = arg;
    if (!cell)
        return;
    hr_atom64_store_relaxed(&cell->samples, progress->samples); /* partner of all: hr_crowd_draw */
    hr_course_store(&cell->epoch, progress->epoch);
    hr_atom64_store_relaxed(&cell->total, progress->total);
}

/* Seconds until the last of them is over; not a number: some have no basis yet. */
static double left_of(const struct hr_course *cell, double passed)
{
    const double done = (double)hr_atom64_load_relaxed(&cell->samples),
                 total = (double)hr_atom64_load_relaxed(&cell->total); /* partner: tell */
    return passed >= basis_s && done > 0 && total >= done ? passed / done * (total - done) : NAN;
}

void hr_crowd_draw(struct hr_crowd *crowd)
{
    const size_t n = crowd->runs->per_seed;
    const double passed = hr_seconds(hr_clock_ns() - crowd->began_ns);
    struct hr_progress_crowd seen = {.first = crowd->first + 1,
                                     .last = crowd->first + n,
                                     .runs = crowd->runs->n,
                                     .least_epoch = INFINITY,
                                     .epochs = crowd->view.subject.epochs};
    double samples = 0;
    for (size_t k = 0; crowd->cell && k < n; k++) {
        const double epoch = hr_course_load(&crowd->cell[k].epoch);
        const double left = left_of(&crowd->cell[k], passed);
        seen.least_epoch = fmin(seen.least_epoch, epoch);
        seen.most_epoch = fmax(seen.most_epoch, epoch);
        seen.left_s = isnan(left) || left > seen.left_s ? left : seen.left_s;
        samples += (double)hr_atom64_load_relaxed(&crowd->cell[k].samples); /* partner: tell */
    }
    seen.samples_per_s = passed >= basis_s ? samples / passed : NAN;
    seen.left_s += hr_remaining_after(&crowd->seeds, crowd->first / n, passed + seen.left_s);
    if (crowd->cell)
        hr_progress_view_crowd(&crowd->view, &seen);
}

void hr_crowd_ran(struct hr_crowd *crowd, size_t i, const struct hr_run_result *result)
{
    crowd->view.subject = hr_compare_runs_subject(crowd->runs, i);
    hr_progress_view_ran(&crowd->view, result);
}
