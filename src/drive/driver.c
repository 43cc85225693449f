#include "drive/driver.h"

#include "base/clock.h"
#include "base/cpus.h"

static int64_t real_ns(const void *drive)
{
    (void)drive;
    return hr_clock_ns();
}

static int64_t virtual_ns(const void *arg)
{
    const struct hr_drive *drive = arg;
    return drive->now_ps / 1000;
}

static size_t one_thread(const struct hr_train_options *options)
{
    (void)options;
    return 1;
}

static size_t one_a_processor(const struct hr_train_options *options)
{
    (void)options;
    return hr_cpus_allowed();
}

/* Threads that compute: one for each threads_per_worker processors. */
static size_t one_a_gradient(const struct hr_train_options *options)
{
    const size_t threads = hr_cpus_allowed() / options->threads_per_worker;
    return threads ? threads : 1;
}

const struct hr_driver hr_driver_threads = {.now_ns = real_ns, .run = hr_drive_threads};

const struct hr_driver hr_driver_explore = {.title = "one thread plays all ranks",
                                            .played = true,
                                            .threads = one_thread,
                                            .now_ns = real_ns,
                                            .run = hr_drive_explore};

const struct hr_driver hr_driver_virtual = {.title = "in virtual time",
                                            .played = true,
                                            .simulated = true,
                                            .local = true,
                                            .threads = one_a_gradient,
                                            .now_ns = virtual_ns,
                                            .run = hr_drive_virtual};

const struct hr_driver hr_driver_replay = {.title = "one thread plays all ranks",
                                           .played = true,
                                           .local = true,
                                           .threads = one_a_processor,
                                           .now_ns = real_ns,
                                           .run = hr_drive_replay};
