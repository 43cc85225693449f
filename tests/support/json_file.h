/* json_file.h - a file that a test writes JSON to, and what it must hold. */
#ifndef HR_TESTS_SUPPORT_JSON_FILE_H
#define HR_TESTS_SUPPORT_JSON_FILE_H

#include <jansson.h>
#include <stddef.h>

/* cmocka setup and teardown: json_file_path lies in a folder of its own. Teardown fails, and with
 * it the test, when anything else was left there. */
int json_file_setup(void **state);
int json_file_teardown(void **state);
extern char json_file_path[96], json_file_folder[64];

/* Each name with the text of its value; expect_fields: and no others. */
struct field {
    const char *name, *value;
};
void expect_values(const json_t *object, const struct field *fields, size_t n);
void expect_fields(const json_t *object, const struct field *fields, size_t n);
#define EXPECT_FIELDS(object, fields)                                                              \
    expect_fields((object), (fields), sizeof(fields) / sizeof *(fields))

#endif
