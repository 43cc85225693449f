# What hogring help reproducibility says is enough to write hogring again: formulas.py is that.
load support

agrees() { python3 tests/cli/formulas.py "${HOGRING:-build/hogring}" "$1"; }

@test "initial weights are those of the page" { agrees initial_weights; }
@test "the order of samples, batches and updates is that of the page" { agrees sample_order; }
@test "a worker's share is that of the page" { agrees share_of_a_worker; }
@test "flips and crops are those of the page" { agrees augmentation; }
@test "dropped units are those of the page" { agrees dropout; }
@test "held-out samples are those of the page" { agrees held_out_samples; }
@test "the validation split is that of the page" { agrees validation_split; }
@test "batchnorm's running statistics are those of the page" { agrees running_statistics; }
@test "batchnorm's tensors are counted as on the page" { agrees weights_behind_batchnorm; }
@test "slow steps and stalls come as on the page" { agrees slow_steps; }
@test "virtual time passes as on the page" { agrees virtual_time; }
