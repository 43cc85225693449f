/* sliding.h - a window on an image, and where it stands: what convolutions and pools share. */
#ifndef HR_KERNELS_SLIDING_H
#define HR_KERNELS_SLIDING_H

#include <stddef.h>

struct hr_window {
    size_t height, width, stride, pad, dilation;
};

/* An image (C,H,W), and the (OH,OW) positions of a window on it. */
struct hr_sliding {
    size_t C, H, W, OH, OW;
    struct hr_window window;
    size_t step; /* floats from a pixel to the next, of either image: C, or more where C are some of
                    its channels */
};

#endif
