#include "nn/window.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

/* Floats of an image with its padding: offsets into it are 32 bits wide. */
static const size_t MAX_ELEMS = (size_t)1 << 31;

enum hr_status hr_window_parse_size(const char *word, struct hr_window *out)
{
    char height[24];
    const char *by = strchr(word, 'x');
    if (!by) {
        HR_TRY(hr_layer_parse_size(word, &out->height));
        out->width = out->height;
        return HR_OK;
    }
    if ((size_t)(by - word) >= sizeof height)
        return hr_fail(HR_E_USAGE, "found \"%.40s\", expected a size as in \"3x3\"", word);
    snprintf(height, sizeof height, "%.*s", (int)(by - word), word);
    HR_TRY(hr_layer_parse_size(height, &out->height));
    return hr_layer_parse_size(by + 1, &out->width);
}

static enum hr_status fail_option(const char *word, const struct hr_layer_option *options)
{
    char names[80] = "";
    for (size_t used = 0; options->name && used < sizeof names; options++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 options->name);
    return hr_fail(HR_E_USAGE, "found \"%.40s\", expected one of: %s", word, names);
}

/* Was this option given already, in words [from, to)? */
static bool said_before(const struct hr_layer_text *text, size_t from, size_t to, const char *word)
{
    for (size_t w = from; w < to; w += 2)
        if (!strcmp(text->words[w], word))
            return true;
    return false;
}

enum hr_status hr_layer_parse_options(const struct hr_layer_text *text, size_t from,
                                      const struct hr_layer_option *options)
{
    for (size_t w = from; w < text->nwords; w += 2) {
        const struct hr_layer_option *option = options;
        while (option->name && strcmp(option->name, text->words[w]) != 0)
            option++;
        if (!option->name)
            return fail_option(text->words[w], options);
        if (said_before(text, from, w, option->name))
            return hr_fail(HR_E_USAGE, "\"%s\" is said twice", option->name);
        if (w + 1 == text->nwords)
            return hr_fail(HR_E_USAGE, "expected a number behind \"%s\"", option->name);
        HR_TRY(hr_layer_parse_number(text->words[w + 1], option->least, option->value));
    }
    return HR_OK;
}

/* Positions along one side; 0 when the window is too large. */
static size_t positions(size_t size, size_t length, const struct hr_window *window)
{
    const size_t reach = window->dilation * (length - 1) + 1, padded = size + 2 * window->pad;
    return padded < reach ? 0 : (padded - reach) / window->stride + 1;
}

static bool small_enough(const struct hr_window *window, const struct hr_dims *in)
{
    size_t elems;
    return hr_size_mul(in->size[1] + 2 * window->pad, in->size[2] + 2 * window->pad, &elems) &&
           hr_size_mul(elems, in->size[0], &elems) && elems <= MAX_ELEMS;
}

enum hr_status hr_window_fit(const struct hr_window *window, const struct hr_dims *in,
                             struct hr_sliding *out)
{
    char text[80];
    hr_dims_text(in, text, sizeof text);
    if (in->ndim != 3)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected an image (channels, height, width)", text);
    if (!small_enough(window, in))
        return hr_fail(HR_E_USAGE, "an input of shape %s with pad %zu has more than %zu elements",
                       text, window->pad, MAX_ELEMS);
    *out = (struct hr_sliding){
        .C = in->size[0], .step = in->size[0], .H = in->size[1], .W = in->size[2]};
    out->window = *window;
    out->OH = positions(out->H, window->height, window);
    out->OW = positions(out->W, window->width, window);
    if (out->OH && out->OW)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "its input has shape %s, with pad %zu too small for a window of %zux%zu, "
                   "dilation %zu",
                   text, window->pad, window->height, window->width, window->dilation);
}

void hr_window_keep(struct hr_layer *layer, const struct hr_window *window)
{
    layer->size[0] = window->height;
    layer->size[1] = window->width;
    layer->size[2] = window->stride;
    layer->size[3] = window->pad;
    layer->size[4] = window->dilation;
}

struct hr_window hr_window_of(const struct hr_layer *layer)
{
    const size_t *size = layer->size;
    return (struct hr_window){size[0], size[1], size[2], size[3], size[4]};
}

struct hr_sliding hr_sliding_of(const struct hr_layer *layer)
{
    return (struct hr_sliding){.C = layer->in.size[0],
                               .step = layer->in.size[0],
                               .H = layer->in.size[1],
                               .W = layer->in.size[2],
                               .OH = layer->out.size[1],
                               .OW = layer->out.size[2],
                               .window = hr_window_of(layer)};
}

struct hr_sliding hr_sliding_of_pass(const struct hr_layer *layer, const struct hr_pass *pass,
                                     size_t *first)
{
    struct hr_sliding sliding = hr_sliding_of(layer);
    *first = layer->cut == HR_CUT_NOT ? 0 : pass->in.begin;
    if (layer->cut != HR_CUT_NOT)
        sliding.C = pass->in.end - pass->in.begin;
    return sliding;
}
