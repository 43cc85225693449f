/* accounts.h - what a run counts, of its time and asynchrony: parts of struct hr_run_result
 * (train.h). */
#ifndef HOGRING_ACCOUNTS_H
#define HOGRING_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_RESULT_STALENESS_BUCKETS = 4096 };

/* Staleness of one worker's updates, or of all updates for one tensor of the model. */
struct hr_staleness {
    char name[96]; /* the tensor's; of a worker "" */
    uint64_t updates, sum, max;
    size_t first, n; /* its histogram: the result's stale_counts [first, first + n); the last bucket
                        also counts all larger staleness */
};

/* The effect of asynchrony on the step. While a gradient is computed, 1 + mean staleness updates
 * are in flight, and together they move the weights: convergence bounds of delayed SGD limit lr
 * times their number (Lian et al., "Asynchronous parallel stochastic gradient for
 * nonconvex optimization", NIPS 2015). On average asynchrony acts like momentum: Mitliagkas et al.,
 * "Asynchrony begets momentum", arXiv 1605.09774, find 1 - 1 / N for N workers, whose mean
 * staleness is N - 1. That is a prediction, not a measurement. Momenta combine so that the sums of
 * their geometric series multiply. */
struct hr_asynchrony {
    double effective_lr;      /* lr (1 + mean staleness); with --async-lr same:inverse each update
                                 counts with its own lr */
    double explicit_momentum; /* of the optimizer: momentum, or beta1 */
    double implicit_momentum; /* predicted: 1 - 1 / (1 + mean staleness) */
    double total_momentum;    /* 1 - (1 - explicit) (1 - implicit) */
    bool lr_is_step;          /* the rule itself does not set the size of its steps */
};

/* How often rows of sparse data share features: the Hogwild! paper's measures. */
struct hr_conflicts {
    size_t omega;   /* features of the largest row; 0: not measured */
    double delta;   /* share of the rows that have the most frequent feature */
    double rho;     /* largest share of the rows that one row shares a feature with; sampled */
    double overlap; /* mean share of a row's features that another row has too; sampled */
    uint64_t lost, looked_at; /* of looked_at sampled writes, `lost` overwrote another */
};

/* How one worker spent its time: the four add up to the run's seconds. All are 0 where one process
 * runs all workers by the machine's clock (explore, replay). */
struct hr_worker_time {
    double load_s;        /* decoding samples, or waiting for them to be decoded ahead */
    double compute_s;     /* gradients, and updates that are made apart from communication */
    double communicate_s; /* moving data; data on its way over a link; hogwild: pushes and pulls */
    double wait_s;        /* for other workers, servers, a processor; stalls */
};

/* What one worker cost the others: their waiting, given to the last to come and to what it did
 * longer than the one who waited. The parts add up to cost_s. */
struct hr_waited_for {
    double cost_s;
    double load_s, compute_s;
    double stall_s;     /* --inject stall */
    double preempted_s; /* it computed without a processor */
    double communicate_s;
    double wait_s; /* it waited for servers, or a processor, longer than the others */
    size_t stage;  /* of a pipeline: its stage that worked longest, beside the same of the others */
};

/* Where a machine's workers push as one (--aggregate node): a step in its parts, seconds of a mean
 * worker. All of them add up to the run's seconds. */
struct hr_node_step {
    size_t workers; /* of a machine; 0: each pushes its own, and nothing is measured */
    double load_s, compute_s;
    double aggregate_s;  /* its gradient is there, until those of its machine are added */
    double push_s;       /* until the sum has been sent to all servers */
    double update_s;     /* until they have summed, updated, and sent weights back */
    double distribute_s; /* until the worker has them */
    double rest_s;       /* what is no step: cuts, stalls */
};

/* A machine of a run on several. */
struct hr_machine_report {
    char host[64];
    size_t first_worker, workers, servers; /* workers: so many from the first one on */
    size_t processors;                     /* that its process may use */
    char isa[16]; /* the level of instructions that it came with; all use the lowest */
    /* Added to its own clock it is the first machine's, which is that of all times: how it was
     * measured, and the most by which that is wrong. */
    double clock_offset_s, clock_error_s;
};

/* A tensor's digest at a step (digest_every). Of what each worker has of its own the part's name
 * begins with "worker.3."; "worker.3.loss" is of the samples that it has trained on in this epoch.
 */
struct hr_step_digest {
    uint64_t step, digest;
    char part[128];
};

#ifdef __cplusplus
}
#endif
#endif
