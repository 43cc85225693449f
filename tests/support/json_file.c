#include "support/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

char json_file_path[96];
char json_file_folder[64];

int json_file_setup(void **state)
{
    (void)state;
    snprintf(json_file_folder, sizeof json_file_folder, "/tmp/hogring-json-XXXXXX");
    if (!mkdtemp(json_file_folder))
        return -1;
    snprintf(json_file_path, sizeof json_file_path, "%s/out.json", json_file_folder);
    return 0;
}

int json_file_teardown(void **state)
{
    (void)state;
    unlink(json_file_path);
    return rmdir(json_file_folder);
}

void expect_values(const json_t *object, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        if (!text || strcmp(text, fields[i].value) != 0)
            fail_msg("%s is %s, expected %s", fields[i].name, text, fields[i].value);
        free(text);
    }
}

void expect_fields(const json_t *object, const struct field *fields, size_t n)
{
    expect_values(object, fields, n);
    assert_int_equal(json_object_size(object), n);
}
