/* PNG by libpng, whose errors come back by longjmp: what is needed behind it stands in one struct,
 * and nothing that is not in there changes between setjmp and the end. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/decoder.h"

enum { SIGNATURE = 8 };

struct job {
    const struct hr_picture *picture;
    size_t used;
    struct hr_image_head *head;
    png_struct *png;
    png_info *info;
    png_bytep *rows;   /* (height) owned */
    bool starved;      /* of memory */
    char trouble[120]; /* libpng's words */
};

bool hr_png_is(const uint8_t *data, size_t bytes)
{
    return bytes >= SIGNATURE && !png_sig_cmp(data, 0, SIGNATURE);
}

static void note_error(png_struct *png, const char *text)
{
    struct job *job = png_get_error_ptr(png);
    snprintf(job->trouble, sizeof job->trouble, "%s", text);
    png_longjmp(png, 1);
}

/* libpng's words for it are those of a damaged picture. */
static void *take(png_struct *png, png_alloc_size_t size)
{
    struct job *job = png_get_mem_ptr(png);
    void *memory = malloc(size);
    job->starved = job->starved || !memory;
    return memory;
}

static void give_back(png_struct *png, void *memory)
{
    (void)png;
    free(memory);
}

static enum hr_status say_starved(const struct job *job)
{
    return hr_fail(HR_E_NOMEM, "%s: no memory to read a PNG", job->picture->name);
}

static void pass_over(png_struct *png, const char *text)
{
    (void)png, (void)text;
}

static void read_bytes(png_struct *png, png_byte *out, size_t n)
{
    struct job *job = png_get_io_ptr(png);
    if (n > job->picture->bytes - job->used)
        png_error(png, "it ends too early");
    memcpy(out, job->picture->data + job->used, n);
    job->used += n;
}

/* Deflate makes at most 1032 bytes of one: a few bytes that promise more cannot keep it. */
static enum hr_status check_promise(const struct job *job)
{
    enum { MOST = 1032 };
    const size_t row = png_get_rowbytes(job->png, job->info);
    if (row / MOST * job->head->height <= job->picture->whole)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: says that it is %zux%zu, which no PNG of %zu bytes can hold",
                   job->picture->name, job->head->width, job->head->height, job->picture->whole);
}

/* Every kind of PNG becomes 8 bits of grey or RGB. */
static void ask_for_bytes(const struct job *job)
{
    const int colour = png_get_color_type(job->png, job->info);
    png_set_strip_16(job->png);
    png_set_strip_alpha(job->png);
    if (colour == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(job->png);
    if (colour == PNG_COLOR_TYPE_GRAY)
        png_set_expand_gray_1_2_4_to_8(job->png);
    png_set_interlace_handling(job->png);
}

static enum hr_status read_head(struct job *job)
{
    png_read_info(job->png, job->info);
    const int colour = png_get_color_type(job->png, job->info);
    *job->head = (struct hr_image_head){
        .width = png_get_image_width(job->png, job->info),
        .height = png_get_image_height(job->png, job->info),
        .channels = colour & PNG_COLOR_MASK_COLOR ? 3 : 1,
    };
    HR_TRY(hr_picture_check(job->picture, job->head));
    return check_promise(job);
}

static enum hr_status read_pixels(struct job *job)
{
    const size_t row = job->head->width * job->head->channels;
    ask_for_bytes(job);
    png_read_update_info(job->png, job->info);
    if (png_get_rowbytes(job->png, job->info) != row)
        return hr_fail(HR_E_FORMAT, "%s: has rows of %zu bytes, expected %zu", job->picture->name,
                       png_get_rowbytes(job->png, job->info), row);
    job->rows = malloc(job->head->height * sizeof *job->rows);
    if (!job->rows)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu rows", job->picture->name,
                       job->head->height);
    for (size_t y = 0; y < job->head->height; y++)
        job->rows[y] = job->picture->pixels + y * row;
    png_read_image(job->png, job->rows);
    png_read_end(job->png, NULL);
    return HR_OK;
}

/* Whatever jumps, jumps to here. */
static enum hr_status read_guarded(struct job *job)
{
    if (setjmp(png_jmpbuf(job->png)))
        return job->starved ? say_starved(job)
                            : hr_fail(HR_E_FORMAT, "%s: is a damaged PNG: %s", job->picture->name,
                                      job->trouble);
    png_set_read_fn(job->png, job, read_bytes);
    png_set_user_limits(job->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours follow */
    HR_TRY(read_head(job));
    return job->picture->pixels ? read_pixels(job) : HR_OK;
}

enum hr_status hr_png_read(const struct hr_picture *picture, struct hr_image_head *head)
{
    struct job job = {.picture = picture, .head = head};
    job.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job, note_error, pass_over, &job,
                                       take, give_back);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    const enum hr_status status = job.info ? read_guarded(&job) : say_starved(&job);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    free(job.rows);
    return status;
}
