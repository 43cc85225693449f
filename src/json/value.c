#include "json/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/json.h"
#include "base/isa.h"

/* --- values */

json_t *hr_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *hr_json_count(uint64_t n)
{
    if (n <= INT64_MAX)
        return json_integer((json_int_t)n);
    return json_sprintf("%llu", (unsigned long long)n);
}

json_t *hr_json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *ascii = strdup(text);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return value;
}

json_t *hr_json_text_or_null(const char *text)
{
    return text && text[0] ? hr_json_text(text) : json_null();
}

/* --- the machine */

/* The value after "key" and the separator in a file of such lines, without quotes; else "". */
static void read_key(const char *path, const char *key, char separator, char *value, size_t size)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    value[0] = '\0';
    while (file && !value[0] && fgets(line, sizeof line, file)) {
        char *behind = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || !behind)
            continue;
        behind += 1 + strspn(behind + 1, " \t\"");
        behind[strcspn(behind, "\"\n")] = '\0';
        snprintf(value, size, "%s", behind);
    }
    if (file)
        fclose(file);
}

static json_t *memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? hr_json_count((uint64_t)pages * (uint64_t)size) : json_null();
}

json_t *hr_json_machine(void)
{
    char cpu[256], os[256];
    struct utsname name;
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    read_key("/proc/cpuinfo", "model name", ':', cpu, sizeof cpu); /* ARM has no such line */
    read_key("/etc/os-release", "PRETTY_NAME", '=', os, sizeof os);
    return json_pack("{so so ss so so so so}", "cpu", hr_json_text_or_null(cpu), "processors",
                     hr_json_count(hr_cpus_allowed()), "isa", hr_isa_name(), "memory_bytes",
                     memory_bytes(), "architecture", hr_json_text_or_null(name.machine), "kernel",
                     hr_json_text_or_null(name.release), "os",
                     hr_json_text_or_null(os[0] ? os : name.sysname));
}

/* --- documents */

enum { DUMP_FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(17) };

/* After what was printed before, and by write(2), so that stdio changes no byte. */
static enum hr_status write_stdout(const char *text, size_t bytes)
{
    struct hr_file_writer writer = {.path = "stdout", .fd = STDOUT_FILENO, .bytes = bytes};
    fflush(stdout);
    return hr_file_write(&writer, text, bytes);
}

static enum hr_status write_document(const char *path, const json_t *document)
{
    char *text = hr_json_dump(document, DUMP_FLAGS);
    if (!text)
        return hr_fail(HR_E_NOMEM, "%s: no memory for the JSON document", path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* replaces the 0 */
    const enum hr_status status = strcmp(path, "-") != 0
                                      ? hr_file_replace_durably(path, text, length + 1)
                                      : write_stdout(text, length + 1);
    free(text);
    return status;
}

enum hr_status hr_json_write(const char *path, json_t *rest)
{
    json_t *document = json_pack("{ss so}", "hogring", HR_VERSION, "machine", hr_json_machine());
    enum hr_status status = HR_OK;
    if (!rest || !document || json_object_update(document, rest) != 0)
        status = hr_fail(HR_E_NOMEM, "%s: no memory for the JSON document", path);
    else
        status = write_document(path, document);
    json_decref(rest);
    json_decref(document);
    return status;
}
