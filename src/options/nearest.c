#include "options/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Levenshtein's distance, for names up to 63 letters. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], m = strlen(b);
    if (m > 63)
        return 64;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t insert_or_drop = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < insert_or_drop ? change : insert_or_drop;
        }
    }
    return row[m];
}

const char *hr_nearest(const char *text, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t least = (strlen(text) + 2) / 3 + 1;
    for (size_t i = 0; i < n; i++) {
        const size_t changes = distance(text, names[i]);
        if (changes < least) {
            least = changes;
            nearest = names[i];
        }
    }
    return nearest;
}

/* --- what others call it --- */

/* Names that other programs give to what is an option here, and what people ask for that is not
 * here: no aliases; who types one is told the right name (command_line.c), and help finds it. */
/* An option, and its names elsewhere, a blank before and behind each. */
static const char *const here[][2] = {
    {"lr", " learning-rate learning step-size eta alpha "},
    {"batch-size", " bs batch minibatch minibatch-size "},
    {"epochs", " num-epochs "},
    {"max-steps", " iterations steps "},
    {"max-seconds", " time-limit hour hours minutes "},
    {"label-column", " label labels class-column target-column "},
    {"data", " dataset train input-file "},
    {"test", " test-size "},
    {"validation", " val val-split validation-split "},
    {"folds", " cross-validation cv kfold k-fold n-splits "},
    {"model", " arch network layers "},
    {"workers", " num-workers nproc np ngpus world-size "},
    {"threads-per-worker", " threads num-threads "},
    {"strategy", " algo method mode async sync "},
    {"sync-every", " local-steps "},
    {"optimizer", " opt "},
    {"weight-decay", " wd l2 decay "},
    {"clip-norm", " gradient-clipping clip grad-clip max-norm "},
    {"lr-schedule", " scheduler lr-scheduler cosine "},
    {"warmup-epochs", " warmup warmup-steps "},
    {"accumulate", " gradient-accumulation gradient-accumulation-steps "},
    {"seed", " random-seed random-state "},
    {"reduce", " deterministic "},
    {"early-stop", " patience early-stopping early "},
    {"checkpoint-dir", " save save-dir checkpoint "},
    {"checkpoint-every", " save-every "},
    {"keep", " save-best best "},
    {"resume", " load restore continue "},
    {"init-weights", " pretrained weights fine-tune pytorch "},
    {"json", " output "},
    {"tensorboard", " logdir log-dir "},
    {"export", " onnx "},
    {"quiet", " silent "},
    {"details", " verbose debug "},
    {"precision", " bf16 fp16 amp dtype mixed-precision "},
    {"link", " bandwidth network-latency "},
    {"inject", " straggler slow "},
    {"timeline", " profile "},
    {"record", " trace "},
    {"max-memory", " memory ram memory-limit "},
    {"normalize", " standardize scaling "},
    {"class-weights", " class-weight imbalanced unbalanced "},
    {"task", " regression "},
};

static const char no_gpu[] =
    "there is no code for GPUs: workers are threads or processes, which stand "
    "in for them (hogring help platforms)";

static const char *const absent[][2] = {
    {" device gpu gpus cuda ", no_gpu},
    {" transformer transformers bert ", "the transformers here are gpt-nano, gpt-micro, and layers "
                                        "such as \"attention 4\" (hogring help "
                                        "models)"},
    {" dropout ", "dropout is a layer of --model: \"dense 64, relu, dropout 0.5, dense 10\" "
                  "(hogring help models)"},
    {" lstm gru rnn ", "there are no recurrent layers (hogring help models)"},
};

static bool has(const char *names, const char *name)
{
    char padded[64];
    const int length = snprintf(padded, sizeof padded, " %s ", name);
    return length < (int)sizeof padded && strstr(names, padded);
}

const char *hr_name_here(const char *name)
{
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (has(here[i][1], name))
            return here[i][0];
    return NULL;
}

const char *hr_why_not_here(const char *name)
{
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (has(absent[i][0], name))
            return absent[i][1];
    return NULL;
}

/* --- what earlier versions had --- */

/* Options of earlier versions, the value that is done anyway (NULL: whatever it is), and what takes
 * their place. */
static const char *const gone[][3] = {
    {"all", NULL, "hogring help COMMAND --all has all options"},
    {"confirm-seeds", NULL, "--search is confirmed on confirm=SEEDS"},
    {"finalists", "3", "--search confirms the best three"},
    {"max-data", NULL, "--max-memory bounds pictures, too"},
    {"record-block", NULL, "hogwild is recorded in blocks of 16K"},
    {"server-replicas", "1",
     "a server that is lost is started again, and all go back to the last cut: "
     "--on-loss continue or restart (hogring help failures)"},
};

static const char *const *gone_of(const char *name)
{
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (!strcmp(name, gone[i][0]))
            return gone[i];
    return NULL;
}

const char *hr_instead_of_gone(const char *name)
{
    const char *const *row = gone_of(name);
    return row ? row[2] : NULL;
}

bool hr_gone_says_nothing(const char *name, const char *value)
{
    const char *const *row = gone_of(name);
    return row && (!row[1] || !strcmp(value, row[1]));
}
