#include "images/decoder.h"

bool hr_image_is_one(const uint8_t *data, size_t bytes)
{
    return hr_png_is(data, bytes) || hr_jpeg_is(data, bytes);
}

static enum hr_status read_any(const struct hr_picture *picture, struct hr_image_head *head)
{
    if (hr_png_is(picture->data, picture->bytes))
        return hr_png_read(picture, head);
    if (hr_jpeg_is(picture->data, picture->bytes))
        return hr_jpeg_read(picture, head);
    return hr_fail(HR_E_FORMAT, "%s: is %s, expected a PNG or JPEG", picture->name,
                   picture->bytes ? "neither by its first bytes" : "empty");
}

enum hr_status hr_image_read_head(const char *name, const uint8_t *data, size_t bytes, size_t whole,
                                  struct hr_image_head *out)
{
    const struct hr_picture picture = {.name = name, .data = data, .bytes = bytes, .whole = whole};
    return read_any(&picture, out);
}

enum hr_status hr_image_decode(const char *name, const uint8_t *data, size_t bytes,
                               const struct hr_image_head *head, uint8_t *pixels)
{
    const struct hr_picture picture = {.name = name,
                                       .data = data,
                                       .bytes = bytes,
                                       .whole = bytes,
                                       .expected = head,
                                       .pixels = pixels};
    struct hr_image_head now;
    return read_any(&picture, &now);
}
