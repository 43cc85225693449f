/* JPEG by libjpeg-turbo, whose errors come back by longjmp: as in png.c, what is needed behind it
 * stands in one struct. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
/* behind it */
#include <jerror.h>

#include "images/decoder.h"

/* A progressive JPEG has a dozen scans; thousands in a few bytes only cost time. */
enum { MOST_SCANS = 500, EXIF = JPEG_APP0 + 1, EXIF_HEAD = 6 };

struct job {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct hr_picture *picture;
    struct hr_image_head *head;
    char trouble[JMSG_LENGTH_MAX];
};

bool hr_jpeg_is(const uint8_t *data, size_t bytes)
{
    static const uint8_t start[] = {0xff, 0xd8, 0xff};
    return bytes >= sizeof start && !memcmp(data, start, sizeof start);
}

static void jump_back(j_common_ptr jpeg)
{
    struct job *job = jpeg->client_data;
    jpeg->err->format_message(jpeg, job->trouble);
    longjmp(job->back, 1);
}

/* libjpeg goes on where data are damaged or end too early, and fills up with grey. */
static void take_warning(j_common_ptr jpeg, int level)
{
    const int code = jpeg->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
        code != JWRN_JFIF_MAJOR && code != JWRN_TOO_MUCH_DATA && code != JWRN_BOGUS_PROGRESSION)
        jump_back(jpeg);
}

static void say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void count_scans(j_common_ptr jpeg)
{
    struct job *job = jpeg->client_data;
    if (job->jpeg.input_scan_number <= MOST_SCANS)
        return;
    snprintf(job->trouble, sizeof job->trouble, "it has more than %d scans", MOST_SCANS);
    longjmp(job->back, 1);
}

static bool is_turned(const struct jpeg_decompress_struct *jpeg)
{
    for (jpeg_saved_marker_ptr at = jpeg->marker_list; at; at = at->next)
        if (at->marker == EXIF && at->data_length > EXIF_HEAD &&
            !memcmp(at->data, "Exif\0", EXIF_HEAD))
            return hr_exif_is_turned(at->data + EXIF_HEAD, at->data_length - EXIF_HEAD);
    return false;
}

static enum hr_status read_head(struct job *job)
{
    struct jpeg_decompress_struct *jpeg = &job->jpeg;
    jpeg_save_markers(jpeg, EXIF, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK ||
        jpeg->num_components > 3 || jpeg->num_components == 2)
        return hr_fail(HR_E_FORMAT, "%s: is a JPEG of %s, expected grey or RGB", job->picture->name,
                       jpeg->num_components == 4 ? "CMYK" : "unknown colours");
    const bool grey = jpeg->num_components == 1;
    jpeg->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    *job->head = (struct hr_image_head){.width = jpeg->image_width,
                                        .height = jpeg->image_height,
                                        .channels = grey ? 1 : 3,
                                        .turned = is_turned(jpeg)};
    return hr_picture_check(job->picture, job->head);
}

static enum hr_status read_pixels(struct job *job)
{
    struct jpeg_decompress_struct *jpeg = &job->jpeg;
    const size_t row = job->head->width * job->head->channels;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW to = job->picture->pixels + jpeg->output_scanline * row;
        jpeg_read_scanlines(jpeg, &to, 1);
    }
    jpeg_finish_decompress(jpeg);
    return HR_OK;
}

/* Whatever jumps, jumps to here. */
static enum hr_status read_guarded(struct job *job)
{
    if (setjmp(job->back))
        return job->errors.msg_code == JERR_OUT_OF_MEMORY
                   ? hr_fail(HR_E_NOMEM, "%s: no memory to read a JPEG", job->picture->name)
                   : hr_fail(HR_E_FORMAT, "%s: is a damaged JPEG: %s", job->picture->name,
                             job->trouble);
    jpeg_create_decompress(&job->jpeg);
    job->progress.progress_monitor = count_scans;
    job->jpeg.progress = &job->progress;
    jpeg_mem_src(&job->jpeg, job->picture->data, job->picture->bytes);
    HR_TRY(read_head(job));
    return job->picture->pixels ? read_pixels(job) : HR_OK;
}

enum hr_status hr_jpeg_read(const struct hr_picture *picture, struct hr_image_head *head)
{
    struct job job = {.picture = picture, .head = head};
    job.jpeg.err = jpeg_std_error(&job.errors);
    job.jpeg.client_data = &job;
    job.errors.error_exit = jump_back;
    job.errors.emit_message = take_warning;
    job.errors.output_message = say_nothing;
    const enum hr_status status = read_guarded(&job);
    jpeg_destroy_decompress(&job.jpeg); /* harmless where it was not created: all is zero */
    return status;
}
