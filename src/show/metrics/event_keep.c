/* The files, in order; of each the records, in order. A START of step N forgets what is kept of N
 * and later ones, as TensorBoard does; a summary of a step from `from` to the checkpoint's is kept,
 * unless that step is made once more. */
#include "metrics/event_keep.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/size.h"

enum { LENGTH = 8, HEAD = LENGTH + 4, TAIL = 4, STEP = 2, SUMMARY = 5, SESSION_LOG = 7 };

/* Events are small, files are not. */
static const size_t file_max = (size_t)1 << 31;

/* --- an event --- */

struct reader {
    const unsigned char *at, *end;
};

static uint64_t read_varint(struct reader *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        value |= (uint64_t)(*in->at & 0x7f) << shift;
        if (!(*in->at++ & 0x80))
            break;
    }
    return value;
}

struct event {
    uint64_t step;
    bool summary, starts;
};

/* Of a session log: this program writes none but a START. */
static struct event read_event(struct reader in)
{
    enum { VARINT, EIGHT, BYTES, FOUR = 5 };
    struct event event = {0};
    while (in.at < in.end) {
        const uint64_t key = read_varint(&in), kind = key % 8;
        const uint64_t value = kind == VARINT || kind == BYTES ? read_varint(&in) : 0;
        const uint64_t bytes = kind == EIGHT ? 8 : kind == FOUR ? 4 : kind == BYTES ? value : 0;
        if (key / 8 == STEP && kind == VARINT)
            event.step = value;
        event.summary |= key / 8 == SUMMARY;
        event.starts |= key / 8 == SESSION_LOG;
        if (bytes > (uint64_t)(in.end - in.at))
            break;
        in.at += bytes;
    }
    return event;
}

/* --- what is kept --- */

static enum hr_status make_room(struct hr_event_keep *keep, size_t bytes)
{
    if (keep->n == keep->events) {
        const size_t events = keep->events ? 2 * keep->events : 64;
        struct hr_kept_event *grown = realloc(keep->event, events * sizeof *grown);
        if (!grown)
            return hr_fail(HR_E_NOMEM, "no memory for %zu events", events);
        keep->event = grown;
        keep->events = events;
    }
    if (bytes > keep->room - keep->used) {
        const size_t room = 2 * keep->room + bytes + 4096;
        unsigned char *grown = realloc(keep->bytes, room);
        if (!grown)
            return hr_fail(HR_E_NOMEM, "no memory for %zu bytes of events", room);
        keep->bytes = grown;
        keep->room = room;
    }
    return HR_OK;
}

static enum hr_status add(struct hr_event_keep *keep, uint64_t step, const unsigned char *record,
                          size_t bytes)
{
    HR_TRY(make_room(keep, bytes));
    memcpy(keep->bytes + keep->used, record, bytes);
    keep->event[keep->n++] = (struct hr_kept_event){step, keep->used, bytes};
    keep->used += bytes;
    return HR_OK;
}

static void forget_from(struct hr_event_keep *keep, uint64_t step)
{
    size_t n = 0;
    for (size_t i = 0; i < keep->n; i++)
        if (keep->event[i].step < step)
            keep->event[n++] = keep->event[i];
    keep->n = n;
}

static enum hr_status take(struct hr_event_keep *keep, const struct hr_go_back *to,
                           const unsigned char *record, size_t bytes)
{
    const struct event event = read_event((struct reader){record + HEAD, record + bytes - TAIL});
    if (event.starts)
        forget_from(keep, event.step);
    const bool stays = event.summary && event.step >= keep->from && event.step <= to->step &&
                       !hr_go_back_redoes(to, event.step);
    return stays ? add(keep, event.step, record, bytes) : HR_OK;
}

/* --- files --- */

static enum hr_status read_file(struct hr_event_keep *keep, const struct hr_go_back *to,
                                const char *path)
{
    char *text = NULL;
    size_t bytes = 0, length;
    uint64_t data;
    enum hr_status status = hr_file_read_own(path, file_max, &text, &bytes);
    for (size_t at = 0; status == HR_OK && bytes - at >= HEAD + TAIL; at += length) {
        memcpy(&data, text + at, LENGTH);
        if (data > bytes - at - HEAD - TAIL)
            break;
        length = HEAD + (size_t)data + TAIL;
        status = take(keep, to, (const unsigned char *)text + at, length);
    }
    free(text);
    return status;
}

static int is_event_file(const struct dirent *entry)
{
    return strstr(entry->d_name, "tfevents") != NULL;
}

enum hr_status hr_event_keep_read(struct hr_event_keep *keep, const char *folder,
                                  const struct hr_go_back *to)
{
    struct dirent **entry = NULL;
    enum hr_status status = HR_OK;
    *keep = (struct hr_event_keep){.from = to->step + 1};
    for (size_t i = 0; i < to->nredone; i++)
        keep->from = to->redone[i] < keep->from ? to->redone[i] : keep->from;
    if (keep->from > to->step)
        return HR_OK;
    const int n = scandir(folder, &entry, is_event_file, alphasort);
    for (int i = 0; i < n; i++) {
        char path[HR_PATH_MAX];
        if (status == HR_OK)
            status = hr_path(path, "%s/%s", folder, entry[i]->d_name);
        if (status == HR_OK)
            status = read_file(keep, to, path);
        free(entry[i]);
    }
    free(entry);
    return status;
}

void hr_event_keep_put(const struct hr_event_keep *keep, struct hr_event_file *events,
                       double wall_s)
{
    hr_event_restart(events, wall_s, keep->from);
    for (size_t i = 0; i < keep->n; i++)
        hr_appender_put(&events->file, keep->bytes + keep->event[i].offset, keep->event[i].length);
}

void hr_event_keep_free(struct hr_event_keep *keep)
{
    free(keep->bytes);
    free(keep->event);
    *keep = (struct hr_event_keep){0};
}
