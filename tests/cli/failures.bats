#!/usr/bin/env bats
# --inject: failures as inputs.
load support

@test "a failure that is not carried out yet is refused, and a wrong one is said in one line" {
  for what in kill:1@step=3 kill:1@time=1s kill:server:0@step=3 drop-push:p=0.1 nan:1@step=3 flip-bit:weights:1@step=3; do
    refused 2 "is not there yet" train "${quick[@]}" --workers 2 --strategy ps-sync --inject $what
    refused 2 "is not there yet" simulate "${quick[@]}" --workers 2 --strategy ps-sync --inject slow:1x2,$what
  done
  refused 2 "--inject kill:2@step=3: expected a worker from 0 to 1" train --workers 2 --inject kill:2@step=3
  refused 2 "kill:server:0@step=3: this strategy has no servers" train --workers 2 --strategy allreduce --inject kill:server:0@step=3
}
