/* layers.h - the kinds of layers there are. A new one is a file with its struct hr_layer_type, and
 * its name here, in alphabetical order: messages list them. */
#ifndef HR_NN_LAYERS_H
#define HR_NN_LAYERS_H

#define HR_LAYERS(X)                                                                               \
    X(avgpool)                                                                                     \
    X(batchnorm)                                                                                   \
    X(conv)                                                                                        \
    X(dense)                                                                                       \
    X(dropout) X(flatten) X(gelu) X(globalavgpool) X(maxpool) X(relu) X(residual) X(sigmoid) X(tanh)

#endif
