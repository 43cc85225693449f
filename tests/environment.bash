# The environment of every test, whoever runs it: `. tests/environment.bash` (run.sh and cli/support.bash do).
# Gone is what changes what hogring prints (CI, GITHUB_ACTIONS, NO_COLOR, CLICOLOR..., COLUMNS, LINES, locales), how it computes
# (HOGRING_CPUS, HOGRING_CACHES, HOGRING_ISA, OMP_*, OPENBLAS_*, GOTO_*), and what it takes for a launcher's word (HOGRING_RUN, HOGRING_PARENT, ranks of
# torchrun, mpirun and Slurm). A test that wants one of them sets it. Left as they are: where things lie (PATH, HOME, TMPDIR, FASHION_MNIST),
# what is tested and how long (HOGRING, HOGRING_LONG, HOGRING_SEED), and the sanitizers' own options.
unset CI GITHUB_ACTIONS NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES LANGUAGE ${!LC_@}
unset HOGRING_CPUS HOGRING_CACHES HOGRING_ISA HOGRING_RUN HOGRING_PARENT ${!OMP_@} ${!OPENBLAS_@} ${!GOTO_@}
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT MPI_LOCALRANKID MPI_LOCALNRANKS
unset ${!OMPI_@} ${!PMI_@} ${!PMIX_@} ${!SLURM_@} ${!TORCHELASTIC_@}
export LANG=C.UTF-8 TERM=xterm

# A version manager's python3 is a script that looks for the interpreter each time, for longer than that takes to start.
hr_python=$(type -P python3 || true)
if [ -n "$hr_python" ] && IFS= read -rn 2 hr_magic <"$hr_python" 2>/dev/null && [ "$hr_magic" = "#!" ]; then
  hr_python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || true)
  [ -z "$hr_python" ] || PATH=${hr_python%/*}:$PATH
fi
unset hr_python hr_magic
