/* Text in columns. */
#include "terminal/grid.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static char *ended(struct hr_grid *table, size_t width)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    hr_grid_end(table, out, width);
    fclose(out);
    return text;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-name\tn\t-why");
    fprintf(table.cells, "a\t12345\tx\nlonger\t1\t\n");
    char *text = ended(&table, 0);
    assert_string_equal(text, "name        n  why\na       12345  x\nlonger      1\n");
    free(text);
}

static void a_column_without_a_cell_is_left_out(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-name\tdropped\tn");
    fprintf(table.cells, "a\t\t1\nb\t\t2\n");
    assert_int_equal(hr_grid_width(&table), 7);
    char *text = ended(&table, 80);
    assert_string_equal(text, "name  n\na     1\nb     2\n");
    assert_false(table.column[1].fit.shown);
    free(text);
}

static void a_line_without_a_tab_stands_as_it_is(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-a\tb");
    fprintf(table.cells, "x\ty\nand much more than that\n");
    char *text = ended(&table, 0);
    assert_string_equal(text, "a  b\nx  y\nand much more than that\n");
    free(text);
}

static void a_mark_of_a_row_that_may_yield_stays_before_it(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "n\t-name");
    fprintf(table.cells, "12\ta\n\x0e"
                         "3\tb\n");
    char *text = ended(&table, 0);
    assert_string_equal(text, " n  name\n12  a\n\x0e 3  b\n");
    free(text);
}

static void what_is_most_expendable_is_hidden_and_named(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-name\ttest\nloss\twait\n%");
    table.column[1].fit.expendable = 1;
    table.column[2].fit.expendable = 2;
    table.cure = "; --wide shows all";
    fprintf(table.cells, "aaaa\t0.25\t7\n");
    char *text = ended(&table, 10);
    assert_string_equal(text, "      test\nname  loss\naaaa  0.25\n"
                              "no room for: wait %; --wide shows all\n");
    free(text);
}

static void cells_are_cut_where_they_are_told_to(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-name\tn");
    table.column[0].most = 5;
    fprintf(table.cells, "äöüäöü\t1\nb\t2\n");
    char *text = ended(&table, 0);
    assert_string_equal(text, "name   n\näöüäö  1\nb      2\n");
    free(text);
}

static void rows_that_come_one_by_one_are_shown_as_they_come(void **state)
{
    struct hr_grid table;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    hr_grid_begin(&table, "size  \t-op");
    hr_grid_flush(&table, out);
    fprintf(table.cells, "1\tsum\n");
    hr_grid_flush(&table, out);
    fprintf(table.cells, "12345678\tmax\n");
    hr_grid_flush(&table, out);
    hr_grid_end(&table, out, 0);
    fclose(out);
    assert_string_equal(text, "  size  op\n     1  sum\n12345678  max\n");
    free(text);
}

static void no_row_has_all_heads(void **state)
{
    struct hr_grid table;
    (void)state;
    hr_grid_begin(&table, "-a\tb");
    char *text = ended(&table, 0);
    assert_string_equal(text, "a  b\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_column_without_a_cell_is_left_out),
        cmocka_unit_test(a_line_without_a_tab_stands_as_it_is),
        cmocka_unit_test(a_mark_of_a_row_that_may_yield_stays_before_it),
        cmocka_unit_test(what_is_most_expendable_is_hidden_and_named),
        cmocka_unit_test(cells_are_cut_where_they_are_told_to),
        cmocka_unit_test(rows_that_come_one_by_one_are_shown_as_they_come),
        cmocka_unit_test(no_row_has_all_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
