/* What both decoders ask of a head. */
#include "images/decoder.h"

enum hr_status hr_picture_check(const struct hr_picture *picture, const struct hr_image_head *head)
{
    const struct hr_image_head *expected = picture->expected;
    if (!head->width || !head->height || head->width > HR_IMAGE_MAX_PIXELS / head->height)
        return hr_fail(HR_E_FORMAT, "%s: is %zux%zu (width x height), expected 1 to %zu pixels",
                       picture->name, head->width, head->height, HR_IMAGE_MAX_PIXELS);
    if (expected && (head->width != expected->width || head->height != expected->height ||
                     head->channels != expected->channels))
        return hr_fail(HR_E_FORMAT, "%s: has become another picture while it was read",
                       picture->name);
    return HR_OK;
}
