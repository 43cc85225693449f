/* Which columns of a new table are a model's features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "predict/samples.h"

/* Of a model with the features a, b, c, whose label was column `label`, called `label_name`. */
static struct hr_model_input named(size_t label, const char *label_name)
{
    struct hr_model_input input = {.shape = {3, 1, 1}, .label = label, .index_base = -1};
    snprintf(input.label_name, sizeof input.label_name, "%s", label_name);
    CHECK_OK(hr_class_list_add("model", "a,b,c", &input.names));
    return input;
}

static struct hr_model_input numbered(void)
{
    struct hr_model_input input = {.shape = {2, 1, 1}, .index_base = -1};
    CHECK_OK(hr_class_list_add("model", "0,1", &input.names));
    return input;
}

static struct hr_model_input nameless(size_t features, size_t label)
{
    return (struct hr_model_input){
        .shape = {features, features != 0, features != 0}, .label = label, .index_base = -1};
}

static struct hr_data_options options_of(const char *header, const char *label_column)
{
    struct hr_data_options options;
    hr_data_defaults(&options);
    snprintf(options.header, sizeof options.header, "%s", header);
    snprintf(options.label_column, sizeof options.label_column, "%s", label_column);
    return options;
}

/* The first samples of the text, as "1 2 3/4 5 6"; or the message. */
struct answer {
    char text[400], note[HR_DATA_NOTE];
};

static struct answer parse(struct hr_model_input input, const struct hr_data_options *options,
                           const char *text)
{
    struct answer answer = {"", ""};
    struct hr_table table = {0};
    const enum hr_status status =
        hr_csv_samples_parse("new.csv", text, strlen(text), options, "MODEL", &input, &table);
    if (status != HR_OK)
        snprintf(answer.text, sizeof answer.text, "%s", hr_error_message());
    for (size_t i = 0; i < table.count * table.shape.channels; i++)
        snprintf(answer.text + strlen(answer.text), sizeof answer.text - strlen(answer.text),
                 "%s%g",
                 !i                         ? ""
                 : i % table.shape.channels ? " "
                                            : "/",
                 (double)table.values[i]);
    memcpy(answer.note, table.note, sizeof answer.note);
    hr_table_free(&table);
    hr_model_input_free(&input);
    return answer;
}

#define EXPECT(input, how, column, csv, expected)                                                  \
    do {                                                                                           \
        const struct hr_data_options options = options_of(how, column);                            \
        const struct answer got = parse(input, &options, csv);                                     \
        assert_string_equal(got.text, expected);                                                   \
    } while (0)

static void columns_are_found_by_name(void **state)
{
    (void)state;
    EXPECT(named(4, "kind"), "auto", "", "a,b,c\n1,2,3\n4,5,6\n", "1 2 3/4 5 6");
    EXPECT(named(4, "kind"), "auto", "", "c,kind,a,b\n3,eel,1,2\n", "1 2 3");
    EXPECT(named(0, ""), "auto", "", "\xef\xbb\xbf\"b\"\tname\ta\tc\n2\tAnn, B.\t1\t3\n", "1 2 3");
    /* Beside numbers, too; and pandas calls columns without a name 0, 1, ... */
    EXPECT(named(0, ""), "auto", "", "2020,c,b,a\n9,3,2,1\n", "1 2 3");
    EXPECT(numbered(), "auto", "", "2,1,0\n9,8,7\n", "7 8");
    EXPECT(numbered(), "auto", "", "1,5\n", "1 5");
    EXPECT(named(0, ""), "auto", "", "a,b\n1,2\n",
           "new.csv: has no column \"c\", which MODEL was trained on; it has \"a\", \"b\"");
    EXPECT(named(0, ""), "auto", "", "a,b,c,b\n1,2,3,4\n",
           "new.csv: column 4 is called \"b\", as one before it");
    EXPECT(named(0, ""), "auto", "", "a,b,c\n1,2\n", "new.csv: line 2: 2 columns, expected 3");
    EXPECT(named(0, ""), "auto", "", "a,b,c\n1,2,3,4\n", "new.csv: line 2: 4 columns, expected 3");
}

static void what_is_left_out_is_said_but_for_the_label(void **state)
{
    (void)state;
    const struct hr_data_options options = options_of("auto", "");
    assert_string_equal(parse(named(4, "kind"), &options, "a,b,c,kind\n1,2,3,x\n").note, "");
    assert_string_equal(parse(named(4, "kind"), &options, "a,u,b,v,c\n1,x,2,y,3\n").note,
                        "new.csv: columns \"u\", \"v\" are left out: the model does not know them");
    assert_string_equal(
        parse(named(4, "kind"), &options, "1,2,3\n").note,
        "new.csv: has no header: its columns are taken in the order of the training data");
    assert_string_equal(parse(nameless(3, 0), &options, "1,2,3\n").note, "");
}

static void columns_without_names_are_found_by_place(void **state)
{
    (void)state;
    EXPECT(nameless(3, 0), "auto", "", "1,2,3\n", "1 2 3");
    EXPECT(nameless(3, 2), "auto", "", "1,x,2,3\n", "1 2 3");
    EXPECT(nameless(3, 4), "auto", "", "p,q,class,r\n1,2,0,3\n", "1 2 3");
    EXPECT(nameless(3, 4), "auto", "1", "9,1,2,3\n", "1 2 3");
    EXPECT(nameless(3, 4), "auto", "q", "p,q,r,s\n1,9,2,3\n", "1 2 3");
    EXPECT(named(1, "kind"), "auto", "", "9,1,2,3\n", "1 2 3");
    EXPECT(nameless(3, 4), "no", "", "1,2,3,x\n4,5,6,y\n", "1 2 3/4 5 6");
    EXPECT(nameless(3, 4), "yes", "", "1,2,3\n4,5,6\n", "4 5 6");
    EXPECT(nameless(0, 0), "auto", "", "1,2\n", "1 2");
    EXPECT(nameless(0, 0), "auto", "", "p,label\n1,x\n", "1");
    EXPECT(nameless(3, 0), "auto", "", "1,2,3,4\n",
           "new.csv: line 1: 4 columns, expected 3, the features of MODEL, or one more, the label "
           "(--label-column says which)");
    EXPECT(nameless(3, 4), "auto", "", "1,2,3,4,5\n",
           "new.csv: line 1: 5 columns, expected 3, the features of MODEL, or one more, the label "
           "(--label-column says which)");
    EXPECT(nameless(3, 0), "auto", "7", "1,2,3\n",
           "--label-column 7: new.csv has no such column, expected 1 to 3");
}

static void what_is_no_number_is_refused_where_it_matters(void **state)
{
    (void)state;
    EXPECT(named(0, ""), "auto", "", "a,b,c\n1,,3\n",
           "new.csv: line 2, column 2, b: \"\", expected a finite number");
    EXPECT(named(0, ""), "auto", "", "x,a,b,c\n,1,2,1e99\n",
           "new.csv: line 2, column 4, c: \"1e99\", expected a finite number");
    EXPECT(nameless(2, 0), "auto", "", "1,2\n3,inf\n",
           "new.csv: line 2, column 2: \"inf\", expected a finite number");
    EXPECT(named(0, ""), "auto", "", "a,b,c\n",
           "new.csv: holds no sample, expected lines of 3 "
           "columns");
    EXPECT(named(0, ""), "auto", "", "\n\n", "new.csv: holds no line, expected a table");
    EXPECT(nameless(0, 0), "auto", "", "label\nx\n",
           "new.csv: line 1: the label alone, expected features");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(what_is_left_out_is_said_but_for_the_label),
        cmocka_unit_test(columns_without_names_are_found_by_place),
        cmocka_unit_test(what_is_no_number_is_refused_where_it_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
