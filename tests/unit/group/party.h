/* party.h - n ranks in a local group, and what they reduce. */
#ifndef HR_TESTS_GROUP_PARTY_H
#define HR_TESTS_GROUP_PARTY_H

#include <stdlib.h>

#include "base/philox.h"
#include "group/local_group.h"
#include "support/check.h"

/* Element i of a rank's input. */
static inline float real(size_t rank, size_t i)
{
    return hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, (uint32_t)rank).v[0]) -
           0.5f;
}

struct party {
    struct hr_group_options options;
    struct hr_local_group *local;
    struct hr_member *member; /* (n) */
    float **buffer;           /* (n)(floats) */
    size_t first;             /* flat index of what is reduced */
    uint64_t told;            /* the driver's: sums of which it was told */
    struct hr_local_group_sum last;
    bool unreleased;
};

static inline void party_open(struct party *party, const struct hr_group_options *options,
                              size_t floats)
{
    const size_t n = options->nranks;
    *party = (struct party){.options = *options,
                            .member = calloc(n, sizeof *party->member),
                            .buffer = calloc(n, sizeof *party->buffer)};
    assert_true(party->member && party->buffer);
    CHECK_OK(hr_local_group_create(options, &party->local));
    for (size_t r = 0; r < n; r++) {
        party->buffer[r] = calloc(floats + 1, sizeof(float));
        assert_non_null(party->buffer[r]);
        hr_member_init_local(&party->member[r], party->local, r);
    }
}

static inline void party_close(struct party *party)
{
    for (size_t r = 0; r < party->options.nranks; r++) {
        hr_member_fini(&party->member[r]);
        free(party->buffer[r]);
    }
    hr_local_group_destroy(party->local);
    free(party->member);
    free(party->buffer);
}

/* All ranks, beginning with `first`, reduce `count` floats from `at` on. */
static inline void reduce_all(struct party *party, size_t first, size_t at, size_t count)
{
    const size_t n = party->options.nranks;
    for (size_t k = 0; k < n; k++) {
        struct hr_member *member = &party->member[(first + k) % n];
        hr_member_all_reduce_start(member, party->buffer[(first + k) % n] + at, party->first,
                                   count);
        assert_int_equal(hr_member_test(member), k + 1 == n);
    }
    for (size_t r = 0; r < n; r++) {
        assert_true(hr_member_test(&party->member[r]));
        CHECK_OK(hr_member_finish(&party->member[r]));
    }
}

static inline void fill(float *buffer, size_t rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer[i] = real(rank, i);
}

#endif
