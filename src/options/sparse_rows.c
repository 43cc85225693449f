/* The options of sparse models: a row each. */
#include "options/train_options.h"
#include "options/train_row.h"

const struct hr_option hr_sparse_rows[HR_SPARSE_ROWS] = {
    ROW("solver", TEXT, solver, SPARSE, "NAME", "auto",
        "sgd, or dual: coordinate descent, which needs no rate (logistic, svm, linear)",
        .said = "dual; mf: sgd", CHOICE(solver, HR_SOLVERS), .models = HR_OF_SPARSE_MODELS,
        .commands = BOTH | HR_FORECAST),
    ROW("cost", NUMBER, cost, SPARSE, "C", "1",
        "of the losses; minimised is C sum loss + |w|^2 / 2", SPARSE_RANGE(1e-9, 1e9),
        .models = HR_OF_SPARSE_MODELS, .commands = BOTH | HR_FORECAST),
    ROW("factors", COUNT, factors, SPARSE, "K", "16",
        "mf: numbers that describe a user, or an item; even", SPARSE_RANGE(2, 4096),
        .models = HR_OF_SPARSE_MODELS, .with = {{"model", "mf"}}, .commands = BOTH | HR_FORECAST),
    ROW("hot-copies", COUNT, hot_copies, SPARSE, "N", "256",
        "sgd (logistic, svm, linear; hogwild): weights of the N most frequent features of which "
        "each of "
        "several workers keeps a copy, merged every 64 rows; 0: none, as in the paper",
        SPARSE_RANGE(0, 1024), .models = HR_OF_SPARSE_MODELS,
        .with = {{"model", "logistic|svm|linear"}, {"solver", "sgd"}, {"strategy", "hogwild"}}),
};
