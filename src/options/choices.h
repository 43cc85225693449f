/* choices.h - options whose values are words, as enums: read once, where options come in, so that
 * nobody else compares text.
 *
 *     const struct hr_choices choice = hr_choices_of(&options);
 *     if (choice.clock == HR_CLOCK_VIRTUAL) ...
 *
 * A list here is the words of a row, in its order, and the tags. A word that is none of them is
 * refused by hr_train_options_check, and is the first here: before it, whoever replaces "auto"
 * looks for the word itself.
 *
 * Threads: pure. Test: tests/unit/options/test_choices.c
 */
#ifndef HR_OPTIONS_CHOICES_H
#define HR_OPTIONS_CHOICES_H

#include <stdbool.h>

#include "hogring/train.h"

#define HR_AGGREGATES(W)                                                                           \
    W(HR_AGGREGATE_AUTO, "auto") W(HR_AGGREGATE_NODE, "node") W(HR_AGGREGATE_NONE, "none")
#define HR_ASYNC_LRS(W) W(HR_ASYNC_LR_SAME, "same") W(HR_ASYNC_LR_DIVIDE, "divide")
#define HR_CLOCKS(W) W(HR_CLOCK_REAL, "real") W(HR_CLOCK_VIRTUAL, "virtual")
#define HR_LAUNCHES(W) W(HR_LAUNCH_AS_THREADS, "thread") W(HR_LAUNCH_AS_PROCESSES, "process")
#define HR_LOSSES(W)                                                                               \
    W(HR_LOSS_BY_TASK, "auto")                                                                     \
    W(HR_LOSS_OF_ENTROPY, "cross-entropy")                                                         \
    W(HR_LOSS_OF_BITS, "bce") W(HR_LOSS_OF_SQUARES, "mse") W(HR_LOSS_OF_HUBER, "huber")
#define HR_LOST_BATCHES(W) W(HR_LOST_BATCH_REISSUE, "reissue") W(HR_LOST_BATCH_COUNT, "count")
#define HR_ON_LOSSES(W)                                                                            \
    W(HR_ON_LOSS_STOP, "stop") W(HR_ON_LOSS_CONTINUE, "continue") W(HR_ON_LOSS_RESTART, "restart")
#define HR_OVERLAPS(W) W(HR_OVERLAP_ON, "on") W(HR_OVERLAP_OFF, "off")
#define HR_PLACEMENTS(W)                                                                           \
    W(HR_PLACEMENT_DEDICATED, "dedicated") W(HR_PLACEMENT_COLOCATED, "colocated")
#define HR_PRECISIONS(W) W(HR_CHOICE_FLOAT32, "float32") W(HR_CHOICE_BF16, "bf16")
#define HR_REDUCES(W) W(HR_REDUCE_SUM, "sum") W(HR_REDUCE_REPRO, "repro")
#define HR_SCALE_LRS(W)                                                                            \
    W(HR_SCALE_LR_LINEAR, "linear") W(HR_SCALE_LR_SQRT, "sqrt") W(HR_SCALE_LR_NONE, "none")
#define HR_SERVER_PLACEMENTS(W) W(HR_SERVERS_SPREAD, "spread") W(HR_SERVERS_FIRST, "first")
#define HR_SOLVERS(W) W(HR_SOLVER_AUTO, "auto") W(HR_SOLVER_SGD, "sgd") W(HR_SOLVER_DUAL, "dual")
#define HR_STALENESS_LRS(W) W(HR_STALENESS_LR_NONE, "none") W(HR_STALENESS_LR_INVERSE, "inverse")
#define HR_TARGET_SCALES(W) W(HR_TARGETS_STANDARD, "standard") W(HR_TARGETS_AS_THEY_ARE, "none")
#define HR_TASKS(W)                                                                                \
    W(HR_TASK_AUTO, "auto") W(HR_TASK_CLASSIFY, "classify") W(HR_TASK_REGRESS, "regress")
#define HR_TRANSPORTS(W)                                                                           \
    W(HR_TRANSPORT_AUTO, "auto")                                                                   \
    W(HR_TRANSPORT_ZERO_COPY, "zero-copy") W(HR_TRANSPORT_COPY, "copy")

#define HR_CHOICE_TAG(tag, word) tag,
#define HR_CHOICE_WORD(tag, word) "|" word

enum hr_aggregate_choice { HR_AGGREGATES(HR_CHOICE_TAG) };
enum hr_async_lr_choice { HR_ASYNC_LRS(HR_CHOICE_TAG) };
enum hr_clock_choice { HR_CLOCKS(HR_CHOICE_TAG) };
enum hr_launch_choice { HR_LAUNCHES(HR_CHOICE_TAG) };
enum hr_loss_choice { HR_LOSSES(HR_CHOICE_TAG) };
enum hr_lost_batch_choice { HR_LOST_BATCHES(HR_CHOICE_TAG) };
enum hr_on_loss_choice { HR_ON_LOSSES(HR_CHOICE_TAG) };
enum hr_overlap_choice { HR_OVERLAPS(HR_CHOICE_TAG) };
enum hr_placement_choice { HR_PLACEMENTS(HR_CHOICE_TAG) };
enum hr_precision_choice { HR_PRECISIONS(HR_CHOICE_TAG) };
enum hr_reduce_choice { HR_REDUCES(HR_CHOICE_TAG) };
enum hr_scale_lr_choice { HR_SCALE_LRS(HR_CHOICE_TAG) };
enum hr_server_placement_choice { HR_SERVER_PLACEMENTS(HR_CHOICE_TAG) };
enum hr_solver_choice { HR_SOLVERS(HR_CHOICE_TAG) };
enum hr_staleness_lr_choice { HR_STALENESS_LRS(HR_CHOICE_TAG) };
enum hr_target_scale_choice { HR_TARGET_SCALES(HR_CHOICE_TAG) };
enum hr_task_choice { HR_TASKS(HR_CHOICE_TAG) };
enum hr_transport_choice { HR_TRANSPORTS(HR_CHOICE_TAG) };

struct hr_choices {
    enum hr_aggregate_choice aggregate;
    enum hr_async_lr_choice async_lr;
    enum hr_clock_choice clock;
    enum hr_launch_choice launch;
    enum hr_loss_choice loss;
    enum hr_lost_batch_choice lost_batch;
    enum hr_on_loss_choice on_loss;
    enum hr_overlap_choice overlap;
    enum hr_placement_choice placement;
    enum hr_precision_choice precision;
    enum hr_reduce_choice reduce;
    enum hr_scale_lr_choice scale_lr;
    enum hr_server_placement_choice server_placement;
    enum hr_solver_choice solver;
    enum hr_staleness_lr_choice staleness_lr;
    enum hr_target_scale_choice target_scale;
    enum hr_task_choice task;
    enum hr_transport_choice transport;
    bool explored;       /* --clock explore:SEED */
    bool resumes_if_any; /* --resume auto */
};

/* The models of hogring/sparse.h. */
enum hr_sparse_model {
    HR_SPARSE_NONE = -1, /* it is a network */
    HR_SPARSE_LOGISTIC,
    HR_SPARSE_SVM,
    HR_SPARSE_LINEAR,
    HR_SPARSE_MF
};
enum hr_sparse_model hr_sparse_model_of(const char *model);

struct hr_choices hr_choices_of(const struct hr_train_options *options);

#endif
