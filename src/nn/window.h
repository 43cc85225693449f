/* window.h - a window that slides over an image: what convolutions and pools have in common.
 *
 *     positions along one side = (size + 2 pad - dilation * (length - 1) - 1) / stride + 1
 *
 * as in PyTorch: what is left over at the lower and right edges is not looked at.
 */
#ifndef HR_NN_WINDOW_H
#define HR_NN_WINDOW_H

#include "kernels/sliding.h"
#include "nn/layer.h"

/* "3x2", or "3" for "3x3", to height and width. */
HR_CHECKED enum hr_status hr_window_parse_size(const char *word, struct hr_window *out);

/* An argument of a layer that may be left out: a word and a number. */
struct hr_layer_option {
    const char *name; /* NULL ends a list */
    size_t least;
    size_t *value; /* keeps its default when the text does not have it */
};

/* words[from..] of the text, each option at most once. */
HR_CHECKED enum hr_status hr_layer_parse_options(const struct hr_layer_text *text, size_t from,
                                                 const struct hr_layer_option *options);

/* Where a window stands on the images that come in; HR_E_USAGE when they are no images, when the
 * window is larger than they are, or when there is more than 2^31 floats of them. */
HR_CHECKED enum hr_status hr_window_fit(const struct hr_window *window, const struct hr_dims *in,
                                        struct hr_sliding *out);

/* A layer keeps its window in size[0..4], and its positions follow from it. */
void hr_window_keep(struct hr_layer *layer, const struct hr_window *window);
struct hr_window hr_window_of(const struct hr_layer *layer);
struct hr_sliding hr_sliding_of(const struct hr_layer *layer);
/* The same of a pass, which may be about some channels; *first out: the first of them. */
struct hr_sliding hr_sliding_of_pass(const struct hr_layer *layer, const struct hr_pass *pass,
                                     size_t *first);

#endif
