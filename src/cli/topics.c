#include "cli/topics.h"

#include <string.h>

static const struct hr_topic topics[] = {
    {"json",
     "the fields of --json",
     {"--json FILE (or - for stdout) writes one object:\n"
      "\n"
      "  hogring      version\n"
      "  machine      cpu, processors, isa, memory_bytes, architecture, kernel, os\n"
      "  config       every option, by its name, as given (compare --resume: what is\n"
      "               not given, each entry takes from its own checkpoint)\n"
      "  runs         a list, one for each strategy and seed: below\n"
      "  failed       a list of runs that began and did not end well: label, strategy,\n"
      "               seed, message; they are not among `runs`\n"
      "  comparison   of several runs: means, deviations and tests, as printed\n"
      "\n"
      "When training begins, what an earlier run left in FILE is removed.\n"
      "\n"
      "Of each run. What has no meaning for it is null; fields are only ever added.\n"
      "\n"
      "  strategy, setting, algorithm, order\n"
      "                          what was trained (setting: what an entry of\n"
      "                          --strategies said), how sums were made, in which order\n"
      "  manner, optimizer, model\n"
      "                          the strategy's own options; rule; layers\n"
      "  launch, kernels         thread, process or events; what multiplied matrices\n"
      "  workers, servers, seed, params, threads_per_worker, micro_shards, repro_cost\n"
      "  batch_size, global_batch\n"
      "                          samples a worker and step, and of all workers\n"
      "  staleness_bound         of ssp, in clocks\n"
      "  lr                      of the last update\n"
      "  steps, updates, samples\n"
      "                          steps since the first run began; of this run\n"
      "  seconds                 of training: from the moment when the first worker\n"
      "                          may begin to the moment when the last has ended,\n"
      "                          without evaluations and what else is done at cuts\n"
      "  samples_per_s           samples / seconds\n"
      "  clock, wall_seconds     real or virtual: whose `seconds` are; the\n"
      "                          machine's own, from start to end\n"
      "  train_loss, test_loss, test_accuracy    of the last evaluation\n"
      "  target_seconds          when --target-accuracy was first reached\n"
      "  time                    of `seconds`, what the workers did with them, summed:\n"
      "    load                  decoded samples, or waited for them to be decoded\n"
      "    compute               gradients, and updates that are made apart from\n"
      "                          communication\n"
      "    communicate           moved data, or waited for data on its way over a link;\n"
      "                          hogwild's pulls and pushes\n"
      "    wait                  waited for another worker, a server, a processor, the\n"
      "                          end of a span; stalled\n"
      "    forward, backward     of compute; null where they are not told apart (sparse\n"
      "                          models, virtual time)\n"
      "    workers               the four again, of each worker\n"
      "                          The four add up to workers x seconds, always. They are\n"
      "                          null where one process plays all workers (explore,\n"
      "                          replay). Whoever loses its processor in the middle\n"
      "                          goes on doing what it did.\n",
      "  staleness               mean, p50, p99, max, histogram (how many updates had\n"
      "                          staleness 0, 1, ...; exact_below: the last holds all\n"
      "                          above), the same by worker and by tensor\n"
      "  asynchrony              effective_lr, explicit, implicit and total momentum\n"
      "  max_skew                most clocks between two workers\n"
      "  dropped                 gradients that came too late (backup-workers)\n"
      "  lost_updates            hogwild, by sample, with a 95 % interval\n"
      "  prefetch                batches that were decoded ahead (hits), and not\n"
      "  bytes                   sent and received by workers\n"
      "  curve                   a list: samples, seconds, epoch, train_loss,\n"
      "                          test_loss, test_accuracy at each evaluation\n"
      "  weights_digest          XXH3-128 of all parameters: equal when bit-equal\n"
      "  checkpoint, trace       the last one saved; what was recorded or replayed\n"
      "  recorded_digest, record_cost\n"
      "                          of a replay; of a recorded hogwild\n"
      "  interrupted             it was stopped before its end\n"
      "  resumed_step, total_samples, total_updates, total_seconds\n"
      "                          the checkpoint's step that it went on from; of the\n"
      "                          whole training, as curve, steps, target_seconds\n"
      "                          are: all else is of this run\n"
      "  divergence              first_loss: of gradients at the initial weights;\n"
      "                          first_epoch_loss: the mean of the first epoch; rose:\n"
      "                          training ended above one of them, by more than chance;\n"
      "                          cure: what to change first\n"
      "  conflicts               sparse models: how often rows meet\n"}},
};

enum { NTOPICS = sizeof topics / sizeof *topics };

const struct hr_topic *hr_topic_at(size_t i)
{
    return i < NTOPICS ? &topics[i] : NULL;
}

const struct hr_topic *hr_topic_find(const char *name)
{
    for (size_t i = 0; i < NTOPICS; i++)
        if (!strcmp(name, topics[i].name))
            return &topics[i];
    return NULL;
}
