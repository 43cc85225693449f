/* hogring.h - all of hogring's public headers. Link with what `pkg-config --libs hogring` says. */
#ifndef HOGRING_HOGRING_H
#define HOGRING_HOGRING_H

#include "hogring/status.h"      /* what calls return, and the sentence that goes with an error */
#include "hogring/group.h"       /* ranks, groups, collectives and messages */
#include "hogring/store.h"       /* parameter servers: keys that are pushed to and pulled from */
#include "hogring/data.h"        /* data sets: opened by name, gathered by index */
#include "hogring/model.h"       /* networks as functions, for loops of the caller's own */
#include "hogring/accounts.h"    /* what a run counts, of its time and asynchrony */
#include "hogring/update_rule.h" /* an update rule of the caller's own, for these: */
#include "hogring/observer.h"    /* who looks on while they go on */
#include "hogring/train.h"       /* data-parallel training runs */
#include "hogring/evaluate.h"    /* what a saved model makes of the test split */
#include "hogring/predict.h"     /* what it says of new samples, which need no labels */
#include "hogring/sparse.h"      /* linear models and factorisation of sparse data, by Hogwild */
#include "hogring/replay.h"      /* recorded runs once more, to the same bits */
#include "hogring/checkpoint.h"  /* checkpoints and safetensors files, checked on the way in */

#endif
