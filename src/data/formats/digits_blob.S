/* The digits data set, byte for byte as it lies in data/digits (paths are relative to the top of
 * the project, where make runs). Plain directives: gcc and clang, x86-64 and arm64. */

#ifdef __CET__ /* data alone breaks no promise about jumps, but the linker wants to hear it */
#include <cet.h>
#endif

        .macro  embed name, path
        .globl  hr_digits_\name
        .type   hr_digits_\name, %object
        .balign 16
hr_digits_\name:
        .incbin "\path"
        .size   hr_digits_\name, . - hr_digits_\name
        .globl  hr_digits_\name\()_end
        .type   hr_digits_\name\()_end, %object
hr_digits_\name\()_end:
        .byte   0
        .size   hr_digits_\name\()_end, 1
        .endm

        .section .rodata
        embed   train_images, "data/digits/train-images-idx3-ubyte.gz"
        embed   train_labels, "data/digits/train-labels-idx1-ubyte.gz"
        embed   test_images, "data/digits/t10k-images-idx3-ubyte.gz"
        embed   test_labels, "data/digits/t10k-labels-idx1-ubyte.gz"

        .section .note.GNU-stack, "", %progbits
