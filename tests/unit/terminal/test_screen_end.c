/* A command's end on one screen: which lines yield, and that all of it stands elsewhere. */
#include "terminal/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "support/check.h"

struct shown {
    char text[16384];
    size_t lines;
};

static void read_all(int fd, struct shown *shown)
{
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd, shown->text + used, sizeof shown->text - 1 - used)) > 0)
        used += (size_t)n;
    shown->text[used] = '\0';
    shown->lines = 0;
    for (size_t i = 0; i < used; i++)
        shown->lines += shown->text[i] == '\n';
}

typedef void (*print_fn)(void);

/* What a child that prints shows on fd, which `from` reads. */
static void printed(print_fn print, bool all, int fd, int from, struct shown *shown)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fd, STDOUT_FILENO);
        hr_output_begin();
        hr_output_fold(false, all);
        hr_output_hold();
        print();
        _exit(hr_output_end(0));
    }
    close(fd);
    read_all(from, shown);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void on_a_terminal(print_fn print, bool all, unsigned short lines, struct shown *shown)
{
    const struct winsize size = {.ws_row = lines, .ws_col = 80};
    struct termios raw;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        SKIP("there are no pseudo-terminals here");
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
    printed(print, all, slave, master, shown);
    close(master);
}

static void in_a_pipe(print_fn print, struct shown *shown)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    printed(print, false, ends[1], ends[0], shown);
    close(ends[0]);
}

/* n lines that must stand, and `of` of each kind that may yield. */
static void print_lines(int n, int of)
{
    for (int i = 0; i < n; i++)
        printf("stays %d\n", i);
    for (int k = 0; k < HR_YIELDS; k++)
        for (int i = 0; i < of; i++)
            printf("%skind%d %d\n", hr_yields(stdout, (enum hr_yield)k), k, i);
    printf("last\n");
}

static void print_what_fits(void)
{
    print_lines(15, 1);
}

static void print_a_line_too_many(void)
{
    print_lines(16, 1);
}

static void print_many(void)
{
    print_lines(9, 5);
}

static size_t count(const struct shown *shown, const char *what)
{
    size_t n = 0;
    for (const char *at = shown->text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void what_fits_stands_as_it_is(void **state)
{
    struct shown shown;
    (void)state;
    on_a_terminal(print_what_fits, false, 24, &shown);
    assert_int_equal(shown.lines, 20);
    assert_int_equal(count(&shown, "kind"), HR_YIELDS);
    assert_int_equal(count(&shown, "more"), 0);
    on_a_terminal(print_a_line_too_many, false, 25, &shown);
    assert_int_equal(count(&shown, "kind"), HR_YIELDS);
}

static void the_first_kind_yields_first_and_a_line_counts_them(void **state)
{
    struct shown shown;
    (void)state;
    on_a_terminal(print_a_line_too_many, false, 24, &shown);
    assert_int_equal(shown.lines, 20);
    assert_int_equal(count(&shown, "kind0") + count(&shown, "kind1"), 0);
    assert_int_equal(count(&shown, "kind"), HR_YIELDS - 2);
    assert_non_null(strstr(shown.text, "last\nmore            --details (+2 lines)\n"));
}

static void rows_leave_dots_and_the_last_go_first(void **state)
{
    struct shown shown;
    (void)state;
    on_a_terminal(print_many, false, 24, &shown);
    assert_int_equal(shown.lines, 20);
    assert_int_equal(count(&shown, "stays"), 9);
    assert_int_equal(count(&shown, "kind3"), 5);
    assert_non_null(strstr(shown.text, "kind2 0\nkind2 1\nkind2 2\n ...\nkind3 0\n"));
    assert_non_null(strstr(shown.text, "(+12 lines)"));
}

static void all_stands_in_files_and_where_it_is_asked_for(void **state)
{
    struct shown shown;
    (void)state;
    on_a_terminal(print_many, true, 24, &shown);
    assert_int_equal(shown.lines, 10 + 5 * HR_YIELDS);
    in_a_pipe(print_many, &shown);
    assert_int_equal(shown.lines, 10 + 5 * HR_YIELDS);
    for (int k = 0; k < HR_YIELDS; k++) /* nor is there a mark */
        assert_null(strchr(shown.text, 0x0e + k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stands_as_it_is),
        cmocka_unit_test(the_first_kind_yields_first_and_a_line_counts_them),
        cmocka_unit_test(rows_leave_dots_and_the_last_go_first),
        cmocka_unit_test(all_stands_in_files_and_where_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
