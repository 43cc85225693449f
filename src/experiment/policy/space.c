#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "options/meaning.h"
#include "options/sweep.h"

/* --- reading --- */

/* "staleness=1,4": an axis of `all`. */
static enum hr_status add_option(const struct hr_cli *cli, char *piece, struct hr_cli *all)
{
    char *equals = strchr(piece, '=');
    piece += strspn(piece, " ");
    if (!equals || !equals[1])
        return hr_fail(HR_E_USAGE,
                       "--search: %s: expected an option and its values, as lr=0.01,0.02",
                       hr_printable(piece).text);
    *equals = '\0';
    for (char *end = equals; end > piece && end[-1] == ' ';)
        *--end = '\0';
    const size_t option = hr_cli_option_find(piece, HR_TRAIN);
    if (!hr_cli_option_at(option).row)
        return hr_cli_option_unknown(piece, HR_TRAIN, "--search: ");
    if (hr_entry_is_for_all(piece))
        return hr_fail(HR_E_USAGE, "--search: --%s is one for all policies; expected outside of it",
                       piece);
    if (cli->given[option])
        return hr_fail(HR_E_USAGE, "--search: --%s was given too; expected in one place", piece);
    if (hr_sweep_has(all, piece))
        return hr_fail(HR_E_USAGE, "--search: %s is in it twice", piece);
    return hr_sweep_add(all, HR_TRAIN, option, equals + 1 + strspn(equals + 1, " "), "--search: ");
}

static enum hr_status read_axes(const struct hr_cli *cli, struct hr_cli *all)
{
    char list[sizeof cli->search], *rest = list, *piece;
    memcpy(list, cli->search, sizeof list);
    while (rest) {
        HR_TRY(hr_entry_cut(&rest, ';', &piece));
        HR_TRY(add_option(cli, piece, all));
    }
    return HR_OK;
}

/* --- policies --- */

/* ":strategy=ssp:staleness=4" -> "ssp staleness=4". */
static void write_label(const char *strategy, const char *swept, char label[HR_POLICY_LABEL])
{
    static const char chosen[] = ":strategy=";
    const char *at = strstr(swept, chosen);
    const size_t before = at ? (size_t)(at - swept) : strlen(swept);
    const char *behind = at ? at + strlen(chosen) + strlen(strategy) : "";
    snprintf(label, HR_POLICY_LABEL, "%s%.*s%s", strategy, (int)before, swept, behind);
    for (char *c = label; *c; c++)
        if (*c == ':')
            *c = ' ';
}

static enum hr_status add_policy(const struct hr_cli *all, size_t k, struct hr_policy_space *space)
{
    static struct hr_cli own;
    char swept[HR_POLICY_LABEL];
    bool wanted;
    own = *all;
    memset(own.given, 0, sizeof own.given);
    HR_TRY(hr_sweep_point(all, HR_TRAIN, k, &own, &wanted, swept, sizeof swept));
    if (!wanted)
        return HR_OK;
    struct hr_train_options *options = &space->options[space->n];
    char *label = space->label[space->n++];
    *options = own.train;
    write_label(options->strategy, swept, label);
    HR_TRY(hr_train_complete(options));
    return hr_meaning_check(&own, options) == HR_OK
               ? HR_OK
               : hr_fail(HR_E_USAGE, "--search: %s: %s", label, hr_error_message());
}

/* --- what was left out --- */

static bool is_first_of_strategy(const struct hr_policy_space *space, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(space->options[k].strategy, space->options[i].strategy))
            return false;
    return true;
}

static void say_left_out(const struct hr_cli *all, struct hr_policy_space *space)
{
    char *text = space->left_out;
    const size_t size = sizeof space->left_out;
    for (size_t a = 0; a < all->naxes; a++) {
        const struct hr_option *row = hr_cli_option_at(all->axes[a].option).row;
        size_t said = 0;
        for (size_t i = 0; i < space->n; i++) {
            if (!is_first_of_strategy(space, i) || hr_option_is_obeyed(row, &space->options[i]))
                continue;
            if (said++ == 0)
                hr_append(text, size, "%s%s does not apply to ", text[0] ? "; " : "", row->name);
            hr_append(text, size, "%s%s", said > 1 ? ", " : "", space->options[i].strategy);
        }
    }
}

enum hr_status hr_policy_space_read(const struct hr_cli *cli, struct hr_policy_space *space)
{
    static struct hr_cli all;
    *space = (struct hr_policy_space){0};
    all = *cli;
    all.naxes = 0;
    HR_TRY(read_axes(cli, &all));
    space->points = hr_sweep_points(&all);
    if (space->points > HR_POLICY_MOST)
        return hr_fail(HR_E_USAGE, "--search: %zu combinations; expected at most %d", space->points,
                       HR_POLICY_MOST);
    space->options = calloc(space->points, sizeof *space->options);
    space->label = calloc(space->points, sizeof *space->label);
    if (!space->options || !space->label)
        return hr_fail(HR_E_NOMEM, "no memory for %zu policies", space->points);
    for (size_t k = 0; k < space->points; k++)
        HR_TRY(add_policy(&all, k, space));
    say_left_out(&all, space);
    return hr_meaning_check_some(cli, space->options, space->n, sizeof *space->options);
}

/* --- what cannot be --- */

static void keep(struct hr_policy_space *space, size_t i, size_t n)
{
    space->options[n] = space->options[i];
    memmove(space->label[n], space->label[i], sizeof space->label[n]);
}

static void note_refused(struct hr_policy_space *space, size_t i)
{
    if (space->nrefused++ == 0)
        snprintf(space->refused, sizeof space->refused, "%s: %s", space->label[i],
                 hr_error_message());
}

enum hr_status hr_policy_space_check(struct hr_policy_space *space,
                                     const struct hr_dataset *dataset)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++) {
        const enum hr_status status = hr_train_check(&space->options[i], dataset);
        if (status == HR_OK)
            keep(space, i, n++);
        else if (status == HR_E_USAGE)
            note_refused(space, i);
        else
            return hr_fail_within(status, "--search: %s", space->label[i]);
    }
    space->n = n;
    return n ? HR_OK : hr_fail(HR_E_USAGE, "--search: %s", space->refused);
}

void hr_policy_space_free(struct hr_policy_space *space)
{
    free(space->options);
    free(space->label);
    *space = (struct hr_policy_space){0};
}
