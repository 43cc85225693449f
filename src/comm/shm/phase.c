#include "shm/control.h"

const char *hr_phase_str(enum hr_phase phase)
{
    switch (phase) {
#define HR_PHASE_TEXT(name, text)                                                                  \
    case name:                                                                                     \
        return text;
        HR_PHASE_LIST(HR_PHASE_TEXT)
#undef HR_PHASE_TEXT
    }
    return "?";
}
