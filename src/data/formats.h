/* formats.h - the data formats there are, in the order in which they are asked whether a file is
 * theirs. A new one is its reader, and its name here. */
#ifndef HR_DATA_FORMATS_H
#define HR_DATA_FORMATS_H

#define HR_FORMATS(X) X(packed) X(npy) X(cifar) X(idx) X(libsvm) X(csv)

#endif
