#include "base/philox.h"

struct hr_philox hr_philox4x32(struct hr_philox c, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c.v[0];
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * c.v[2];
        c = (struct hr_philox){{(uint32_t)(p1 >> 32) ^ c.v[1] ^ k0, (uint32_t)p1,
                                (uint32_t)(p0 >> 32) ^ c.v[3] ^ k1, (uint32_t)p0}};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

struct hr_philox hr_random_block(uint64_t seed, enum hr_random_stream stream, uint64_t index,
                                 uint32_t sequence)
{
    const struct hr_philox counter = {
        {(uint32_t)index, (uint32_t)(index >> 32), sequence, (uint32_t)stream}};
    return hr_philox4x32(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}
