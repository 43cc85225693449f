/* control.cpp - model of the abort record (shm/control.{h,c}) and of waits that it ends (wait.c).
 *
 * The text is the real one. The record counts as one variable: snprintf writes it, hr_fail reads
 * it, and Relacy watches both. A rank that dies does so after its claim, or halfway through the
 * record; the launcher learns of it as it would from waitpid.
 * Suites:
 *   first_of_two   two ranks fail at once, both then read what stands
 *   dead_rank      a rank claims and dies or lives on, another fails meanwhile, the launcher
 *                  completes what the dead one owes
 *   waiting        a rank waits for what never comes, on a bell that no abort rings
 */
#include "model.hpp"

#include "shm/wait.h"
#define hr_cpu_relax() break
#include "shm/wait.c"

#include "shm/control.h"

enum { RANKS = 2, ALIVE = 0, DIES_AFTER_CLAIM, DIES_IN_RECORD };

struct died {};

static rl::var<unsigned> *record; /* of this schedule */
static int dying;                 /* what happens to rank 0 */

static int write_record(char *text, size_t size, const char *, const char *message)
{
    (*record)($) = 1;
    strncpy(text, message, size);
    if (dying == DIES_IN_RECORD && rl::thread_index() == 0)
        throw died();
    return 0;
}
/* A rank's name: its number. */
static int write_record(char *text, size_t, const char *, size_t rank, const char *, const char *,
                        const char *)
{
    text[0] = (char)('0' + rank);
    text[1] = 0;
    return 1;
}

/* Nobody is stopped here. */
void hr_control_blame_stopped(const struct hr_control *, struct hr_failure *, const char *)
{
}

/* Nobody looks from outside. */
void hr_about_fill(struct hr_about *)
{
}

#define snprintf write_record
#include "shm/control.c"
#undef snprintf

/* What was read: the status, and the whole record, which must be of one piece. */
enum hr_status hr_fail(enum hr_status status, const char *format, ...)
{
    if (status == HR_E_ABORTED) /* of a wait: it names nobody */
        return status;
    HR_MODEL_CHECK((*record)($) == 1);
    va_list args;
    va_start(args, format);
    const char rank = va_arg(args, const char *)[0];
    if (strstr(format, "step")) /* ranks that count steps */
        (void)va_arg(args, unsigned long long);
    const char *message = va_arg(args, const char *);
    va_end(args);
    const bool by_rank_0 = status == HR_E_FAILED && rank == '0' && !strcmp(message, "zero");
    const bool by_rank_1 = status == HR_E_IO && rank == '1' && !strcmp(message, "one");
    const bool by_launcher = status == HR_E_LOST && rank == '0' && !strcmp(message, "lost");
    HR_MODEL_CHECK(by_rank_0 || by_rank_1 || by_launcher);
    return status;
}

static void say_gone(struct hr_atom32 *gone)
{
    hr_atom32_store_release(gone, 1); /* as the kernel, to waitpid */
}

static bool is_gone(const struct hr_atom32 *gone)
{
    return hr_atom32_load_acquire(gone);
}

template <int threads> struct control_suite : hr_suite<threads> {
    struct hr_control *control;
    struct hr_atom32 gone;
    rl::var<unsigned> written;

    void setup()
    {
        alignas(HR_LINE) static unsigned char memory[4096];
        memset(memory, 0, sizeof memory);
        memset(&gone, 0, sizeof gone);
        control = (struct hr_control *)memory;
        record = &written;
        written($) = 0;
        dying = ALIVE;
        hr_model_share(control->abort, control->abort_claimed, control->launcher_bell.word, gone);
        hr_model_share(control->course.train_loss, control->course.loss, control->course.accuracy);
        hr_model_share(control->clock_offset);
        for (unsigned r = 0; r < RANKS; r++)
            hr_model_share(control->rank[r].bell.word, control->rank[r].pid, control->rank[r].step);
        hr_control_init(control, RANKS);
    }

    enum hr_status read_failure()
    {
        enum hr_status status;
        while ((status = hr_control_failure(control)) == HR_OK)
            rl::yield(1, $);
        return status;
    }
};

struct first_of_two : control_suite<2> {
    enum hr_status seen[2];

    void thread(unsigned index)
    {
        if (index)
            hr_control_abort(control, 1, HR_E_IO, "one");
        else
            hr_control_abort(control, 0, HR_E_FAILED, "zero");
        seen[index] = read_failure();
    }

    void finish()
    {
        HR_MODEL_CHECK(seen[0] == seen[1]);
    }
};

struct dead_rank : control_suite<3> {
    enum hr_status seen[2];

    void rank_0()
    {
        dying = (int)rl::rand(3);
        try {
            if (dying != DIES_AFTER_CLAIM)
                hr_control_abort(control, 0, HR_E_FAILED, "zero");
            else
                hr_control_claim(control, 0);
        } catch (const struct died &) {
        }
        say_gone(&gone);
    }

    void thread(unsigned index)
    {
        if (index == 0) {
            rank_0();
            return;
        }
        if (index == 1) {
            hr_control_abort(control, 1, HR_E_IO, "one");
        } else {
            while (!is_gone(&gone))
                rl::yield(1, $);
            hr_control_abort(control, 0, HR_E_LOST, "lost");
        }
        seen[index - 1] = read_failure();
    }

    void finish()
    {
        HR_MODEL_CHECK(seen[0] == seen[1]);
    }
};

static bool never(void *)
{
    return false;
}

struct waiting : control_suite<2> {
    struct hr_bell bell;

    void setup()
    {
        control_suite::setup();
        memset(&bell, 0, sizeof bell);
        hr_model_share(bell.word);
        hr_model_timed = true; /* parked ranks look up: nobody rings this bell */
    }

    void thread(unsigned index)
    {
        if (index) {
            struct hr_waiter waiter = {&control->abort, 0, 0, 0, 0, 0};
            HR_MODEL_CHECK(hr_wait_until(&waiter, &bell, never, NULL, "ever") == HR_E_ABORTED);
            HR_MODEL_CHECK(read_failure() == HR_E_FAILED);
        } else {
            hr_control_abort(control, 0, HR_E_FAILED, "zero");
        }
    }
};

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(first_of_two, 6, 9),
                                       HR_SUITE(dead_rank, 3, 5), HR_SUITE(waiting, 4, 6)};
    return hr_model_main("control: the abort record", "shm/control.c", entries, 3);
}
