#include "cli/json_out.h"

#include <stdio.h>
#include <string.h>

enum hr_status hr_json_out(const char *path, json_t *document)
{
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(17);
    if (!document)
        return hr_fail(HR_E_NOMEM, "no memory for a JSON document, or a text in it is not UTF-8");
    int failed;
    if (!strcmp(path, "-")) {
        failed = json_dumpf(document, stdout, flags);
        failed |= putchar('\n') == EOF || fflush(stdout) != 0;
    } else {
        failed = json_dump_file(document, path, flags);
    }
    json_decref(document);
    return failed ? hr_fail_errno(HR_E_IO, "--json %s: cannot be written", path) : HR_OK;
}
