#include "fuzz/fuzz.h"
#include "images/resize.h"
#include "images/image.h"

/* Small pictures are decoded, and resized; the first byte says to what. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 16 };
    const unsigned choice = fuzz_choice(&data, &size, 256);
    struct hr_image_head head;
    if (hr_image_read_head("image", data, size, size, &head) != HR_OK ||
        head.width * head.height > MOST)
        return 0;
    const struct hr_resize r = {.from_height = head.height,
                                .from_width = head.width,
                                .to_height = 1 + choice % 16,
                                .to_width = 1 + choice / 16,
                                .channels = head.channels};
    uint8_t *pixels = malloc(head.width * head.height * head.channels);
    uint8_t *middle = malloc(hr_resize_middle(&r));
    uint8_t *resized = malloc(r.to_height * r.to_width * r.channels);
    if (hr_image_decode("image", data, size, &head, pixels) == HR_OK &&
        hr_resize(&r, pixels, middle, resized) != HR_OK)
        resized[0] = 0;
    free(pixels), free(middle), free(resized);
    return 0;
}
