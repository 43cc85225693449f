#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/html.h"
#include "page/script_hash.h"
#include "page/sections.h"

/* assets.S: files of this folder, each ending in a 0 */
extern const char hr_page_style[], hr_page_script[];

static const struct {
    const char *id, *title;
    bool (*there)(const struct hr_view *view);
    enum hr_status (*write)(FILE *out, const struct hr_view *view);
} sections[] = {{"results", "Results", hr_results_there, hr_results_write},
                {"comparisons", "Comparisons", hr_comparisons_there, hr_comparisons_write},
                {"tuning", "Tuning", hr_tuning_there, hr_tuning_write},
                {"curves", "Learning curves", hr_curves_there, hr_curves_write},
                {"time", "Time", hr_times_there, hr_times_write},
                {"waits", "Waiting", hr_waits_there, hr_waits_write},
                {"staleness", "Staleness", hr_staleness_there, hr_staleness_write},
                {"losses", "Losses", hr_losses_there, hr_losses_write},
                {"pipelines", "Pipelines", hr_pipelines_there, hr_pipelines_write},
                {"classes", "Classes", hr_classes_there, hr_classes_write},
                {"measurements", "Measurements", hr_bench_there, hr_bench_write},
                {"experiments", "Experiments", hr_experiments_there, hr_experiments_write},
                {"settings", "How it was made", hr_settings_there, hr_settings_write}};

enum { SECTIONS = sizeof sections / sizeof *sections };

/* The hash is that of script.js: nothing else runs, whatever a document says
 * (tests/cli/page.bats). */
static const char policy[] =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "script-src 'sha256-" HR_PAGE_SCRIPT_HASH "'";

enum hr_status hr_page_check(const struct hr_page_source *source)
{
    const json_t *document = source->document;
    if (!json_is_object(document) || !json_is_string(json_object_get(document, "hogring")))
        return hr_fail(HR_E_FORMAT, "%s: not a document of hogring's --json", source->name);
    const bool trained =
        json_is_object(json_object_get(document, "config")); /* not doctor's runs */
    if (!(trained && json_is_array(json_object_get(document, "runs"))) &&
        !json_is_array(json_object_get(document, "rows")) &&
        !json_is_array(json_object_get(document, "classes")) &&
        !json_is_object(json_object_get(document, "experiments")))
        return hr_fail(
            HR_E_FORMAT,
            "%s: has no runs, measurements or classes, so there is no page to make of it",
            source->name);
    return HR_OK;
}

static void write_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"hogring " HR_VERSION "\">\n",
          out);
    fprintf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n<title>", policy);
    hr_html_say(out, "%s · hogring", title);
    fprintf(out,
            "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n",
            hr_page_style);
}

static void write_contents(FILE *out, const struct hr_view *view)
{
    fputs("<nav aria-label=\"Contents\">\n<ul>\n", out);
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].there(view))
            fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].title);
    fputs("</ul>\n</nav>\n", out);
}

static enum hr_status write_page(FILE *out, const struct hr_view *view)
{
    char *title = hr_head_title(view);
    enum hr_status status = HR_OK;
    write_begin(out, title ? title : "");
    free(title);
    hr_head_write(out, view);
    write_contents(out, view);
    fputs("<main id=\"main\">\n", out);
    for (size_t i = 0; i < SECTIONS && status == HR_OK; i++)
        if (sections[i].there(view))
            status = sections[i].write(out, view);
    fprintf(out,
            "</main>\n<footer>\n<p>Made by hogring " HR_VERSION
            ". Everything on this page is in this file.</p>\n</footer>\n<script>%s</script>\n"
            "</body>\n</html>\n",
            hr_page_script);
    return status;
}

enum hr_status hr_page_make(const struct hr_page_source *sources, size_t n, char **text,
                            size_t *bytes)
{
    struct hr_view view;
    *text = NULL;
    HR_TRY(hr_view_make(&view, sources, n));
    FILE *out = open_memstream(text, bytes);
    enum hr_status status = out ? write_page(out, &view) : HR_E_NOMEM;
    if (out && fclose(out) != 0 && status == HR_OK)
        status = HR_E_NOMEM;
    hr_view_free(&view);
    if (status == HR_OK)
        return HR_OK;
    free(*text);
    *text = NULL;
    return hr_fail(status, "no memory for a page of %zu document%s", n, n == 1 ? "" : "s");
}
