#include "group/tune.h"

#include "group/notices.h"

size_t hr_tune_one_shot_bytes(size_t nranks)
{
    return nranks <= 2 ? 2048 : 1024;
}
