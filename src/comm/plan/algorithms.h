/* algorithms.h - the all-reduce algorithms there are, in the order in which they are listed and
 * numbered. A new one is a file allreduce_<name>.c, and its name here. */
#ifndef HR_PLAN_ALGORITHMS_H
#define HR_PLAN_ALGORITHMS_H

#define HR_ALLREDUCES(X)                                                                           \
    X(auto)                                                                                        \
    X(direct)                                                                                      \
    X(one_shot)                                                                                    \
    X(ring)                                                                                        \
    X(bidirectional_ring)                                                                          \
    X(tree) X(double_tree) X(halving_doubling) X(master_worker) X(hierarchical)

#endif
