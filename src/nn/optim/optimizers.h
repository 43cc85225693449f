/* optimizers.h - the optimizers there are, as they are listed to people. A new one is a file
 * <name>.isa.c (rules.h), and its name here. */
#ifndef HR_OPTIM_OPTIMIZERS_H
#define HR_OPTIM_OPTIMIZERS_H

#define HR_OPTIMIZERS(X) X(sgd) X(adagrad) X(adam) X(adamw) X(lars) X(lamb)

#endif
