/* The pages of the manual, in the order in which help lists them: each a string, the last empty
 * (paths are relative to the top of the project, where make runs). */

#ifdef __CET__ /* data alone breaks no promise about jumps, but the linker wants to hear it */
#include <cet.h>
#endif

        .macro  page name
        .incbin "src/cli/manual/\name\().txt"
        .byte   0
        .endm

        .section .rodata
        .globl  hr_manual_pages
        .type   hr_manual_pages, %object
hr_manual_pages:
        page    start
        page    data
        page    text
        page    validation
        page    models
        page    precision
        page    strategies
        page    optimizers
        page    combinations
        page    compare
        page    tune
        page    forecast
        page    split
        page    pipeline
        page    virtual-time
        page    collectives
        page    compress
        page    store
        page    sparse
        page    bench
        page    record
        page    checkpoints
        page    predict
        page    sample
        page    python
        page    failures
        page    inject
        page    machines
        page    platforms
        page    doctor
        page    top
        page    verify
        page    ci
        page    gate
        page    timeline
        page    json
        page    report
        page    log
        page    reproducibility
        .byte   0
        .size   hr_manual_pages, . - hr_manual_pages

        .section .note.GNU-stack, "", %progbits
