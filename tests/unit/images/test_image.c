/* Pictures whose pixels are known, and pictures that are wrong: cut, damaged, promising too much.
 * What Pillow makes of the same files is asked in tests/cli/images.bats. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "images/image.h"
#include "support/check.h"

/* --- files, made by the libraries' writers --- */

struct bytes {
    uint8_t *data;
    size_t count;
};

static void add_bytes(png_struct *png, png_byte *data, size_t n)
{
    struct bytes *to = png_get_io_ptr(png);
    to->data = realloc(to->data, to->count + n);
    memcpy(to->data + to->count, data, n);
    to->count += n;
}

/* rows: height rows as the kind of picture has them */
static struct bytes png_of(size_t width, size_t height, int depth, int colour, int interlace,
                           const uint8_t *rows, size_t row)
{
    static const png_color palette[3] = {{1, 2, 3}, {40, 50, 60}, {255, 0, 9}};
    static const uint8_t alphas[2] = {0, 128};
    struct bytes out = {0};
    png_struct *png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_info *info = png_create_info_struct(png);
    png_set_write_fn(png, &out, add_bytes, NULL);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, depth, colour, interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 3);
        png_set_tRNS(png, info, alphas, 2, NULL);
    }
    png_bytep pointers[16];
    for (size_t y = 0; y < height; y++)
        pointers[y] = (uint8_t *)(uintptr_t)rows + y * row;
    png_set_rows(png, info, pointers);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    return out;
}

static struct bytes jpeg_of(size_t width, size_t height, int components, J_COLOR_SPACE space,
                            int progressive, unsigned orientation)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned long count = 0;
    struct bytes out = {0};
    uint8_t row[4 * 64];
    JSAMPROW pointer = row;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out.data, &count);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = components;
    jpeg.in_color_space = space;
    jpeg_set_defaults(&jpeg);
    if (progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (orientation) {
        uint8_t exif[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\0\0\0";
        exif[25] = (uint8_t)orientation;
        jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif - 1);
    }
    for (size_t y = 0; y < height; y++) {
        for (size_t i = 0; i < width * (size_t)components; i++)
            row[i] = (uint8_t)(40 + 3 * y + i);
        jpeg_write_scanlines(&jpeg, &pointer, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    out.count = count;
    return out;
}

/* Decoded from a block of exactly its size. */
static uint8_t *decoded(const struct bytes *file, struct hr_image_head *head)
{
    CHECK_OK(hr_image_read_head("x", file->data, file->count, file->count, head));
    uint8_t *pixels = malloc(head->width * head->height * head->channels);
    CHECK_OK(hr_image_decode("x", file->data, file->count, head, pixels));
    return pixels;
}

static void check_pixels(struct bytes file, size_t channels, const uint8_t *wanted, size_t count)
{
    struct hr_image_head head;
    uint8_t *pixels = decoded(&file, &head);
    assert_int_equal(head.channels, channels);
    assert_int_equal(head.width * head.height * channels, count);
    assert_memory_equal(pixels, wanted, count);
    free(pixels);
    free(file.data);
}

static void every_kind_of_png_becomes_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        static const uint8_t grey[] = {0, 7, 255, 9, 100, 200}, rgb[] = {1, 2, 3, 4, 5, 6},
                             two[] = {0x1b, 0x1b}, sixteen[] = {0x12, 0xff, 0xfe, 0x00},
                             ga[] = {9, 0, 8, 255}, rgba[] = {1, 2, 3, 0, 4, 5, 6, 255},
                             indices[] = {0x18};
        const int lace = i ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE;
        check_pixels(png_of(3, 2, 8, PNG_COLOR_TYPE_GRAY, lace, grey, 3), 1, grey, 6);
        check_pixels(png_of(2, 1, 8, PNG_COLOR_TYPE_RGB, lace, rgb, 6), 3, rgb, 6);
        check_pixels(png_of(4, 1, 2, PNG_COLOR_TYPE_GRAY, lace, two, 1), 1,
                     (const uint8_t[]){0, 85, 170, 255}, 4);
        check_pixels(png_of(2, 1, 16, PNG_COLOR_TYPE_GRAY, lace, sixteen, 4), 1,
                     (const uint8_t[]){0x12, 0xfe}, 2);
        check_pixels(png_of(2, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, lace, ga, 4), 1,
                     (const uint8_t[]){9, 8}, 2);
        check_pixels(png_of(2, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA, lace, rgba, 8), 3, rgb, 6);
        check_pixels(png_of(3, 1, 2, PNG_COLOR_TYPE_PALETTE, lace, indices, 1), 3,
                     (const uint8_t[]){1, 2, 3, 40, 50, 60, 255, 0, 9}, 9);
    }
}

static void jpegs_are_grey_or_rgb(void **state)
{
    struct hr_image_head head;
    (void)state;
    for (int progressive = 0; progressive < 2; progressive++) {
        struct bytes grey = jpeg_of(20, 9, 1, JCS_GRAYSCALE, progressive, 0);
        struct bytes rgb = jpeg_of(20, 9, 3, JCS_RGB, progressive, 6);
        struct bytes cmyk = jpeg_of(20, 9, 4, JCS_CMYK, progressive, 1);
        uint8_t *pixels = decoded(&grey, &head);
        assert_true(head.width == 20 && head.height == 9 && head.channels == 1 && !head.turned);
        CHECK_NEAR(pixels[5 * 20 + 7], 40 + 3 * 5 + 7, 0, 4);
        free(pixels);
        free(decoded(&rgb, &head));
        assert_true(head.channels == 3 && head.turned);
        CHECK_FAILS(hr_image_read_head("x", cmyk.data, cmyk.count, cmyk.count, &head), HR_E_FORMAT);
        CHECK_MESSAGE("CMYK");
        free(grey.data), free(rgb.data), free(cmyk.data);
    }
}

/* Cut at every byte: refused, or (behind the last pixel) the same as the whole. */
static void check_cuts(struct bytes file)
{
    struct hr_image_head whole, head;
    uint8_t *pixels = decoded(&file, &whole);
    const size_t count = whole.width * whole.height * whole.channels;
    uint8_t *again = malloc(count);
    for (size_t n = 0; n < file.count; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, file.data, n);
        if (hr_image_read_head("x", cut, n, n, &head) == HR_OK &&
            hr_image_decode("x", cut, n, &head, again) == HR_OK)
            assert_memory_equal(pixels, again, count);
        free(cut);
    }
    CHECK_FAILS(hr_image_decode("x", file.data, file.count / 2, &whole, again), HR_E_FORMAT);
    CHECK_MESSAGE("damaged");
    free(pixels), free(again), free(file.data);
}

static void a_cut_picture_is_refused_and_not_filled_up(void **state)
{
    uint8_t rows[16 * 16];
    (void)state;
    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (uint8_t)(i * i * 7);
    check_cuts(png_of(16, 16, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, rows, 16));
    check_cuts(png_of(16, 16, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7, rows, 16));
    check_cuts(jpeg_of(33, 20, 3, JCS_RGB, 0, 3));
    check_cuts(jpeg_of(33, 20, 1, JCS_GRAYSCALE, 1, 0));
}

static void damaged_bytes_never_crash(void **state)
{
    (void)state;
    struct bytes files[] = {
        jpeg_of(33, 20, 3, JCS_RGB, 0, 3), jpeg_of(9, 9, 3, JCS_RGB, 1, 0),
        png_of(4, 4, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7, (const uint8_t[16]){1, 2, 3}, 4)};
    for (size_t f = 0; f < 3; f++) {
        for (size_t i = 0; i < files[f].count; i++)
            for (unsigned flip = 1; flip < 256; flip <<= check_count(3, 1)) {
                struct hr_image_head head;
                files[f].data[i] ^= (uint8_t)flip;
                if (hr_image_read_head("x", files[f].data, files[f].count, files[f].count, &head) ==
                        HR_OK &&
                    head.width * head.height < 1 << 20) {
                    uint8_t *pixels = malloc(head.width * head.height * head.channels);
                    if (hr_image_decode("x", files[f].data, files[f].count, &head, pixels))
                        assert_true(hr_error_message()[0]);
                    free(pixels);
                }
                files[f].data[i] ^= (uint8_t)flip;
            }
        free(files[f].data);
    }
}

/* 178956970 pixels are Pillow's limit too. */
static void sizes_that_cannot_be_are_refused_by_the_head(void **state)
{
    static const uint8_t row[1] = {0};
    struct hr_image_head head;
    (void)state;
    struct bytes file = png_of(1, 1, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, row, 1);
    const struct {
        uint8_t size[8];
        const char *message;
    } promises[] = {
        {{0, 0, 0x20, 0, 0, 0, 0x20, 0}, "which no PNG of"}, /* 8192x8192 */
        {{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 9}, "expected 1 to 178"},
        {{0, 0, 0, 0, 0, 0, 0, 1}, "damaged"},
    };
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        memcpy(file.data + 16, promises[i].size, 8);
        /* The chunk's checksum has to be right, or it is refused for that. */
        unsigned crc = 0xffffffffu;
        for (size_t k = 12; k < 29; k++) {
            crc ^= file.data[k];
            for (int bit = 0; bit < 8; bit++)
                crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
        for (int k = 0; k < 4; k++)
            file.data[29 + k] = (uint8_t)(~crc >> (24 - 8 * k));
        CHECK_FAILS(hr_image_read_head("x", file.data, file.count, file.count, &head), HR_E_FORMAT);
        CHECK_MESSAGE(promises[i].message);
    }
    CHECK_FAILS(hr_image_read_head("x", (const uint8_t *)"GIF89a", 6, 6, &head), HR_E_FORMAT);
    CHECK_MESSAGE("x: is neither by its first bytes, expected a PNG or JPEG");
    CHECK_FAILS(hr_image_read_head("x", file.data, 0, 0, &head), HR_E_FORMAT);
    CHECK_MESSAGE("empty");
    free(file.data);
}

static void another_picture_than_its_head_is_refused(void **state)
{
    (void)state;
    struct bytes file = jpeg_of(20, 9, 1, JCS_GRAYSCALE, 0, 0);
    const struct hr_image_head other = {.width = 9, .height = 20, .channels = 1};
    uint8_t pixels[180];
    CHECK_FAILS(hr_image_decode("x", file.data, file.count, &other, pixels), HR_E_FORMAT);
    free(file.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_png_becomes_bytes),
        cmocka_unit_test(jpegs_are_grey_or_rgb),
        cmocka_unit_test(a_cut_picture_is_refused_and_not_filled_up),
        cmocka_unit_test(damaged_bytes_never_crash),
        cmocka_unit_test(sizes_that_cannot_be_are_refused_by_the_head),
        cmocka_unit_test(another_picture_than_its_head_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
