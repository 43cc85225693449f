// Peer: a single-producer single-consumer queue in the design of rigtorp's SPSCQueue, beside
// hogring's ring: two indices on lines of their own, each with a copy of the other side's index
// next to it, one slot kept free to tell full from empty, indices that wrap by comparison.
//
// Two threads, each on a processor of its own; the contenders of a round run in random order. Ours
// sends 64-byte messages. The peer sends items of 8 bytes, which is what its users publish, and of
// 64. Ours is run once writing the first word of a message only, which is the same work as an
// 8-byte item, and once writing all eight; and both in runs of up to 32 messages.
//
//   spsc [ROUNDS [SLOTS]]     one JSON line a contender: Mops/s and round trip in ns, one per round
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "spsc_ours.h"

namespace {

struct Small {
  uint64_t word[1];
};
struct alignas(64) Line {
  uint64_t word[8];
};

constexpr size_t kLine = 64;

template <typename Item>
class Queue {
 public:
  explicit Queue(size_t slots)
      : slots_(slots + 1), storage_(slots_ + 2 * kPad), slot_(storage_.data() + kPad) {}

  bool try_push(const Item& item) {
    const size_t write = write_.load(std::memory_order_relaxed);
    const size_t next = write + 1 == slots_ ? 0 : write + 1;
    if (next == read_seen_) {
      read_seen_ = read_.load(std::memory_order_acquire);
      if (next == read_seen_) return false;
    }
    slot_[write] = item;
    write_.store(next, std::memory_order_release);
    return true;
  }

  Item* front() {
    const size_t read = read_.load(std::memory_order_relaxed);
    if (read == write_seen_) {
      write_seen_ = write_.load(std::memory_order_acquire);
      if (read == write_seen_) return nullptr;
    }
    return &slot_[read];
  }

  void pop() {
    const size_t read = read_.load(std::memory_order_relaxed);
    read_.store(read + 1 == slots_ ? 0 : read + 1, std::memory_order_release);
  }

 private:
  static constexpr size_t kPad = (kLine - 1) / sizeof(Item) + 1;  // nobody else's data on our lines
  const size_t slots_;
  std::vector<Item> storage_;
  Item* const slot_;
  alignas(kLine) std::atomic<size_t> write_{0};
  alignas(kLine) size_t read_seen_ = 0;
  alignas(kLine) std::atomic<size_t> read_{0};
  alignas(kLine) size_t write_seen_ = 0;
  char after_[kLine - sizeof(size_t)];
};

template <typename Item>
void put(Queue<Item>& queue, uint64_t value) {
  Item item;
  for (auto& word : item.word) word = value;
  while (!queue.try_push(item)) {
  }
}

template <typename Item>
uint64_t take(Queue<Item>& queue) {
  Item* item;
  while (!(item = queue.front())) {
  }
  uint64_t sum = 0;
  for (auto word : item->word) sum += word;
  queue.pop();
  return sum;
}

// --- two threads ---

double now_s() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void pin(int index) {
  cpu_set_t all, mine;
  int seen = 0;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &all) && seen++ == index) CPU_SET(cpu, &mine);
  if (CPU_COUNT(&mine)) pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
}

// Seconds from both threads' start to both threads' end.
double together(const std::function<void()>& here, const std::function<void()>& there) {
  std::atomic<int> ready{0};
  double began = 0, ended[2];
  const auto meet = [&ready] {
    ready.fetch_add(1);
    while (ready.load() < 2) {
    }
  };
  std::thread second([&] {
    pin(1);
    meet();
    there();
    ended[1] = now_s();
  });
  std::thread first([&] {
    pin(0);
    meet();
    began = now_s();
    here();
    ended[0] = now_s();
  });
  first.join();
  second.join();
  return std::max(ended[0], ended[1]) - began;
}

void expect_sum(uint64_t got, uint64_t n, uint64_t words) {
  if (got == n * (n - 1) / 2 * words) return;
  fprintf(stderr, "spsc: a queue lost or changed an item\n");
  exit(1);
}

constexpr uint64_t kItems = 5000000, kTrips = 200000;

template <typename Item>
double stream_theirs(size_t slots) {
  Queue<Item> queue(slots);
  uint64_t sum = 0;
  const double took = together(
      [&] { for (uint64_t i = 0; i < kItems; i++) put(queue, i); },
      [&] {
        uint64_t all = 0;
        for (uint64_t i = 0; i < kItems; i++) all += take(queue);
        sum = all;
      });
  expect_sum(sum, kItems, sizeof(Item) / 8);
  return 1e-6 * static_cast<double>(kItems) / took;
}

template <typename Item>
double trip_theirs(size_t slots) {
  Queue<Item> there(slots), back(slots);
  const double took = together(
      [&] { for (uint64_t i = 0; i < kTrips; i++) put(there, i), take(back); },
      [&] { for (uint64_t i = 0; i < kTrips; i++) take(there), put(back, i); });
  return 1e9 * took / static_cast<double>(kTrips);
}

double stream_ours(size_t slots, int words, bool runs) {
  void* ring = ours_create(slots);
  uint64_t sum = 0;
  const double took = together([&] { (runs ? ours_produce_runs : ours_produce)(ring, kItems, words); },
                               [&] { sum = (runs ? ours_consume_runs : ours_consume)(ring, kItems, words); });
  ours_destroy(ring);
  expect_sum(sum, kItems, static_cast<uint64_t>(words));
  return 1e-6 * static_cast<double>(kItems) / took;
}

double trip_ours(size_t slots, int words) {
  void *there = ours_create(slots), *back = ours_create(slots);
  const double took = together([&] { ours_ping(there, back, kTrips, words); },
                               [&] { ours_echo(there, back, kTrips, words); });
  ours_destroy(there);
  ours_destroy(back);
  return 1e9 * took / static_cast<double>(kTrips);
}

// --- the runs ---

struct Contender {
  std::string name;
  std::function<double()> stream, trip;
  std::vector<double> mops, trip_ns;
};

// A round trip has one message at a time, and so no runs.
std::vector<Contender> contenders(size_t slots) {
  return {
      {"ours, 1 word of 64 B", [=] { return stream_ours(slots, 1, false); }, [=] { return trip_ours(slots, 1); }, {}, {}},
      {"ours, all 64 B", [=] { return stream_ours(slots, 8, false); }, [=] { return trip_ours(slots, 8); }, {}, {}},
      {"ours, 1 word, in runs", [=] { return stream_ours(slots, 1, true); }, nullptr, {}, {}},
      {"ours, all 64 B, in runs", [=] { return stream_ours(slots, 8, true); }, nullptr, {}, {}},
      {"theirs, 8 B items", [=] { return stream_theirs<Small>(slots); }, [=] { return trip_theirs<Small>(slots); }, {}, {}},
      {"theirs, 64 B items", [=] { return stream_theirs<Line>(slots); }, [=] { return trip_theirs<Line>(slots); }, {}, {}},
  };
}

void print_list(const char* name, const std::vector<double>& values) {
  printf(", \"%s\": [", name);
  for (size_t i = 0; i < values.size(); i++) printf("%s%.3f", i ? ", " : "", values[i]);
  printf("]");
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 7;
  const size_t slots = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1024;
  auto all = contenders(slots);
  std::vector<Contender*> order;
  std::mt19937 random(static_cast<unsigned>(time(nullptr)));
  for (auto& one : all) {
    order.push_back(&one);
    one.stream();
    if (one.trip) one.trip();
  }
  for (int round = 0; round < rounds; round++) {
    std::shuffle(order.begin(), order.end(), random);
    for (auto* one : order) {
      one->mops.push_back(one->stream());
      if (one->trip) one->trip_ns.push_back(one->trip());
    }
  }
  for (const auto& one : all) {
    printf("{\"name\": \"%s\", \"slots\": %zu", one.name.c_str(), slots);
    print_list("mops", one.mops);
    print_list("trip_ns", one.trip_ns);
    printf("}\n");
  }
}
