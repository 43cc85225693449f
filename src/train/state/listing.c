#include "state/listing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

void hr_listing_add(struct hr_listing *listing, const char *format, ...)
{
    char name[HR_LISTING_MAX];
    const size_t used = strlen(listing->names);
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    listing->n++;
    if (used && (listing->shown + 1 < listing->n ||
                 used + strlen(", ") + strlen(name) >= sizeof listing->names))
        return; /* once one is left out, so are those behind it */
    snprintf(listing->names + used, sizeof listing->names - used, "%s%s", used ? ", " : "", name);
    listing->shown++;
}

const char *hr_listing_text(struct hr_listing *listing)
{
    const size_t left = listing->n - listing->shown;
    const int used = snprintf(listing->text, sizeof listing->text, "%s", listing->names);
    if (left)
        snprintf(listing->text + used, sizeof listing->text - (size_t)used, " and %zu more", left);
    hr_make_printable(&(struct hr_printable_state){0}, listing->text, strlen(listing->text), "");
    return listing->text;
}
