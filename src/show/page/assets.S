/* The page's template, style and script as they stand in their files, each a string (paths are relative to
 * the top of the project, where make runs). */

#ifdef __CET__ /* data alone breaks no promise about jumps, but the linker wants to hear it */
#include <cet.h>
#endif

        .macro  asset name, file
        .globl  \name
        .type   \name, %object
\name:
        .incbin "src/show/page/\file"
        .byte   0
        .size   \name, . - \name
        .endm

        .section .rodata
        asset   hr_page_template, page.html
        asset   hr_page_style, style.css
        asset   hr_page_script, script.js

        .section .note.GNU-stack, "", %progbits
