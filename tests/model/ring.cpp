/* ring.cpp - model of shm/ring.h: one producer, one consumer.
 *
 * The text of ring.h is the real one. A payload stands beside each slot, as a variable that Relacy
 * watches, and so does the bulk data that the messages speak of; it belongs to the producer again
 * when the ring is drained (ring_of_2) or the last ticket released (ring_of_1). Indices start just
 * below their maximum and wrap.
 * Bounds: 4 messages through 2 slots, and 3 through 1.
 */
#include "model.hpp"

#include "shm/ring.c"

template <size_t SLOTS, unsigned MESSAGES, bool TICKET>
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

    void produce()
    {
        bulk($) = 7;
        for (unsigned k = 0; k < MESSAGES; k++) {
            struct hr_message *message;
            while (!(message = hr_ring_try_reserve_spsc(ring)))
                rl::yield(1, $);
            payload[message - ring->slot]($) = k;
            hr_ring_commit_spsc(ring);
        }
        const uint64_t ticket = hr_ring_committed_spsc(ring);
        while (TICKET ? !hr_ring_released_spsc(ring, ticket) : !hr_ring_drained_spsc(ring))
            rl::yield(1, $);
        bulk($) = 8;
    }

    void consume()
    {
        for (unsigned k = 0; k < MESSAGES; k++) {
            const struct hr_message *message;
            while (!(message = hr_ring_peek_spsc(ring)))
                rl::yield(1, $);
            HR_MODEL_CHECK(payload[message - ring->slot]($) == k);
            HR_MODEL_CHECK(bulk($) == 7);
            hr_ring_release_spsc(ring);
        }
        HR_MODEL_CHECK(!hr_ring_peek_spsc(ring));
    }

    void thread(unsigned index)
    {
        index ? consume() : produce();
    }
};

typedef ring_suite<2, 4, false> ring_of_2;
typedef ring_suite<1, 3, true> ring_of_1;

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(ring_of_2, 2, 3), HR_SUITE(ring_of_1, 3, 4)};
    return hr_model_main("ring: one producer, one consumer", "shm/ring.h", entries, 2);
}
