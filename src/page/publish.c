#include "page/publish.h"

#include <stdlib.h>

#include "base/file.h"
#include "json/value.h"
#include "page/page.h"

static enum hr_status write_report(const char *path, const json_t *document)
{
    const struct hr_page_source source = {.name = "", .document = document};
    char *text;
    size_t bytes;
    HR_TRY(hr_page_make(&source, 1, &text, &bytes));
    const enum hr_status status = hr_file_replace_durably(path, text, bytes);
    free(text);
    return status;
}

enum hr_status hr_publish(const char *json, const char *report, json_t *rest)
{
    if (!json[0] && !report[0]) {
        json_decref(rest);
        return HR_OK;
    }
    json_t *document = hr_json_document(rest);
    enum hr_status status = document ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for the results");
    if (status == HR_OK && json[0])
        status = hr_json_write_document(json, document);
    if (status == HR_OK && report[0])
        status = write_report(report, document);
    json_decref(document);
    return status;
}
