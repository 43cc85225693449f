# The environment of every test, whoever runs it: `. tests/environment.bash` (run.sh and cli/support.bash do).
# Gone is what changes what hogring prints (CI, GITHUB_ACTIONS, NO_COLOR, CLICOLOR..., COLUMNS, LINES, locales), how it computes
# (HOGRING_CPUS, HOGRING_ISA, OMP_*, OPENBLAS_*, GOTO_*), and what it takes for a launcher's word (HOGRING_RUN, ranks of torchrun,
# mpirun and Slurm). A test that wants one of them sets it. Left as they are: where things lie (PATH, HOME, TMPDIR, FASHION_MNIST),
# what is tested and how long (HOGRING, HOGRING_LONG, HOGRING_SEED), and the sanitizers' own options.
unset CI GITHUB_ACTIONS NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES LANGUAGE ${!LC_@}
unset HOGRING_CPUS HOGRING_ISA HOGRING_RUN ${!OMP_@} ${!OPENBLAS_@} ${!GOTO_@}
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT MPI_LOCALRANKID MPI_LOCALNRANKS
unset ${!OMPI_@} ${!PMI_@} ${!PMIX_@} ${!SLURM_@} ${!TORCHELASTIC_@}
export LANG=C.UTF-8 TERM=xterm
