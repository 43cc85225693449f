#include "metrics/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "encode/crc32c.h"

enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5, SESSION_LOG = 7 };
enum { VALUE = 1, TAG = 1, SIMPLE_VALUE = 2, HISTO = 5 };
enum { STATUS = 1, START = 1 };

static uint32_t masked_crc(const void *data, size_t bytes)
{
    const uint32_t crc = hr_crc32c(0, data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_record(struct hr_event_file *events)
{
    const struct hr_protobuf *event = &events->event;
    const uint64_t length = event->length;
    if (hr_protobuf_finish(event) != HR_OK) {
        hr_appender_fail(&events->file, event->status);
        return;
    }
    const uint32_t of_length = masked_crc(&length, sizeof length);
    const uint32_t of_data = masked_crc(event->bytes, event->length);
    const struct hr_piece_part parts[] = {{&length, sizeof length},
                                          {&of_length, sizeof of_length},
                                          {event->bytes, event->length},
                                          {&of_data, sizeof of_data}};
    hr_appender_put_parts(&events->file, parts, sizeof parts / sizeof *parts);
}

static void begin(struct hr_event_file *events, double wall_s, uint64_t step)
{
    hr_protobuf_clear(&events->event);
    hr_protobuf_double(&events->event, WALL_TIME, wall_s);
    if (step)
        hr_protobuf_varint(&events->event, STEP, step);
}

enum hr_status hr_event_file_open(struct hr_event_file *events, const char *folder, double wall_s)
{
    char path[HR_PATH_MAX], host[256];
    *events = (struct hr_event_file){.file = {.open = false}};
    if (gethostname(host, sizeof host) != 0)
        snprintf(host, sizeof host, "localhost");
    host[sizeof host - 1] = '\0';
    int fd = -1;
    for (unsigned n = 0; fd < 0; n++) {
        HR_TRY(hr_path(path, "%s/events.out.tfevents.%010.0f.%s.%ld.%u", folder, floor(wall_s),
                       host, (long)getpid(), n));
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return hr_fail_errno(HR_E_IO, "%s", path);
    }
    close(fd);
    HR_TRY(hr_appender_open(&events->file, path));
    begin(events, wall_s, 0);
    hr_protobuf_string(&events->event, FILE_VERSION, "brain.Event:2");
    put_record(events);
    return HR_OK;
}

void hr_event_restart(struct hr_event_file *events, double wall_s, uint64_t step)
{
    begin(events, wall_s, step);
    const size_t log = hr_protobuf_begin(&events->event, SESSION_LOG);
    hr_protobuf_varint(&events->event, STATUS, START);
    hr_protobuf_end(&events->event, log);
    put_record(events);
}

void hr_event_begin(struct hr_event_file *events, double wall_s, uint64_t step)
{
    begin(events, wall_s, step);
    events->summary = hr_protobuf_begin(&events->event, SUMMARY);
}

void hr_event_scalar(struct hr_event_file *events, const char *tag, double value)
{
    const size_t at = hr_protobuf_begin(&events->event, VALUE);
    hr_protobuf_string(&events->event, TAG, tag);
    hr_protobuf_float(&events->event, SIMPLE_VALUE, (float)value);
    hr_protobuf_end(&events->event, at);
}

/* A bucket holds what is at most its limit and above the one before: one a staleness. */
void hr_event_stale(struct hr_event_file *events, const char *tag,
                    const struct hr_stale_counts *counts)
{
    struct hr_protobuf *p = &events->event;
    double limit[HR_STALE_COUNTS], count[HR_STALE_COUNTS];
    size_t n = 0, least = 0;
    if (!counts->updates)
        return;
    while (!counts->bucket[least])
        least++;
    for (; n < HR_STALE_COUNTS && n <= counts->max; n++) {
        limit[n] = (double)n;
        count[n] = (double)counts->bucket[n];
    }
    if (counts->max >= HR_STALE_COUNTS)
        limit[n - 1] = (double)counts->max;
    const size_t value = hr_protobuf_begin(p, VALUE);
    hr_protobuf_string(p, TAG, tag);
    const size_t histo = hr_protobuf_begin(p, HISTO);
    const double about[] = {(double)least, (double)counts->max, (double)counts->updates,
                            counts->sum, counts->squares};
    for (uint32_t field = 1; field <= 5; field++)
        hr_protobuf_double(p, field, about[field - 1]);
    hr_protobuf_packed_doubles(p, 6, limit, n);
    hr_protobuf_packed_doubles(p, 7, count, n);
    hr_protobuf_end(p, histo);
    hr_protobuf_end(p, value);
}

void hr_event_end(struct hr_event_file *events)
{
    hr_protobuf_end(&events->event, events->summary);
    put_record(events);
}

enum hr_status hr_event_file_close(struct hr_event_file *events)
{
    hr_protobuf_free(&events->event);
    return hr_appender_close(&events->file);
}
