// Peer: gloo's all-reduce through its C++ API, TCP over loopback, in the loop of loop.h.
//
// Ranks are processes, forked before gloo starts a thread; they find one another through a file
// store. The barrier before each call, and the collection of the times, go through shared memory:
// gloo has nothing faster, and the skew with which ranks leave a TCP barrier would count against it.
//
//   new, new-ring, new-bcube                     gloo::allreduce (options object)
//   ring, ring_chunked, halving_doubling, bcube  the older classes; with --wait sync or busy their
//                                                sockets are read by the caller instead of the
//                                                event loop's thread
//
//   g++ -O3 gloo_allreduce.cc -lgloo -pthread -o gloo_allreduce
//   ./gloo_allreduce --ranks 2 --algorithm ring --sizes 4,1048576
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "loop.h"

namespace {

constexpr int kMostRanks = 64;

struct Shared {
  std::atomic<int> arrived;
  std::atomic<int> round;
  std::atomic<int> sleeping;
  double values[kMostRanks][MOST_ITERATIONS + 1];
};

Shared* shared;
int my_rank, nranks = 2;
bool pinned, roomy;
std::string algorithm = "new", waiting = "async", store_path;
std::shared_ptr<gloo::rendezvous::Context> context;
std::unique_ptr<gloo::Algorithm> older;
std::unique_ptr<gloo::AllreduceOptions> newer;

// Spins only where every rank has a processor, and not for long: the threads of gloo's event loops
// need processors too.
void barrier() {
  static_assert(sizeof(std::atomic<int>) == sizeof(int), "a futex is a plain word");
  const int round = shared->round.load(std::memory_order_acquire);
  if (shared->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == nranks) {
    shared->arrived.store(0, std::memory_order_relaxed);
    shared->round.store(round + 1, std::memory_order_seq_cst);
    if (shared->sleeping.load(std::memory_order_seq_cst) > 0)
      syscall(SYS_futex, &shared->round, FUTEX_WAKE, nranks, nullptr, nullptr, 0);
    return;
  }
  const double until = roomy ? now_s() + 50e-6 : 0;
  while (roomy && now_s() < until)
    if (shared->round.load(std::memory_order_acquire) != round) return;
  shared->sleeping.fetch_add(1, std::memory_order_seq_cst);
  while (shared->round.load(std::memory_order_seq_cst) == round)
    syscall(SYS_futex, &shared->round, FUTEX_WAIT, round, nullptr, nullptr, 0);
  shared->sleeping.fetch_sub(1, std::memory_order_seq_cst);
}

void prepare(float* buffer, size_t count) {
  const std::vector<float*> buffers{buffer};
  const int n = static_cast<int>(count);
  older.reset();
  newer.reset();
  if (algorithm == "ring") {
    older.reset(new gloo::AllreduceRing<float>(context, buffers, n));
  } else if (algorithm == "ring_chunked") {
    older.reset(new gloo::AllreduceRingChunked<float>(context, buffers, n));
  } else if (algorithm == "halving_doubling") {
    older.reset(new gloo::AllreduceHalvingDoubling<float>(context, buffers, n));
  } else if (algorithm == "bcube") {
    older.reset(new gloo::AllreduceBcube<float>(context, buffers, n));
  } else {
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    void (*sum)(void*, const void*, const void*, size_t) = &gloo::sum<float>;
    newer.reset(new gloo::AllreduceOptions(context));
    newer->setAlgorithm(algorithm == "new-ring"    ? Algorithm::RING
                        : algorithm == "new-bcube" ? Algorithm::BCUBE
                                                   : Algorithm::UNSPECIFIED);
    newer->setOutput(buffer, count);
    newer->setReduceFunction(sum);
  }
  barrier();
}

void all_reduce(float*, size_t) {
  if (older)
    older->run();
  else
    gloo::allreduce(*newer);
}

void maximum(double* values, int n) {
  memcpy(shared->values[my_rank], values, sizeof *values * static_cast<size_t>(n));
  barrier();
  for (int r = 0; r < nranks && my_rank == 0; r++)
    for (int i = 0; i < n; i++)
      if (shared->values[r][i] > values[i]) values[i] = shared->values[r][i];
  barrier();
}

double from_first(double value) {
  if (my_rank == 0) shared->values[0][0] = value;
  barrier();
  const double told = shared->values[0][0];
  barrier();
  return told;
}

void place() {
  cpu_set_t all, mine;
  int seen = 0;
  CPU_ZERO(&mine);
  roomy = sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) >= nranks;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (roomy && CPU_ISSET(cpu, &all) && seen++ == my_rank) CPU_SET(cpu, &mine);
  if (roomy && pinned) sched_setaffinity(0, sizeof mine, &mine);
}

void connect() {
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store(store_path);
  context = std::make_shared<gloo::rendezvous::Context>(my_rank, nranks);
  context->connectFullMesh(store, device);
  for (int r = 0; r < nranks && waiting != "async"; r++)
    if (r != my_rank) context->getPair(r)->setSync(true, waiting == "busy");
}

// The process ends without destructors: a rank that closes its sockets early would be an error to
// the others.
void run_rank(const options& options) {
  const peer peer = {my_rank, nranks, barrier, prepare, all_reduce, maximum, from_first};
  place();
  try {
    connect();
    barrier();
    measure_sizes(&peer, &options);
  } catch (const std::exception& failure) {
    fprintf(stderr, "rank %d: %s\n", my_rank, failure.what());
    _exit(1);
  }
  barrier();
  _exit(0);
}

int take_option(const char* name, const char* value) {
  if (!strcmp(name, "--ranks"))
    nranks = atoi(value);
  else if (!strcmp(name, "--algorithm"))
    algorithm = value;
  else if (!strcmp(name, "--wait"))
    waiting = value;
  else if (!strcmp(name, "--pin"))
    pinned = !strcmp(value, "yes");
  else
    return 0;
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  options options;
  char folder[] = "/tmp/hogring-gloo-XXXXXX";
  pid_t child[kMostRanks];
  int failed = 0;
  parse_options(argc, argv, &options, take_option);
  void* map = mmap(nullptr, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED || nranks < 2 || nranks > kMostRanks || !mkdtemp(folder)) return 2;
  shared = new (map) Shared();
  store_path = folder;
  for (int r = 0; r < nranks; r++) {
    child[r] = fork();
    if (child[r] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      my_rank = r;
      run_rank(options);
    }
  }
  for (int ended = 0, status; ended < nranks; ended++) {
    if (wait(&status) > 0 && status == 0) continue;
    if (!failed++)  // the others would wait for the lost one
      for (int r = 0; r < nranks; r++) kill(child[r], SIGKILL);
  }
  return system((std::string("rm -rf ") + folder).c_str()) != 0 || failed;
}
