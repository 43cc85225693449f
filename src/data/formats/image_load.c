#include "formats/image_load.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/size.h"
#include "images/resize.h"

enum { MOST_THREADS = 64, FILES_A_THREAD = 32, HEAD_BYTES = 64 << 10 };

/* What a thread has in hand: memory that grows, and is used again. */
struct buffer {
    uint8_t *data;
    size_t room;
};

struct hand {
    struct buffer file, decoded, between, resized;
};

struct load {
    pthread_mutex_t lock; /* of what follows, up to the blank line */
    size_t next, failed;  /* file to take; the first that failed, or count */
    size_t first_bad;     /* of those that are skipped, or count */
    enum hr_status status;
    char message[600];

    struct hr_image_file *files;
    size_t count;
    struct hr_shape shape;
    uint8_t *pixels;             /* NULL: heads alone */
    struct hr_image_list *skips; /* left out of this: files without a head; NULL: none is */
};

static enum hr_status make_room(const char *name, size_t bytes, struct buffer *buffer)
{
    if (bytes <= buffer->room)
        return HR_OK;
    HR_TRY(hr_memory_ask(name, bytes));
    free(buffer->data);
    buffer->data = malloc(bytes);
    buffer->room = buffer->data ? bytes : 0;
    return buffer->data ? HR_OK : hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes", name, bytes);
}

/* The first `most` bytes of the file; *whole: all that it has. */
static enum hr_status read_file(const char *path, size_t most, struct buffer *buffer, size_t *got,
                                size_t *whole)
{
    int fd;
    HR_TRY(hr_file_open(path, &fd, whole));
    *got = hr_min_size(*whole, most);
    enum hr_status status = make_room(path, *got + 1, buffer);
    if (status == HR_OK)
        status = hr_file_read_at(fd, path, 0, buffer->data, *got);
    close(fd);
    return status;
}

/* Most heads stand in a file's first bytes; long comments may come before. */
static enum hr_status read_head(struct hr_image_file *file, struct hand *hand)
{
    size_t got, whole;
    HR_TRY(read_file(file->path, HEAD_BYTES, &hand->file, &got, &whole));
    const enum hr_status status =
        hr_image_read_head(file->path, hand->file.data, got, whole, &file->head);
    if (status == HR_OK || got == whole)
        return status;
    HR_TRY(read_file(file->path, SIZE_MAX, &hand->file, &got, &whole));
    return hr_image_read_head(file->path, hand->file.data, got, whole, &file->head);
}

/* from (size, channels) to (shape.channels, size) */
static void spread(const uint8_t *from, size_t channels, struct hr_shape shape, uint8_t *to)
{
    const size_t size = shape.height * shape.width;
    for (size_t c = 0; c < shape.channels; c++)
        for (size_t i = 0; i < size; i++)
            *to++ = from[i * channels + (channels == 1 ? 0 : c)];
}

static enum hr_status resize(const struct hr_image_file *file, struct hr_shape shape,
                             struct hand *hand)
{
    const struct hr_image_head *head = &file->head;
    const struct hr_resize r = {.from_height = head->height,
                                .from_width = head->width,
                                .to_height = shape.height,
                                .to_width = shape.width,
                                .channels = head->channels};
    const size_t bytes = shape.height * shape.width * head->channels;
    HR_TRY(make_room(file->path, hr_resize_middle(&r), &hand->between));
    HR_TRY(make_room(file->path, bytes, &hand->resized));
    return hr_resize(&r, hand->decoded.data, hand->between.data, hand->resized.data);
}

static enum hr_status decode_as_it_is(const struct hr_image_file *file, struct hand *hand)
{
    const struct hr_image_head *head = &file->head;
    size_t got, whole;
    HR_TRY(read_file(file->path, SIZE_MAX, &hand->file, &got, &whole));
    HR_TRY(make_room(file->path, head->width * head->height * head->channels, &hand->decoded));
    return hr_image_decode(file->path, hand->file.data, got, head, hand->decoded.data);
}

static enum hr_status decode(const struct hr_image_file *file, struct hr_shape shape,
                             struct hand *hand, uint8_t *to)
{
    const struct hr_image_head *head = &file->head;
    const bool other_size = head->height != shape.height || head->width != shape.width;
    HR_TRY(decode_as_it_is(file, hand));
    if (other_size)
        HR_TRY(resize(file, shape, hand));
    spread(other_size ? hand->resized.data : hand->decoded.data, head->channels, shape, to);
    return HR_OK;
}

/* --- threads --- */

/* The next file; false when there is none, or one before it has failed. */
static bool take(struct load *load, size_t *index)
{
    pthread_mutex_lock(&load->lock);
    *index = load->next;
    const bool any = load->next < load->count && load->next < load->failed;
    load->next += any;
    pthread_mutex_unlock(&load->lock);
    return any;
}

/* Messages belong to threads: the first file's is kept. */
static void note_failure(struct load *load, size_t index, enum hr_status status)
{
    const bool skipped = load->skips && status == HR_E_FORMAT;
    pthread_mutex_lock(&load->lock);
    if (skipped) {
        load->files[index].head = (struct hr_image_head){0};
        if (index < load->first_bad)
            snprintf(load->skips->first_bad, sizeof load->skips->first_bad, "%s",
                     hr_error_message());
        load->first_bad = hr_min_size(load->first_bad, index);
    } else if (index < load->failed) {
        load->failed = index;
        load->status = status;
        snprintf(load->message, sizeof load->message, "%s", hr_error_message());
    }
    pthread_mutex_unlock(&load->lock);
}

static void *work(void *arg)
{
    struct load *load = arg;
    struct hand hand = {0};
    const size_t elems = hr_shape_elems(load->shape);
    for (size_t i; take(load, &i);) {
        struct hr_image_file *file = &load->files[i];
        enum hr_status status = load->pixels
                                    ? decode(file, load->shape, &hand, load->pixels + i * elems)
                                    : read_head(file, &hand);
        if (status == HR_OK && load->skips)
            status = decode_as_it_is(file, &hand);
        if (status != HR_OK)
            note_failure(load, i, status);
    }
    free(hand.file.data), free(hand.decoded.data);
    free(hand.between.data), free(hand.resized.data);
    return NULL;
}

/* The caller is one of them; where others cannot be started, it does their part. */
static enum hr_status run(struct load *load)
{
    pthread_t threads[MOST_THREADS];
    const size_t wanted = hr_min_size(hr_cpus_allowed(), 1 + load->count / FILES_A_THREAD);
    size_t started = 0;
    load->failed = load->first_bad = load->count;
    pthread_mutex_init(&load->lock, NULL);
    while (started + 1 < hr_min_size(wanted, MOST_THREADS) &&
           !pthread_create(&threads[started], NULL, work, load))
        started++;
    work(load);
    for (size_t t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    pthread_mutex_destroy(&load->lock);
    return load->status == HR_OK ? HR_OK : hr_fail(load->status, "%s", load->message);
}

enum hr_status hr_image_load_heads(struct hr_image_list *list, bool skip)
{
    struct load load = {.files = list->files, .count = list->count, .skips = skip ? list : NULL};
    HR_TRY(run(&load));
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->files[i].head.channels)
            list->files[kept++] = list->files[i];
        else
            free(list->files[i].path);
    list->bad += list->count - kept;
    list->count = kept;
    return HR_OK;
}

enum hr_status hr_image_load(const struct hr_image_list *list, struct hr_shape shape,
                             uint8_t *pixels)
{
    struct load load = {
        .files = list->files, .count = list->count, .shape = shape, .pixels = pixels};
    return run(&load);
}
