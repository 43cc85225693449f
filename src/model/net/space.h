/* space.h - inside of hogring/model.h's space: a workspace, and how far its batch has come.
 *
 * Threads: one at a time.
 */
#ifndef HR_NET_SPACE_H
#define HR_NET_SPACE_H

#include <stdbool.h>

#include "net/net.h"

struct hr_net_space {
    const struct hr_net *net;       /* borrowed */
    struct hr_workspace *workspace; /* in the memory behind this struct */
    float *targets;                 /* (max_batch, targets) behind that: of the last forward */
    size_t max_batch;
    size_t B;         /* of the last forward, */
    bool passed;      /* if there was one */
    bool labelled;    /* it had labels, or targets */
    bool may_go_back; /* it was training, and no backward has been since */
};

#endif
