/* Lines are told apart by colour, dash and marker: style.css has colours and dashes by class. */
#include "page/sections.h"

#include "page/html.h"

void hr_marker_write(FILE *out, size_t s, double x, double y)
{
    static const char *const shapes[] = {"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
                                         "m-3-3h6v6h-6z", "m0-4l3.7 6.6h-7.4z",
                                         "m0-4.2l4.2 4.2-4.2 4.2-4.2-4.2z"};
    fprintf(out, "<path class=\"dot%s\" d=\"M%.1f %.1f%s\"/>", s % 8 < 4 ? "" : " open", x, y,
            shapes[s % 4]);
}

void hr_key_write(FILE *out, size_t s)
{
    fprintf(out,
            "<svg class=\"key s%zu\" viewBox=\"0 0 30 12\" aria-hidden=\"true\">"
            "<path class=\"line\" d=\"M1 6H29\"/>",
            s);
    hr_marker_write(out, s, 15, 6);
    fputs("</svg>", out);
}

void hr_group_key_write(FILE *out, const struct hr_view *view, size_t group)
{
    if (view->ngroups < 2)
        return;
    for (size_t d = 0; d < view->ndrawn; d++)
        if (view->drawn[d] == group) {
            hr_key_write(out, d);
            return;
        }
    fputs("<span class=\"key\"></span>", out); /* as wide as that of others */
}
