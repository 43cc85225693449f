/* hogring data - look at data, pack it, verify what was packed. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "watch/watch.h"
#include "terminal/output.h"
#include "base/signals.h"
#include "data/tokens.h"
#include "formats/packed.h"
#include "formats/token_file.h"
#include "train/run.h"
#include "json/value.h"

static const char *features_name(enum hr_features features)
{
    static const char *const names[] = {"bytes", "floats", "sparse", "tokens"};
    return names[features];
}

/* Share of the features that are stored, of both splits; 1 unless sparse. */
static double density(const struct hr_dataset *d)
{
    if (d->features != HR_FEATURES_SPARSE)
        return 1;
    const double cells =
        (double)(d->train.count + d->test.count) * (double)hr_shape_elems(d->shape);
    return (double)(d->train.rows[d->train.count] + d->test.rows[d->test.count]) / cells;
}

/* --- of text --- */

/* What a text is made of, and what who knows no order of its tokens could tell. */
struct text_look {
    struct hr_vocabulary vocabulary; /* owned */
    size_t occur;                    /* tokens of those that there may be */
    double guess; /* nats per token of the test part, by how often each occurs in the training part,
                     once more than it does */
};

static enum hr_status look_at_text(const struct hr_dataset *d, struct text_look *look)
{
    *look = (struct text_look){.guess = 0};
    HR_TRY(hr_vocabulary_read(d->recipe, &look->vocabulary));
    size_t *n = calloc(look->vocabulary.count, sizeof *n);
    const size_t tested = d->test.count * d->tokens.context;
    if (!n) {
        hr_vocabulary_free(&look->vocabulary);
        return hr_fail(HR_E_NOMEM, "no memory to count %zu tokens", look->vocabulary.count);
    }
    for (size_t i = d->train.first; i < d->train.end; i++)
        n[hr_token(&d->tokens, i)]++;
    for (size_t k = 0; k < look->vocabulary.count; k++)
        look->occur += n[k] > 0;
    const double all = (double)(d->train.end - d->train.first + look->vocabulary.count);
    for (size_t i = 1; i <= tested; i++) /* those that a model has to predict */
        look->guess -= log((double)(n[hr_token(&d->tokens, d->test.first + i)] + 1) / all);
    look->guess /= (double)tested;
    free(n);
    return HR_OK;
}

/* Held out, and more than is measured on. */
static size_t unmeasured(const struct hr_dataset *d)
{
    const struct hr_split *splits[] = {&d->train, &d->validation, &d->test};
    size_t used = 0;
    for (size_t i = 0; i < 3; i++)
        used += splits[i]->end - splits[i]->first;
    return used < d->tokens.count ? d->tokens.count - used : 0;
}

/* How many samples it makes, and how it begins. */
static void print_part(const char *name, const struct hr_dataset *d, const struct hr_split *split,
                       const struct hr_vocabulary *vocabulary)
{
    enum { SHOWN = 36, ONE = 16 };
    char text[SHOWN + ONE];
    size_t bytes = 0;
    for (size_t i = split->first; i < split->end && bytes < SHOWN; i++)
        bytes += hr_vocabulary_decode(vocabulary, hr_token(&d->tokens, i), text + bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = text[i] == '\n' || text[i] == '\t' ? ' ' : text[i];
    if (split->count)
        printf("%-10s%zu tokens, %zu samples: %s\n", name, split->end - split->first, split->count,
               hr_shown(text, bytes).text);
}

static void print_vocabulary(const struct hr_dataset *d, const struct text_look *look)
{
    const struct hr_vocabulary *vocabulary = &look->vocabulary;
    char text[64];
    size_t bytes = 0;
    printf("tokens    %zu, each one of %zu %s", d->tokens.count, vocabulary->count,
           hr_vocabulary_name(vocabulary->kind));
    for (uint32_t i = 0; i < vocabulary->count && bytes + 16 < sizeof text; i++)
        bytes += hr_vocabulary_decode(vocabulary, i, text + bytes);
    if (vocabulary->kind == HR_VOCABULARY_CHARS)
        printf(": %s\n", hr_shown(text, bytes).text);
    else
        printf(", of which %zu occur\n", look->occur);
}

static enum hr_status print_text(const struct hr_dataset *d)
{
    struct text_look look;
    HR_TRY(look_at_text(d, &look));
    printf("%s: %s\n", d->name, d->format);
    print_vocabulary(d, &look);
    printf("sample    %zu tokens (--text context=N); at each the next one is predicted\n",
           d->tokens.context);
    print_part("train", d, &d->train, &look.vocabulary);
    print_part("validate", d, &d->validation, &look.vocabulary);
    print_part("test", d, &d->test, &look.vocabulary);
    if (unmeasured(d))
        printf("          %zu more tokens are held out and not used (--text eval-tokens=N)\n",
               unmeasured(d));
    printf(
        "guess     test loss %.4g nats per token, by how often each occurs in training: to beat\n",
        look.guess);
    printf("digest    %s\n", d->digest);
    hr_vocabulary_free(&look.vocabulary);
    return HR_OK;
}

/* Null: the data are no text. */
static json_t *text_json(const struct hr_dataset *d)
{
    struct text_look look;
    if (!d->tokens.context || look_at_text(d, &look) != HR_OK)
        return json_null();
    json_t *text = hr_json_object(
        "vocabulary", HR_JSON(hr_vocabulary_name(look.vocabulary.kind)), "occur",
        HR_JSON(look.occur), "context", HR_JSON(d->tokens.context), "tokens",
        HR_JSON(d->tokens.count), "train_tokens", HR_JSON(d->train.end - d->train.first),
        "test_tokens", HR_JSON(d->test.end - d->test.first), "unmeasured_tokens",
        HR_JSON(unmeasured(d)), "guess_loss", HR_JSON(look.guess), NULL);
    hr_vocabulary_free(&look.vocabulary);
    return text;
}

static void count_labels(const struct hr_split *split, size_t label, size_t *count)
{
    for (size_t i = 0; i < split->count; i++)
        *count += split->labels[i] == label;
}

static void print_classes(const struct hr_dataset *d)
{
    enum { SHOWN = 20 };
    printf("classes   %zu\n", d->classes);
    for (size_t c = 0; c < d->classes && c < SHOWN; c++) {
        size_t train = 0, test = 0;
        count_labels(&d->train, c, &train);
        count_labels(&d->test, c, &test);
        printf("%s  %5zu   %8zu train %8zu test", hr_yields(stdout, HR_ROW), c, train, test);
        printf(d->class_names ? "   %s\n" : "\n", d->class_names ? d->class_names[c] : "");
    }
    if (d->classes > SHOWN)
        printf("  ...\n");
}

/* What a regression's target is like in the training samples. */
struct target_look {
    double least, most, mean, deviation;
};

static struct target_look look_at_target(const struct hr_dataset *d, size_t k)
{
    struct target_look look = {.least = INFINITY, .most = -INFINITY};
    const double *values = d->targets.values + k;
    const double n = (double)d->train.count;
    for (size_t i = 0; i < d->train.count; i++) {
        const double value = values[d->train.labels[i] * d->targets.count];
        look.least = fmin(look.least, value);
        look.most = fmax(look.most, value);
    }
    for (size_t i = 0; i < d->train.count; i++)
        look.mean += (values[d->train.labels[i] * d->targets.count] - look.least) / n;
    look.mean += look.least;
    for (size_t i = 0; i < d->train.count; i++) {
        const double e = values[d->train.labels[i] * d->targets.count] - look.mean;
        look.deviation += e * e / n;
    }
    look.deviation = look.most > look.least ? sqrt(look.deviation) : 0;
    return look;
}

static void print_targets(const struct hr_dataset *d)
{
    printf("targets   %zu, in the training samples:\n", d->targets.count);
    for (size_t k = 0; k < d->targets.count; k++) {
        const struct target_look look = look_at_target(d, k);
        printf("%s  %5zu   min %.6g, mean %.6g, max %.6g, deviation %.6g%s%s\n",
               hr_yields(stdout, HR_ROW), k + 1, look.least, look.mean, look.most, look.deviation,
               d->targets.names ? "   " : "",
               d->targets.names ? hr_printable(d->targets.names[k]).text : "");
        if (!(look.most > look.least))
            printf("          it is the same in all of them: there is nothing to learn of it\n");
    }
}

static json_t *targets_json(const struct hr_dataset *d)
{
    json_t *array = json_array();
    for (size_t k = 0; k < d->targets.count; k++) {
        const struct target_look look = look_at_target(d, k);
        hr_json_append(
            &array, hr_json_object(
                        "name", hr_json_text_or_null(d->targets.names ? d->targets.names[k] : ""),
                        "min", HR_JSON(look.least), HR_OF(&look, mean), "max", HR_JSON(look.most),
                        HR_OF(&look, deviation), NULL));
    }
    return array;
}

static enum hr_status print_info(const struct hr_dataset *d)
{
    if (d->tokens.context)
        return print_text(d);
    hr_output_hold();
    printf("%s: %s\n", d->name, d->format);
    printf("shape     %zux%zux%zu = %zu features, %s", d->shape.channels, d->shape.height,
           d->shape.width, hr_shape_elems(d->shape), features_name(d->features));
    if (d->features == HR_FEATURES_BYTES)
        printf(" times %g", (double)d->scale);
    if (d->features == HR_FEATURES_SPARSE)
        printf(", %.4g %% stored", 100 * density(d));
    printf("\nsamples   %zu train, %zu test\n", d->train.count, d->test.count);
    if (d->label_column[0])
        printf("%s %s\n", d->targets.count ? "target   " : "label    ", d->label_column);
    if (d->targets.count)
        print_targets(d);
    else
        print_classes(d);
    printf("digest    %s\n", d->digest);
    return HR_OK;
}

static json_t *info_json(const struct hr_dataset *d)
{
    json_t *names = d->class_names ? json_array() : json_null();
    for (size_t i = 0; d->class_names && i < d->classes; i++)
        json_array_append_new(names, hr_json_text(d->class_names[i]));
    json_t *targets = d->targets.count ? targets_json(d) : json_null();
    const size_t shape[] = {d->shape.channels, d->shape.height, d->shape.width};
    return hr_json_object(HR_OF(d, name), HR_OF(d, format), "shape", hr_json_counts(shape, 3),
                          "features", HR_JSON(features_name(d->features)), "scale",
                          hr_json_number((double)d->scale), "density", HR_JSON(density(d)), "train",
                          HR_JSON(d->train.count), "test", HR_JSON(d->test.count),
                          HR_OF(d, classes), "class_names", names, "label_column",
                          hr_json_text_or_null(d->label_column), HR_OF(d, digest), "targets",
                          targets, "text", text_json(d), NULL);
}

/* What train says of them, and whether it refuses them; of sparse rows the model decides. */
static enum hr_status warn_of_labels(const struct hr_cli *cli, const struct hr_dataset *d)
{
    if (d->features == HR_FEATURES_SPARSE)
        return HR_OK;
    HR_TRY(hr_hints_print_classes(cli, d));
    const enum hr_status status = d->targets.count ? HR_OK : hr_task_check(&cli->train, d);
    if (status == HR_E_USAGE)
        hr_log(HR_LOG_WARNING, "%s; train refuses them as they are", hr_error_message());
    return status == HR_E_USAGE ? HR_OK : status;
}

enum hr_status hr_cli_data_info(const struct hr_cli *cli, const char *name)
{
    struct hr_dataset dataset;
    HR_TRY(hr_dataset_open_with(name, &cli->data_options, &dataset));
    hr_hints_print_notes(&dataset);
    hr_hints_print_rounding(&dataset);
    enum hr_status st = warn_of_labels(cli, &dataset);
    if (st == HR_OK && hr_cli_speaks(cli))
        st = print_info(&dataset);
    if (st == HR_OK && cli->json[0])
        st = hr_json_write(cli->json, info_json(&dataset));
    hr_dataset_close(&dataset);
    return st;
}

static enum hr_status pack(const struct hr_cli *cli, const char *name)
{
    struct hr_dataset dataset;
    if (!cli->out[0])
        return hr_fail(HR_E_USAGE, "data pack: where to? (hogring data pack --data X --out FILE)");
    HR_TRY(hr_file_check_regular(cli->out)); /* before much is read */
    HR_TRY(hr_dataset_open_with(name, &cli->data_options, &dataset));
    hr_hints_print_notes(&dataset);
    enum hr_status st = hr_packed_write(cli->out, &dataset);
    if (st == HR_OK && cli->json[0])
        st = hr_json_write(cli->json, info_json(&dataset));
    if (st == HR_OK && hr_cli_speaks(cli))
        printf("%s: %zu train and %zu test samples packed, digest %s%s\n", cli->out,
               dataset.train.count, dataset.test.count, dataset.digest,
               dataset.recipe ? "; it holds the numbers that were made of the columns, and a model "
                                "that is trained on it takes such numbers"
                              : "");
    hr_dataset_close(&dataset);
    return st;
}

static enum hr_status verify(const struct hr_cli *cli, const char *name)
{
    if (cli->npositional < 2 && !hr_cli_was_given(cli, "data"))
        return hr_fail(HR_E_USAGE, "data verify: which file? (hogring data verify FILE)");
    HR_TRY(hr_packed_verify(name));
    printf("%s: every digest verified\n", name);
    return HR_OK;
}

static enum hr_status make_tokens(const struct hr_cli *cli)
{
    struct hr_text_packed packed;
    const char *text = cli->positional[2];
    if (cli->npositional < 3)
        return hr_fail(HR_E_USAGE, "data make tokens: of which text? (hogring data make tokens "
                                   "FILE.txt --out FILE.npy)");
    if (!hr_path_ends_in(cli->out, ".npy"))
        return hr_fail(HR_E_USAGE, "--out %s: expected a name that ends in .npy", cli->out);
    HR_TRY(hr_file_check_regular(cli->out)); /* before much is read */
    HR_TRY(hr_text_pack(text, &cli->data_options, cli->out, &packed));
    printf("%s: %zu tokens, of %zu there may be; %s.json says what they stand for\n", cli->out,
           packed.tokens, packed.vocabulary, cli->out);
    return HR_OK;
}

static enum hr_status make_sparse(const struct hr_cli *cli)
{
    struct hr_sparse_shape shape = cli->shape, usual;
    hr_sparse_shape_defaults(&usual);
    shape.features =
        hr_cli_was_given(cli, "features") ? cli->data_options.feature_count : usual.features;
    shape.should_stop = hr_signals_seen;
    HR_TRY(hr_sparse_make(cli->out, &shape));
    printf("%s: %zu rows of %zu features, seed %llu\n", cli->out, shape.rows, shape.features,
           (unsigned long long)shape.seed);
    return HR_OK;
}

static enum hr_status make(const struct hr_cli *cli, const char *what)
{
    static const char *const of_text[] = {"text"};
    static const char *const of_sparse[] = {"rows", "features", "nonzeros",
                                            "skew", "noise",    "seed"};
    const bool tokens = cli->npositional > 1 && !strcmp(what, "tokens");
    const char *const *others = tokens ? of_sparse : of_text;
    const size_t n =
        tokens ? sizeof of_sparse / sizeof *of_sparse : sizeof of_text / sizeof *of_text;
    if (cli->npositional < 2 || (!tokens && strcmp(what, "sparse") != 0))
        return hr_fail(HR_E_USAGE, "data make: expected data make sparse --out FILE, or data make "
                                   "tokens FILE.txt --out FILE.npy");
    if (!cli->out[0])
        return hr_fail(HR_E_USAGE, "data make: where to? (hogring data make %s --out FILE)",
                       tokens ? "tokens FILE.txt" : "sparse");
    for (size_t i = 0; i < n; i++)
        if (hr_cli_was_given(cli, others[i]))
            return hr_fail(HR_E_USAGE, "--%s: is not supported for data make %s", others[i], what);
    return tokens ? make_tokens(cli) : make_sparse(cli);
}

static enum hr_status dispatch(const struct hr_cli *cli)
{
    static const struct {
        const char *name;
        enum hr_status (*run)(const struct hr_cli *cli, const char *name);
        enum hr_command_bit bit;
    } jobs[] = {{"pack", pack, HR_DATA_PACK},
                {"verify", verify, HR_DATA_VERIFY},
                {"info", hr_cli_data_info, HR_DATA_INFO},
                {"make", make, HR_DATA_MAKE}};
    const char *job = cli->npositional ? cli->positional[0] : "";
    const char *name = cli->npositional > 1 ? cli->positional[1] : cli->data;
    const size_t most = !strcmp(job, "make") && !strcmp(name, "tokens") ? 3 : 2;
    if (cli->npositional > most || (cli->npositional == 2 && hr_cli_was_given(cli, "data")))
        return hr_fail(HR_E_USAGE, "data %s: one data set at a time, found more", job);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        if (strcmp(job, jobs[i].name) != 0)
            continue;
        const struct hr_option *row = hr_cli_given_beyond(cli, jobs[i].bit);
        if (row)
            return hr_fail(HR_E_USAGE, "%s: is not supported for data %s", hr_option_name(row).text,
                           job);
        return jobs[i].run(cli, name);
    }
    return hr_fail(HR_E_USAGE, "data%s%s: expected data pack, data verify, data info or data make",
                   job[0] ? " " : "", job);
}

static int run(struct hr_cli *cli)
{
    const enum hr_status status = dispatch(cli);
    return status == HR_OK ? 0 : hr_cli_failed(status);
}

const struct hr_command hr_command_data = {
    .name = "data",
    .summary = "look at data, pack it into one file, verify or generate it",
    .bit = HR_DATA,
    .usage = "info|pack|verify|make [FILE] [OPTIONS]",
    .story =
        "info shows how a data set is understood: shape, samples, classes, digest; of a text its "
        "tokens, and\n"
        "where its parts begin. The format is told by the content. pack writes both splits into "
        "one file, from which training starts at once: the "
        "samples, their\n"
        "order and the digest are those of the source. verify compares every byte of a packed "
        "file with its\n"
        "digests. npy features are (n,F), (n,H,W) or (n,C,H,W) in C order, labels (n), or "
        "texts.\n\n"
        "make sparse writes libsvm rows that look like RCV1's: for --model logistic and svm. make "
        "tokens\n"
        "reads a large text once (hogring help text).\n",
    .examples = "  hogring data info --data iris.csv --label-column species\n"
                "  hogring data info pictures --resize 32x32\n"
                "  hogring data info kjv.txt --text vocabulary=chars\n"
                "  hogring data info /usr/share/dict/words --text lines\n"
                "  hogring data pack --data train.libsvm --out news.hrp\n"
                "  hogring data verify news.hrp\n"
                "  hogring data make sparse --out rcv1.libsvm --rows 100000\n"
                "  hogring data make tokens kjv.txt --out kjv.npy --text vocabulary=chars\n"
                "  hogring train --data news.hrp --model \"flatten, dense 20\"\n",
    .run = run,
};
