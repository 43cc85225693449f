/* The same where nobody has written the switch out, or the processor guards return addresses. */
#define HR_FIBRE_UCONTEXT 1
#include "base/fibre.c"

#include "unit/base/test_fibre.c"
