/* What does not go together: every pair of the table is refused by its own line, from words of a
 * command line; and what is not in the table is taken by a run. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hogring/data.h"
#include "options/meaning.h"
#include "options/pairs.h"
#include "support/check.h"

/* Words of features, in turn, behind `train` or `compare`. */
struct words {
    char text[600], *argv[64];
    int argc;
};

static void add_words(struct words *words, const char *example)
{
    char *at = words->text + strlen(words->text);
    snprintf(at, sizeof words->text - (size_t)(at - words->text), "%s ", example);
}

static bool parse(const struct words *from, enum hr_command_bit command, struct hr_cli *cli)
{
    struct words words = *from;
    char *rest = words.text, *word;
    static char name[] = "hogring";
    words.argv[words.argc++] = name;
    while ((word = strsep(&rest, " ")) != NULL)
        if (*word)
            words.argv[words.argc++] = word;
    words.argv[words.argc] = NULL;
    optind = 0;
    hr_cli_defaults(cli);
    return hr_cli_parse(cli, command, words.argc, words.argv) == HR_OK &&
           hr_train_complete(&cli->train) == HR_OK;
}

static bool read_words(const struct words *words, struct hr_cli *cli)
{
    return parse(words, HR_TRAIN, cli) || parse(words, HR_COMPARE, cli);
}

static bool asks(const struct hr_feature_pair *pair, const char *name)
{
    const unsigned char features[] = {pair->a, pair->b, pair->where[0], pair->where[1]};
    for (size_t i = 0; i < sizeof features; i++)
        if (features[i] && !strcmp(hr_features[features[i]].name, name))
            return true;
    return false;
}

/* A run that has the pair. */
static struct hr_pair_run run_of(const struct hr_feature_pair *pair, struct hr_cli *cli)
{
    struct words words = {.text = "--workers 2 "};
    const unsigned char features[] = {pair->a, pair->b, pair->where[0], pair->where[1]};
    for (size_t i = 0; i < sizeof features; i++)
        if (features[i])
            add_words(&words, hr_features[features[i]].example);
    if (!read_words(&words, cli))
        fail_msg("%s: %s", words.text, hr_error_message());
    struct hr_pair_run run = hr_pair_run_of(&cli->train, cli);
    run.machines = asks(pair, "on several machines");
    run.forecast = asks(pair, "in a forecast");
    if (!hr_pair_holds(pair, &run))
        fail_msg("%s: a run has not what its examples say", words.text);
    return run;
}

static enum hr_status check(const struct hr_feature_pair *pair, const struct hr_pair_run *run)
{
    return pair->given ? hr_pairs_check_option(hr_features[pair->a].option, run)
                       : hr_pairs_check(run);
}

static void every_pair_is_refused(void **state)
{
    (void)state;
    static struct hr_cli cli;
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const struct hr_pair_run run = run_of(pair, &cli);
        CHECK_FAILS(check(pair, &run), HR_E_USAGE);
    }
}

/* In a run that has this pair alone it is the one that is said, with why and what instead. */
static void refusals_say_why_and_what_to_do(void **state)
{
    (void)state;
    static struct hr_cli cli;
    size_t said = 0;
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const struct hr_pair_run run = run_of(pair, &cli);
        size_t held = 0;
        for (size_t k = 0; k < hr_npairs; k++)
            held += hr_pairs[k].given == pair->given && hr_pair_holds(&hr_pairs[k], &run);
        if (held != 1)
            continue;
        said++;
        CHECK_FAILS(check(pair, &run), HR_E_USAGE);
        CHECK_MESSAGE(pair->why);
        CHECK_MESSAGE(pair->instead);
    }
    assert_true(said > hr_npairs * 2 / 3);
}

static void no_pair_stands_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < hr_npairs; i++)
        for (size_t k = 0; k < i; k++)
            if (hr_pairs[i].a == hr_pairs[k].a && hr_pairs[i].b == hr_pairs[k].b)
                assert_memory_not_equal(hr_pairs[i].where, hr_pairs[k].where, 2);
}

/* --- what goes together --- */

/* Does a feature's words alone make a run of a network that is taken? */
static bool stands_alone(const struct hr_feature *feature, const struct hr_dataset *digits,
                         struct hr_cli *cli)
{
    struct words words = {.text = "--workers 2 "};
    add_words(&words, feature->example);
    return feature->example[0] && parse(&words, HR_TRAIN, cli) &&
           !hr_pair_run_of(&cli->train, cli).sparse &&
           hr_meaning_check(cli, &cli->train) == HR_OK &&
           hr_train_check(&cli->train, digits) == HR_OK;
}

/* No row of the table, and no option that belongs elsewhere. */
static bool goes_together(const struct hr_cli *cli)
{
    return hr_meaning_check(cli, &cli->train) == HR_OK &&
           hr_pairs_check_of(&cli->train, cli) == HR_OK;
}

/* What numbers must be to each other is no pair. */
static bool is_of_numbers(const char *message)
{
    return strstr(message, "backup-workers:") || strstr(message, "micro-batches=");
}

static void what_has_no_row_goes_together(void **state)
{
    (void)state;
    static struct hr_cli cli;
    static bool alone[UCHAR_MAX];
    struct hr_dataset digits;
    size_t taken = 0;
    CHECK_OK(hr_dataset_open("digits", &digits));
    for (size_t f = 1; f < hr_nfeatures; f++)
        alone[f] = stands_alone(&hr_features[f], &digits, &cli);
    for (size_t f = 1; f < hr_nfeatures; f++)
        for (size_t g = 1; g < f; g++) {
            struct words words = {.text = "--workers 2 "};
            if (!alone[f] || !alone[g])
                continue;
            add_words(&words, hr_features[f].example);
            add_words(&words, hr_features[g].example);
            if (!parse(&words, HR_TRAIN, &cli) || !goes_together(&cli))
                continue;
            if (hr_train_check(&cli.train, &digits) != HR_OK && !is_of_numbers(hr_error_message()))
                fail_msg("%s: %s", words.text, hr_error_message());
            taken++;
        }
    hr_dataset_close(&digits);
    assert_true(taken > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_refused),
        cmocka_unit_test(refusals_say_why_and_what_to_do),
        cmocka_unit_test(no_pair_stands_twice),
        cmocka_unit_test(what_has_no_row_goes_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
