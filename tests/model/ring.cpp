/* ring.cpp - model of shm/ring.h: one producer, one consumer.
 *
 * The text of ring.h is the real one. A payload stands beside each slot, as a variable that Relacy
 * watches, and so does the bulk data that the messages speak of; it belongs to the producer again
 * when the ring is drained (ring_of_2) or the last ticket released (ring_of_1). Indices start just
 * below their maximum and wrap. Messages go one by one, or (runs_of_2) in runs of up to 2.
 * Bounds: 4 messages through 2 slots, and 3 through 1.
 */
#include "model.hpp"

#include "shm/ring.c"

template <size_t SLOTS, unsigned MESSAGES, bool TICKET, size_t RUN>
struct ring_suite : hr_suite<2> {
    struct hr_ring *ring;
    rl::var<unsigned> payload[SLOTS], bulk;

    void setup()
    {
        alignas(HR_LINE) static unsigned char memory[1024];
        memset(memory, 0, sizeof memory);
        ring = (struct hr_ring *)memory;
        hr_model_share(ring->tail, ring->head);
        hr_ring_init(ring, SLOTS, UINT64_MAX - 1);
    }

    size_t reserve(size_t k, struct hr_message **message)
    {
        if (RUN > 1)
            return hr_ring_try_reserve_run_spsc(ring, MESSAGES - k < RUN ? MESSAGES - k : RUN,
                                                message);
        *message = hr_ring_try_reserve_spsc(ring);
        return *message != NULL;
    }

    size_t peek(const struct hr_message **message)
    {
        if (RUN > 1)
            return hr_ring_peek_run_spsc(ring, RUN, message);
        *message = hr_ring_peek_spsc(ring);
        return *message != NULL;
    }

    void produce()
    {
        bulk($) = 7;
        for (size_t k = 0, run; k < MESSAGES; k += run) {
            struct hr_message *message;
            while (!(run = reserve(k, &message)))
                rl::yield(1, $);
            for (size_t i = 0; i < run; i++)
                payload[message - ring->slot + i]($) = k + i;
            RUN > 1 ? hr_ring_commit_run_spsc(ring, run) : hr_ring_commit_spsc(ring);
        }
        const uint64_t ticket = hr_ring_committed_spsc(ring);
        while (TICKET ? !hr_ring_released_spsc(ring, ticket) : !hr_ring_drained_spsc(ring))
            rl::yield(1, $);
        bulk($) = 8;
    }

    void consume()
    {
        for (size_t k = 0, run; k < MESSAGES; k += run) {
            const struct hr_message *message;
            while (!(run = peek(&message)))
                rl::yield(1, $);
            for (size_t i = 0; i < run; i++)
                HR_MODEL_CHECK(payload[message - ring->slot + i]($) == k + i);
            HR_MODEL_CHECK(bulk($) == 7);
            RUN > 1 ? hr_ring_release_run_spsc(ring, run) : hr_ring_release_spsc(ring);
        }
        HR_MODEL_CHECK(!hr_ring_peek_spsc(ring));
    }

    void thread(unsigned index)
    {
        index ? consume() : produce();
    }
};

typedef ring_suite<2, 4, false, 1> ring_of_2;
typedef ring_suite<1, 3, true, 1> ring_of_1;
typedef ring_suite<2, 4, false, 2> runs_of_2;

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(ring_of_2, 2, 3), HR_SUITE(ring_of_1, 3, 4),
                                       HR_SUITE(runs_of_2, 2, 3)};
    return hr_model_main("ring: one producer, one consumer", "shm/ring.h", entries, 3);
}
