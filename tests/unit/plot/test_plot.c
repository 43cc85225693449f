/* The picture: the script by its text, gnuplot played by small scripts, and by itself if it is
 * there. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/documents.h"
#include "json/value.h"
#include "plot/plot.h"
#include "page/page.h"
#include "support/capture.h"
#include "support/check.h"
#include "support/sample_runs.h"

static char folder[64], picture[96], program[96], old_path[4096];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hogring-plot-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(picture, sizeof picture, "%s/curves.svg", folder);
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    snprintf(old_path, sizeof old_path, "%s", getenv("PATH") ? getenv("PATH") : "");
    return 0;
}

/* rmdir fails, and with it the test, when a temporary was left behind. */
static int remove_folder(void **state)
{
    (void)state;
    setenv("PATH", old_path, 1);
    unlink(picture);
    unlink(program);
    return rmdir(folder);
}

/* Only what stands in the test's folder is found from here on. */
static void play_gnuplot(const char *body)
{
    FILE *out = fopen(program, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\n%s\n", body);
    fclose(out);
    chmod(program, 0755);
    setenv("PATH", folder, 1);
}

static void read_picture(char *text, size_t size)
{
    FILE *in = fopen(picture, "r");
    assert_non_null(in);
    text[fread(text, 1, size - 1, in)] = '\0';
    fclose(in);
}

static struct hr_curve_point curves[3][2] = {
    {{.samples = 5000, .seconds = 1, .test_loss = 0.5, .test_accuracy = 0.8},
     {.samples = 10000, .seconds = 2, .test_loss = 0.25, .test_accuracy = 0.9}},
    {{.samples = 5000, .seconds = 2, .test_loss = 0.75, .test_accuracy = 0.7},
     {.samples = 10000, .seconds = 3, .test_loss = 0.5, .test_accuracy = 0.8}},
    {{.samples = 5000, .seconds = 1, .test_loss = 1, .test_accuracy = 0.5},
     {.samples = 10000, .seconds = 1.5, .test_loss = NAN, .test_accuracy = 0.1}},
};

/* Two seeds of allreduce and one of hogwild, which diverges. */
static void fill_runs(struct hr_run_result *runs)
{
    runs[0] = sample_run("allreduce", 1, 0.9);
    runs[1] = sample_run("allreduce", 2, 0.8);
    runs[2] = sample_run("hogwild", 1, 0.1);
    for (size_t i = 0; i < 3; i++) {
        runs[i].curve = curves[i];
        runs[i].ncurve = 2;
    }
}

/* What --json has of them, as far as pictures need it. */
static json_t *document_of(const struct hr_run_result *runs, size_t n, const char *title)
{
    static const struct hr_train_options options = {.strategy = "ssp"};
    static const struct hr_dataset dataset = {.name = "digits"};
    json_t *document = hr_json_runs(&options, &dataset, &(struct hr_endings){.runs = runs, .n = n});
    json_object_set_new(document, "title", hr_json_text(title));
    json_object_set_new(document, "note", json_string("a note"));
    return document;
}

static char *script(const struct hr_run_result *runs, size_t n, enum hr_plot_format format,
                    const char *title)
{
    struct capture capture;
    const char *why_not;
    json_t *document = document_of(runs, n, title);
    capture_begin(&capture);
    assert_true(hr_plot_script(capture.out, format, document, &why_not));
    json_decref(document);
    return capture_end(&capture);
}

static enum hr_status draw(const char *path, const char *title, const struct hr_run_result *runs,
                           size_t n)
{
    json_t *document = document_of(runs, n, title);
    const enum hr_status status = hr_plot(path, document);
    json_decref(document);
    return status;
}

static void expect(const char *text, const char *want)
{
    if (!strstr(text, want))
        fail_msg("\"%s\" is not in:\n%s", want, text);
}

static void data_are_means_with_least_and_most(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(
        text,
        "$loss0 << END\n5 1.5 0.625 0.5 0.75 156.462585\n10 2.5 0.375 0.25 0.5 312.92517\nEND\n");
    expect(text, "$score0 << END\n5 1.5 75 70 80 156.462585\n10 2.5 85 80 90 312.92517\nEND\n");
    expect(text, "$score1 << END\n5 1 50 50 50 156.462585\n10 1.5 10 10 10 312.92517\nEND\n");
    expect(text, "set xlabel 'samples (thousands)'");
    expect(text, "set xlabel 'updates'");
    expect(text, "plot $score0 using 6:4:5 with filledcurves");
    expect(text, "set xlabel 'seconds of training'");
    expect(text, "set label 2 'a note'");
    free(text);
}

/* Hogwild has its colour, whoever stands before it; two rows of it differ in dash and point. */
static void colours_belong_to_strategies(void **state)
{
    (void)state;
    char want[64];
    struct hr_run_result runs[3];
    fill_runs(runs);
    runs[1] = runs[2];
    runs[1].seed = runs[2].seed; /* a row of its own */
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    snprintf(want, sizeof want, "set style line 2 lc rgb '%s'", hr_colour_of("hogwild")->on_light);
    expect(text, want);
    snprintf(want, sizeof want, "set style line 3 lc rgb '%s'", hr_colour_of("hogwild")->on_light);
    expect(text, want);
    assert_string_equal(hr_colour_of("of tomorrow")->strategy, "other");
    free(text);
}

static void virtual_seconds_are_called_so(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    for (size_t i = 0; i < 3; i++)
        snprintf(runs[i].clock, sizeof runs[i].clock, "virtual");
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(text, "set xlabel 'virtual seconds of training'");
    free(text);
}

/* gnuplot takes fewer columns than the legend's height was made for when labels are long. */
static void long_labels_have_a_legend_of_fewer_columns(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(text, "maxcols 3");
    free(text);
    snprintf(runs[1].strategy, sizeof runs[1].strategy, "backup-workers-of-a-long-name");
    text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(text, "maxcols 2");
    free(text);
}

static void what_is_no_number_leaves_a_gap(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(text, "$loss1 << END\n5 1 1 1 1 156.462585\n\nEND\n");
    assert_null(strstr(text, "nan"));
    free(text);
}

static void bands_are_drawn_for_several_seeds_only(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    expect(text, "$loss0 using 1:4:5 with filledcurves");
    expect(text, "$score0 using 2:4:5 with filledcurves");
    assert_null(strstr(text, "$loss1 using 1:4:5"));
    expect(text, "$loss1 using 1:3 with linespoints ls 2");
    expect(text, "title 'allreduce direct'");
    expect(text, "title 'hogwild'");
    free(text);
}

static void a_run_that_blows_up_does_not_set_the_scale(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    struct hr_curve_point wild[2] = {curves[2][0], curves[2][1]};
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_SVG, "title");
    assert_null(strstr(text, "set yrange [*:2.5]"));
    free(text);
    wild[1].test_loss = 1e9;
    runs[2].curve = wild;
    text = script(runs, 3, HR_PLOT_SVG, "title"); /* 0.375, 0.625, 1, 1e9: median 1 */
    expect(text, "set yrange [*:4]");
    free(text);
}

static void texts_are_quoted_for_gnuplot(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    char *text = script(runs, 3, HR_PLOT_PNG, "it's `date` \"\\n\" \n \xff \xc3\xa9 $x");
    expect(text, "'it''s `date` \"\\n\" ? \\xFF \xc3\xa9 $x' at screen");
    expect(text, "pngcairo");
    free(text);
    char title[400];
    memset(title, 'x', sizeof title - 1);
    title[sizeof title - 1] = '\0';
    text = script(runs, 3, HR_PLOT_PNG, title);
    expect(text, "xxx...' at screen");
    free(text);
}

static void other_endings_are_refused(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    CHECK_FAILS(draw("curves.pdf", "", runs, 3), HR_E_USAGE);
    CHECK_MESSAGE("curves.pdf: expected a name that ends in .svg or .png");
    CHECK_FAILS(draw(".svg", "", runs, 3), HR_E_USAGE);
    runs[0].ncurve = 0;
    CHECK_FAILS(draw(picture, "", runs, 1), HR_E_USAGE);
}

static void a_missing_gnuplot_is_told_with_its_package(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill_runs(runs);
    setenv("PATH", folder, 1);
    CHECK_FAILS(draw(picture, "", runs, 3), HR_E_IO);
    CHECK_MESSAGE("apt install gnuplot-nox");
    assert_int_not_equal(access(picture, F_OK), 0);
}

static void a_failing_gnuplot_is_quoted_and_the_old_picture_stays(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    char text[64];
    fill_runs(runs);
    play_gnuplot("echo old");
    CHECK_OK(draw(picture, "", runs, 3));
    play_gnuplot("echo half; echo >&2; echo 'line 3: no such terminal' >&2; exit 1");
    CHECK_FAILS(draw(picture, "", runs, 3), HR_E_IO);
    CHECK_MESSAGE("curves.svg: gnuplot: line 3: no such terminal");
    play_gnuplot("exit 0");
    CHECK_FAILS(draw(picture, "", runs, 3), HR_E_IO);
    CHECK_MESSAGE("gnuplot drew nothing (exit code 0)");
    play_gnuplot("kill -9 $$");
    CHECK_FAILS(draw(picture, "", runs, 3), HR_E_IO);
    CHECK_MESSAGE("ended by signal 9");
    read_picture(text, sizeof text);
    assert_string_equal(text, "old\n");
}

static void gnuplot_reads_the_script_from_its_stdin(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    char text[4096];
    fill_runs(runs);
    play_gnuplot("echo \"$@\"; while read -r line; do echo \"$line\"; done");
    CHECK_OK(draw(picture, "a title", runs, 3));
    read_picture(text, sizeof text);
    expect(text, "-d -\nset encoding utf8\n");
    expect(text, "$loss0 << END");
}

static void gnuplot_itself_draws_an_svg(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    static char text[200000];
    fill_runs(runs);
    const enum hr_status status = draw(picture, "it's <a> & `b`", runs, 3);
    if (status == HR_E_IO && strstr(hr_error_message(), "not installed"))
        SKIP("gnuplot is not installed");
    CHECK_OK(status);
    read_picture(text, sizeof text);
    assert_true(!strncmp(text, "<?xml", 5) || !strncmp(text, "<svg", 4));
    expect(text, "<text>it's &lt;a> &amp; `b`</text>");
    expect(text, "allreduce direct");
    expect(text, "</svg>");
}

static void gnuplot_bears_runs_without_any_number(void **state)
{
    (void)state;
    struct hr_run_result run = sample_run("hogwild", 1, 0.1);
    struct hr_curve_point point = {.test_loss = NAN, .test_accuracy = 0.1};
    run.curve = &point;
    run.ncurve = 1;
    const enum hr_status status = draw(picture, "", &run, 1);
    if (status == HR_E_IO && strstr(hr_error_message(), "not installed"))
        SKIP("gnuplot is not installed");
    CHECK_OK(status);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_are_means_with_least_and_most),
        cmocka_unit_test(colours_belong_to_strategies),
        cmocka_unit_test(virtual_seconds_are_called_so),
        cmocka_unit_test(long_labels_have_a_legend_of_fewer_columns),
        cmocka_unit_test(what_is_no_number_leaves_a_gap),
        cmocka_unit_test(bands_are_drawn_for_several_seeds_only),
        cmocka_unit_test(a_run_that_blows_up_does_not_set_the_scale),
        cmocka_unit_test(texts_are_quoted_for_gnuplot),
        IN_FOLDER(other_endings_are_refused),
        IN_FOLDER(a_missing_gnuplot_is_told_with_its_package),
        IN_FOLDER(a_failing_gnuplot_is_quoted_and_the_old_picture_stays),
        IN_FOLDER(gnuplot_reads_the_script_from_its_stdin),
        IN_FOLDER(gnuplot_itself_draws_an_svg),
        IN_FOLDER(gnuplot_bears_runs_without_any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
