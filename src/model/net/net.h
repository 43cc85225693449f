/* net.h - inside of hogring/model.h's network, and how its calls look at their arguments.
 *
 * Threads: a net is immutable; a space belongs to one thread at a time.
 */
#ifndef HR_NET_NET_H
#define HR_NET_NET_H

#include "base/error.h"
#include "hogring/model.h"
#include "nn/model.h"
#include "optim/optimizer.h"

struct hr_net {
    struct hr_model *model;            /* owned */
    struct hr_param_segment *segments; /* (tensors) owned: what an update does with each */
    struct hr_shape input;
    size_t features, classes;
    enum hr_loss_kind loss;
    double label_smoothing;
    size_t targets; /* values that it predicts; 0: classes */
    double huber_delta;
};

/* HR_E_USAGE unless floats is aligned, has `count` of them, and these are as many as `wanted`.
 *   what  "grads", for the message */
HR_CHECKED enum hr_status hr_net_check_floats(const char *what, const float *floats, size_t count,
                                              size_t wanted);
/* The same of an array of parameters or gradients. */
HR_CHECKED enum hr_status hr_net_check(const struct hr_net *net, const char *what,
                                       const float *floats, size_t count);

#endif
