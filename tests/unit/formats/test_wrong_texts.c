/* CSV and libsvm files that are wrong, and options that do not fit them: a row a case, and what is
 * said of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/data_files.h"

/* "header=yes label_column=kind": what differs from the defaults; files are the test's own. */
static struct hr_data_options options_of(const char *text)
{
    struct hr_data_options options = data_options();
    char copy[128], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        if (!strcmp(word, "header"))
            snprintf(options.header, sizeof options.header, "%s", value);
        else if (!strcmp(word, "label"))
            snprintf(options.label_column, sizeof options.label_column, "%s", value);
        else if (!strcmp(word, "base"))
            snprintf(options.index_base, sizeof options.index_base, "%s", value);
        else if (!strcmp(word, "test"))
            snprintf(options.test_data, sizeof options.test_data, "%s", scratch(value));
        else if (!strcmp(word, "validation"))
            snprintf(options.validation_data, sizeof options.validation_data, "%s", scratch(value));
        else if (!strcmp(word, "classes"))
            snprintf(options.classes, sizeof options.classes, "%s", value);
        else if (!strcmp(word, "features"))
            options.feature_count = strtoull(value, NULL, 10);
        else if (!strcmp(word, "fraction"))
            options.test_fraction = strtod(value, NULL);
        else
            fail_msg("%s: no such option", word);
    }
    return options;
}

struct wrong {
    const char *text, *options;
    enum hr_status status;
    const char *message;
};

static void check_refused(const char *name, const struct wrong *rows, size_t n)
{
    data_text("other", "a,b,c\n1,2,x\n3,4,y\n5,6,x\n");
    data_text("other.svm", "1 1:2\n0 2:3\n");
    for (size_t i = 0; i < n; i++) {
        const struct hr_data_options options = options_of(rows[i].options);
        data_text(name, rows[i].text);
        data_refused(name, &options, rows[i].status, rows[i].message);
    }
}

#define GOOD "a,b,c\n1,2,x\n3,4,y\n5,6,x\n"

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    static const struct wrong rows[] = {
        {"a,\"b\n1,2\n", "", HR_E_FORMAT, "line 1, column 2: a quote is not closed"},
        {"a,b\"c\n1,2\n", "", HR_E_FORMAT, "a quote inside a field without quotes"},
        {"a,\"b\"c\n1,2\n", "", HR_E_FORMAT, "text follows the closing quote"},
        {"a,\"b\"\r", "", HR_E_FORMAT, "text follows the closing quote"},
        {"a,y\n1,2\n\"3\",4,5\n", "", HR_E_FORMAT, "line 3: more than 2 columns, expected 2"},
        {"a,b,y\n1,2,3\n\n\r\n1,2\n", "", HR_E_FORMAT, "line 5: 2 columns, expected 3"},
        {"a,y\n1,\n", "", HR_E_FORMAT, "line 2, column 2: the label is empty"},
        {"a,y\n1e39,1\n", "", HR_E_FORMAT, "line 2"},
        {"a,y\nx,1\n", "", HR_E_FORMAT, "\"x\""},
        {"a,y\n", "", HR_E_FORMAT, "holds no sample, expected lines of 2 columns"},
        {",y\n0,1\n", "", HR_E_FORMAT, "column 1 has no name: row numbers that pandas wrote"},
        {"Unnamed: 0,y\n0,1\n", "", HR_E_FORMAT, "column 1 has no name"},
        {"1,y\n2,n\n", "", HR_E_FORMAT, "\"y\" may be the name of a column or a label"},
        {GOOD, "label=0", HR_E_USAGE,
         "--label-column 0: expected a name of the header or a number"},
        {GOOD, "label=4", HR_E_USAGE, "or a number from 1 to 3"},
        {GOOD, "label=d", HR_E_USAGE, "--label-column d: expected a name of the header"},
        {"1,2\n3,4\n", "label=d", HR_E_USAGE, "--label-column d: expected a header (--header yes)"},
        {GOOD, "header=maybe", HR_E_USAGE, "--header maybe: expected yes, no or auto"},
        {GOOD, "base=2", HR_E_USAGE, "--index-base 2: expected 0, 1 or auto"},
        {GOOD, "base=1", HR_E_USAGE, "--index-base: is not supported for csv data"},
        {GOOD, "features=3000000000", HR_E_USAGE, "--features 3000000000: expected at most 2^31"},
        {GOOD, "fraction=0", HR_E_USAGE, "--test 0: expected more than 0"},
        {GOOD, "fraction=1", HR_E_USAGE, "--test 1: expected more than 0 and less than 1"},
        {GOOD, "fraction=0.5 test=other", HR_E_USAGE, "is not supported with --test"},
        {GOOD, "test=nowhere", HR_E_IO, "nowhere: cannot be opened"},
        {GOOD, "validation=nowhere", HR_E_IO, "nowhere: cannot be opened"},
        {GOOD, "validation=f", HR_E_USAGE, "is the file of --data, too"},
        {GOOD, "test=other validation=other", HR_E_USAGE, "is the file of --test, too"},
        {"a,b\n1,x\n", "test=other", HR_E_FORMAT,
         "train samples are 1x1x1, test samples are 2x1x1"},
        {"b,a,c\n1,2,x\n3,4,y\n", "test=other", HR_E_FORMAT, "has the columns of "},
        {"b,a,c\n1,2,x\n3,4,y\n", "validation=other", HR_E_FORMAT, "in another order"},
        {GOOD, "classes=x,z", HR_E_USAGE,
         "has samples of class \"y\", which --classes does not know"},
        {GOOD, "classes=x,,y", HR_E_USAGE, "class 1 has no name"},
    };
    check_refused("f", rows, sizeof rows / sizeof *rows);
}

static void wrong_lines_of_libsvm_are_refused(void **state)
{
    (void)state;
    static const struct wrong rows[] = {
        {"1 1:2\nx 1:2\n", "", HR_E_FORMAT, "line 2: \"x\", expected a number, the label"},
        {"1 1:2\n1 a:2\n", "", HR_E_FORMAT, "line 2: \"a:2\", expected index:value with an index"},
        {"1 1:2\n1 1a:2\n", "", HR_E_FORMAT, "\"1a:2\", expected index:value with an index"},
        {"1 1:2\n1 abc:2\n", "", HR_E_FORMAT, "\"abc:2\", expected index:value"},
        {"1 1:2\n1 :2\n", "", HR_E_FORMAT, "\":2\", expected index:value with an index"},
        {"1 1:2\n1 2\n", "", HR_E_FORMAT, "\"2\", expected index:value"},
        {"1 99999999999:2\n", "", HR_E_FORMAT, "an index up to 2147483647"},
        {"1 2147483648:2\n", "", HR_E_FORMAT, "an index up to 2147483647"},
        {"1 1:x\n", "", HR_E_FORMAT, "expected index:value with a finite number"},
        {"1 1:1e39\n", "", HR_E_FORMAT, "with a finite number"},
        {"1 2:1 2:1\n", "", HR_E_FORMAT, "an index above the one before"},
        {"1\n0\n", "", HR_E_FORMAT, "has no index:value at all"},
        {"# nothing", "", HR_E_FORMAT, "holds no sample, expected lines of label"},
        {"\v\f\t\r\n# note\n", "", HR_E_FORMAT, "holds no sample"},
        {"1 0:2\n", "base=1", HR_E_FORMAT, "has an index 0, expected indices from 1"},
        {"1 3:2\n", "features=2", HR_E_FORMAT, "expected at most"},
        {"1 1:2\n0 1:3\n", "test=nowhere", HR_E_IO, "nowhere: cannot be opened"},
        {"1 1:2\n0 1:3\n", "test=other", HR_E_FORMAT, "other: line 1"},
        {"1 1:2\n0 1:3\n", "validation=nowhere", HR_E_IO, "nowhere: cannot be opened"},
        {"1 1:2\n0 1:3\n", "header=yes", HR_E_USAGE, "--header: is not supported for libsvm data"},
    };
    check_refused("f.svm", rows, sizeof rows / sizeof *rows);
}

/* What format a text is of, by its first words, else by its name. */
static void formats_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *options, *format;
    } rows[] = {
        {"a", "1 1:2\n0 2:1\n", "", "libsvm"},
        {"a", "1 -1:2\n", "", ""},
        {"a", "\n# note\n\v1 \fqid:3 1:2\n0 2:1\n", "", "libsvm"},
        {"a", "1\t7:2\n0 2:1\n1 1:1\n", "test=other.svm validation=a2", "libsvm"},
        {"a.svm", "1\n0 1:1\n", "", "libsvm"},
        {"a.svmlight", "1\n0 1:1\n", "", "libsvm"},
        {"a.libsvm", "1\n0 1:1\n", "", "libsvm"},
        {"a", "1 qix:3\n", "", ""},
        {"a", "1 q:3\n", "", ""},
        {"a", "1,2\n3,4\n5,6\n", "", "csv"},
        {"a", "1, 2\n3, 4\n5, 6\n", "", "csv"},
        {"a", "u v\ty\n1\tx\n2\tz \t\n", "header=yes label=y", ""},
        {"a", "b\ty\n1 \tx\t\n", "", ""},
        {"a", "\r\n\"b\" \t \"y\"\t\"c\"\r\n1\t x\t2 \r\n3\tz\t4\r\n", "label=y", "csv"},
        {"a", "long column name,y\n1,x\n2,z\n3,x\n", "", "csv"},
        {"a", "1,2,kind\n1,2,x\n3,4,z\n5,6,z\n", "label=kind", "csv"},
        {"a", "b,\n1,x\n2,z\n3,x\n", "label=2 header=yes", "csv"},
        {"a", "b,c,\n1,2,x\n2,3,y\n4,5,x\n", "label=3 header=yes validation=other", "csv"},
        {"a", "c\n1\n", "", ""},
    };
    data_text("other", GOOD);
    data_text("other.svm", "1 1:2\n0 2:3\n");
    data_text("a2", "1 3:2\n0 2:3\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct hr_data_options options = options_of(rows[i].options);
        struct hr_dataset dataset;
        data_text(rows[i].name, rows[i].text);
        if (!rows[i].format[0]) {
            data_refused(rows[i].name, &options, HR_E_FORMAT, "");
            continue;
        }
        dataset = data_open(rows[i].name, &options);
        assert_string_equal(dataset.format, rows[i].format);
        hr_dataset_close(&dataset);
    }
}

static void long_fields_and_zeros_are_refused(void **state)
{
    (void)state;
    static char text[3000];
    for (int quoted = 0; quoted < 2; quoted++) {
        snprintf(text, sizeof text, "a,y\n1,%s%01100d%s\n", quoted ? "\"" : "", 7,
                 quoted ? "\"" : "");
        data_text("f", text);
        data_refused("f", NULL, HR_E_FORMAT,
                     "the label is longer than 255 bytes or holds a byte 0");
        snprintf(text, sizeof text, "a,y\n1,%s%0300d%s\n", quoted ? "\"" : "", 7,
                 quoted ? "\"" : "");
        data_text("f", text);
        data_refused("f", NULL, HR_E_FORMAT,
                     "the label is longer than 255 bytes or holds a byte 0");
    }
    /* Behind what is looked at to tell formats apart. */
    static char behind[5000] = "a,y\n1,2\n";
    memset(behind + 8, '\n', 4990);
    memcpy(behind + 4990, "1,\0002", 4);
    scratch_write("f", behind, 4994);
    data_refused("f", NULL, HR_E_FORMAT, "a byte 0, expected text");
    memcpy(behind + 4990, "1,\"\0\"", 5);
    scratch_write("f", behind, 4995);
    data_refused("f", NULL, HR_E_FORMAT, "longer than 255 bytes or holds a byte 0");
    scratch_write("f", "a,\0y\n", 5);
    data_refused("f", NULL, HR_E_FORMAT, "is no data that is known here");
    scratch_write("f",
                  "\xff\xfe"
                  "a\0,\0y\0",
                  8);
    data_refused("f", NULL, HR_E_FORMAT, "is text in UTF-16, expected UTF-8");
    data_refused("", NULL, HR_E_IO, "no file train-images-idx3-ubyte there");
}

static enum hr_status admit_none(const void *arg, struct hr_shape shape)
{
    (void)arg;
    return hr_fail(HR_E_USAGE, "%zu columns are not admitted", shape.channels);
}

static void who_asks_may_refuse_a_shape(void **state)
{
    (void)state;
    struct hr_data_options options = data_options();
    options.admit = admit_none;
    data_text("f", GOOD);
    data_refused("f", &options, HR_E_USAGE, "2 columns are not admitted");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(wrong_tables_are_refused),    IN_SCRATCH(wrong_lines_of_libsvm_are_refused),
        IN_SCRATCH(formats_are_told_apart),      IN_SCRATCH(long_fields_and_zeros_are_refused),
        IN_SCRATCH(who_asks_may_refuse_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
