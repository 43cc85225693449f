/* compressors.h - the list of compressors, each in a file of its own. A new one is a file and a
 * line here. round.h: what several share.
 */
#ifndef HR_COMPRESS_COMPRESSORS_H
#define HR_COMPRESS_COMPRESSORS_H

#include "compress/compress.h"

#define HR_COMPRESSORS(ONE)                                                                        \
    ONE(bf16)                                                                                      \
    ONE(fp16)                                                                                      \
    ONE(int8)                                                                                      \
    ONE(topk)                                                                                      \
    ONE(powersgd)

#define HR_DECLARE_COMPRESSOR(name) extern const struct hr_compressor hr_compressor_##name;
HR_COMPRESSORS(HR_DECLARE_COMPRESSOR)

#endif
