#include "session/writer.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/signals.h"

static void *write_main(void *arg)
{
    struct hr_writer *writer = arg;
    const int64_t began = hr_clock_ns();
    writer->status = writer->write(writer->arg);
    if (writer->status != HR_OK)
        snprintf(writer->message, sizeof writer->message, "%s", hr_error_message());
    writer->took_ns = hr_clock_ns() - began;
    hr_atom32_store_release(&writer->done, 1); /* partner: hr_writer_is_done */
    hr_bell_ring(writer->bell);
    return NULL;
}

void hr_writer_start(struct hr_writer *writer, enum hr_status (*write)(void *arg), void *arg,
                     struct hr_bell *bell)
{
    HR_ASSERT(!writer->busy);
    *writer = (struct hr_writer){.write = write, .arg = arg, .bell = bell, .busy = true};
    writer->threaded = hr_thread_start(&writer->thread, write_main, writer) == 0;
    if (!writer->threaded)
        write_main(writer);
}

bool hr_writer_is_busy(const struct hr_writer *writer)
{
    return writer->busy;
}

bool hr_writer_is_done(const struct hr_writer *writer)
{
    return writer->busy && hr_atom32_load_acquire(&writer->done); /* partner: write_main */
}

enum hr_status hr_writer_finish(struct hr_writer *writer)
{
    HR_ASSERT(writer->busy);
    if (writer->threaded)
        pthread_join(writer->thread, NULL);
    writer->busy = false;
    return writer->status == HR_OK ? HR_OK : hr_fail(writer->status, "%s", writer->message);
}
