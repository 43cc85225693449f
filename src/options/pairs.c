#include "options/pairs.h"

#include <limits.h>
#include <string.h>

#include "base/printable.h"
#include "hogring/sparse.h"

struct hr_pair_run hr_pair_run_of(const struct hr_train_options *options, const struct hr_cli *cli)
{
    struct hr_pair_run run = {.options = options, .cli = cli};
    run.sparse = hr_sparse_is_model(options->model);
    if (!run.sparse && hr_strategy_find(options->strategy, options->staleness, &run.strategy))
        run.strategy = NULL;
    run.machines = cli && cli->machines > 1;
    run.played = !strcmp(options->clock, "virtual") || strcmp(options->schedule, "free") != 0;
    return run;
}

bool hr_pair_holds(const struct hr_feature_pair *pair, const struct hr_pair_run *run)
{
    const unsigned char features[] = {pair->a, pair->b, pair->where[0], pair->where[1]};
    for (size_t i = 0; i < sizeof features; i++)
        if (features[i] && !hr_features[features[i]].is(run))
            return false;
    return true;
}

/* " with --clock virtual", " in real time"; behind another: " and --strategy hogwild". Of a list of
 * troubles the part is said, and what auto is. */
static void add(char *text, size_t size, const char *before, const struct hr_feature *feature,
                const struct hr_pair_run *run)
{
    const size_t used = strlen(text);
    const struct hr_option *row = feature->option ? hr_train_option_find(feature->option) : NULL;
    char value[200] = "";
    if (row && row->kind != HR_OPTION_FLAG)
        hr_option_text(row, run->options, value, sizeof value);
    if (!feature->option || !strcmp(feature->option, "inject") || !strcmp(value, "auto"))
        snprintf(text + used, size - used, "%s%s", feature->option ? before : " ", feature->name);
    else
        snprintf(text + used, size - used, "%s--%s%s%s", before, feature->option,
                 value[0] ? " " : "", hr_printable(value).text);
}

static enum hr_status refuse(const struct hr_feature_pair *pair, const struct hr_pair_run *run)
{
    char one[300] = "", other[700] = "";
    const struct hr_feature *a = &hr_features[pair->a], *b = &hr_features[pair->b];
    if (!a->option) { /* "--pipeline 2: not in a forecast" */
        a = b;
        b = &hr_features[pair->a];
    }
    add(one, sizeof one, "", a, run);
    add(other, sizeof other, " with ", b, run);
    for (size_t i = 0; i < 2 && pair->where[i]; i++)
        add(other, sizeof other, " and ", &hr_features[pair->where[i]], run);
    return hr_fail(HR_E_USAGE, "%s: not%s: %s; expected %s", one, other, pair->why, pair->instead);
}

enum hr_status hr_pairs_check(const struct hr_pair_run *run)
{
    for (size_t i = 0; i < hr_npairs; i++)
        if (!hr_pairs[i].given && hr_pair_holds(&hr_pairs[i], run))
            return refuse(&hr_pairs[i], run);
    return HR_OK;
}

enum hr_status hr_pairs_check_of(const struct hr_train_options *options, const struct hr_cli *cli)
{
    const struct hr_pair_run run = hr_pair_run_of(options, cli);
    return hr_pairs_check(&run);
}

enum hr_status hr_pairs_check_option(const char *option, const struct hr_pair_run *run)
{
    for (size_t i = 0; i < hr_npairs; i++)
        if (hr_pairs[i].given && !strcmp(hr_features[hr_pairs[i].a].option, option) &&
            hr_pair_holds(&hr_pairs[i], run))
            return refuse(&hr_pairs[i], run);
    return HR_OK;
}

uint64_t hr_digest_every(const struct hr_train_options *o)
{
    const struct hr_pair_run run = hr_pair_run_of(o, NULL);
    return o->digest_every && hr_pairs_check_option("digest-every", &run) == HR_OK ? o->digest_every
                                                                                   : 0;
}

/* --- the page --- */

enum { COLUMNS = 20 }; /* of 80 */

static bool is_in(const struct hr_feature_pair *pair, size_t feature)
{
    return pair->a == feature || pair->b == feature;
}

/* Few columns in which each pair has a place: each time the feature that most of the rest have. */
static size_t choose_columns(unsigned char columns[COLUMNS])
{
    bool placed[UCHAR_MAX] = {false};
    size_t n = 0;
    while (n < COLUMNS) {
        size_t best = 0, most = 0;
        for (size_t f = 1; f < hr_nfeatures; f++) {
            size_t count = 0;
            for (size_t i = 0; i < hr_npairs; i++)
                count += !placed[i] && is_in(&hr_pairs[i], f);
            if (count > most) {
                most = count;
                best = f;
            }
        }
        if (most < 2) /* the list below is enough */
            break;
        columns[n++] = (unsigned char)best;
        for (size_t i = 0; i < hr_npairs; i++)
            placed[i] |= is_in(&hr_pairs[i], best);
    }
    return n;
}

/* Of two features: X and O always, x and o in some runs; a dot: nothing is said of them. */
static char cell(size_t a, size_t b)
{
    char mark = '.';
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const bool always = !pair->where[0], work = pair->kind == HR_PAIR_WORK;
        if (is_in(pair, a) && is_in(pair, b) && (mark == '.' || always))
            mark = work ? (always ? 'O' : 'o') : (always ? 'X' : 'x');
    }
    return mark;
}

static void write_matrix(FILE *out)
{
    unsigned char columns[COLUMNS];
    const size_t n = choose_columns(columns);
    fprintf(out, "    %36s", "");
    for (size_t c = 0; c < n; c++)
        fprintf(out, " %c", 'a' + (int)c);
    fputc('\n', out);
    for (size_t f = 1; f < hr_nfeatures; f++) {
        char row[2 * COLUMNS + 1] = "", letter = ' ';
        for (size_t c = 0; c < n; c++) {
            const bool own = columns[c] == f;
            letter = own ? (char)('a' + c) : letter;
            snprintf(row + 2 * c, 3, " %c", own ? ' ' : cell(f, columns[c]));
        }
        if (strpbrk(row, "XOxo"))
            fprintf(out, "    %c %-34s%s\n", letter, hr_features[f].name, row);
    }
}

static void write_reasons(FILE *out, enum hr_pair_kind kind)
{
    for (size_t i = 0; i < hr_npairs; i++) {
        const struct hr_feature_pair *pair = &hr_pairs[i];
        const unsigned char others[] = {pair->b, pair->where[0], pair->where[1], 0};
        if (pair->kind != kind)
            continue;
        fprintf(out, "%s ::", hr_features[pair->a].name);
        for (size_t k = 0; others[k]; k++)
            fprintf(out, "%s%s",
                    !hr_features[others[k]].option ? " "
                    : k                            ? " and "
                                                   : " with ",
                    hr_features[others[k]].name);
        fprintf(out, ": %s; %s\n", pair->why, pair->instead);
    }
}

static void write_belongings(FILE *out)
{
    const struct hr_option *row;
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++) {
        if (row->needs.option)
            fprintf(out, "--%s :: with --%s\n", row->name, row->needs.option);
        if (!row->with[0].option)
            continue;
        fprintf(out, "--%s ::", row->name);
        for (size_t k = 0; k < sizeof row->with / sizeof *row->with && row->with[k].option; k++)
            fprintf(out, "%s with --%s %s", k ? "," : "", row->with[k].option, row->with[k].values);
        fputc('\n', out);
    }
}

void hr_pairs_write(FILE *out)
{
    write_matrix(out);
    fputs("\n# What can mean nothing\n", out);
    write_reasons(out, HR_PAIR_SENSE);
    fputs("\n# What nobody has built\n", out);
    write_reasons(out, HR_PAIR_WORK);
    fputs("\n# What belongs to another option\n", out);
    write_belongings(out);
}
