# hogring: make help lists the targets.
VERSION := 0.1.0
COMMA   := ,
DATE    := 2026-11-22
CONFIG  ?= release
BLAS    ?= openblas
MPI     ?= auto
V       ?= 0
B       := build/$(CONFIG)
# The release build is what people run, so it stands where they look for it.
BIN     := $(if $(filter release,$(CONFIG)),build,$(B))

PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
AR      ?= ar
CFLAGS  ?= -g1
PKG     := pkg-config
LIBRARIES := zlib jansson libxxhash inih libpng libjpeg $(if $(filter openblas,$(BLAS)),openblas)
PKG_CFLAGS := $(shell $(PKG) --cflags $(LIBRARIES) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG) --libs $(filter-out openblas,$(LIBRARIES)) 2>/dev/null)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-pass-failed
# Warnings of compilers that nobody here has seen end no user's build; they end the checks.
WERROR  ?= $(if $(CI)$(filter check test lint units run-tests,$(MAKECMDGOALS)),-Werror)
SAN.asan := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
SAN.tsan := -fsanitize=thread
SAN.fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
# Against mistakes in what reads strangers' files; tests/cli/hardening.bats looks whether it is all
# there. FORTIFY needs an optimiser, and sanitizers look at the same calls, and better.
CET      = $(if $(findstring x86_64,$(ARCH)),-fcf-protection)
FORTIFY  = $(if $(SAN.$(CONFIG))$(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN   = -fstack-protector-strong $(FORTIFY) $(CET)
OPT     := $(if $(filter release unsafe arm64,$(CONFIG)),-O3,-O1)
HR_CFLAGS = -std=c11 -D_GNU_SOURCE $(OPT) -ffp-contract=off -fno-math-errno -fopenmp-simd -fPIC -pthread $(HARDEN) $(WARN) $(WERROR) -MMD -MP \
  -Iinclude -Isrc $(IQUOTE) -DHR_VERSION='"$(VERSION)"' -DHR_DATE='"$(DATE)"' $(if $(filter naive,$(BLAS)),-DHR_NO_BLAS) $(if $(filter unsafe,$(CONFIG)),-DHR_NO_SAFETY) \
  $(PKG_CFLAGS) $(SAN.$(CONFIG)) $(if $(SAN.$(CONFIG)),-DHR_DEBUG_CHECKS) $(CFLAGS)
HR_LDFLAGS = -pthread -Wl,-z,relro,-z,now $(SAN.$(CONFIG)) $(LDFLAGS)
# Unit tests are compiled in a third of the time, and linked in a small part of it, with no
# optimisation (those with naive twins of kernels: with little), without debug information, which sanitizers want, and by the quicker linker, where it is.
# What they test is optimised as ever.
UNIT_CFLAGS = $(if $(filter release arm64,$(CONFIG)),$(if $(filter kernels tiles products nn plan,$(notdir $(@D))),-O1,-O0 -U_FORTIFY_SOURCE) -g0)
UNIT_LDFLAGS := $(if $(filter release,$(CONFIG)),-Wl$(COMMA)--strip-debug $(if $(shell command -v ld.gold),-fuse-ld=gold))
# OpenBLAS is loaded when it is needed, src/math/products/blas.h.
HR_LIBS   = $(PKG_LIBS) -ldl -lm

ARCH    := $(shell $(CC) -dumpmachine 2>/dev/null)
ISAS    := plain $(if $(findstring x86_64,$(ARCH)),v3 v4) $(if $(findstring aarch64,$(ARCH)),neon)
MARCH.v3 := -march=x86-64-v3
MARCH.neon := -DHR_NEON -fno-schedule-insns
MARCH.v4 := -march=x86-64-v4 -mprefer-vector-width=512
MARCH.v4bf16 := $(MARCH.v4) -mavx512bf16
MARCH.v4amx := $(MARCH.v4bf16) -mamx-tile -mamx-bf16

# One command a library, beside the one without; off, one of these, or those whose compiler is on
# PATH (under a sanitizer the one that is named: make asan MPI=mpich). MPICC.openmpi5=PATH names one
# that is elsewhere.
LIBS.mpi := openmpi openmpi5 mpich
$(foreach m,$(LIBS.mpi),$(eval MPICC.$(m) ?= mpicc.$(m)))
MPIS    := $(if $(filter release,$(CONFIG))$(filter-out auto,$(MPI)),$(filter-out off,$(if $(filter auto,$(MPI)),$(foreach m,$(LIBS.mpi),$(if $(shell command -v $(MPICC.$(m))),$(m))),$(MPI))))
mpi     = $(filter -I% -L% -l% -Wl$(COMMA)%,$(shell $(MPICC.$(1)) -show))
$(foreach m,$(filter-out auto off $(LIBS.mpi),$(MPI)),$(error MPI=$(m): expected openmpi, openmpi5, mpich or off))
$(foreach m,$(filter-out auto off,$(MPI)),$(if $(shell command -v $(MPICC.$(m))),,$(error MPI=$(m): there is no $(MPICC.$(m)); its compiler is $(if $(filter openmpi5,$(m)),named by MPICC.openmpi5=PATH,in Debian's lib$(m)-dev))))

# A room of src/ is a folder, with folders in it; "shm/ring.h" names a folder, whatever room it is in.
ROOMS   := $(patsubst src/%/,%,$(wildcard src/*/))
IQUOTE  := $(ROOMS:%=-iquote src/%)
in_src   = $(wildcard src/*/$(1) src/*/*/$(1))
# The library, and what only the command has.
COMMAND := src/show/% src/experiment/% src/cli/%
SOURCES := $(filter-out %.isa.c %_mpi.c,$(call in_src,*.c)) $(call in_src,*.S)
KERNELS := $(call in_src,*.isa.c)
OBJECTS := $(patsubst %,$(B)/%.o,$(basename $(filter-out $(COMMAND),$(SOURCES)))) $(foreach isa,$(ISAS),$(KERNELS:%.c=$(B)/%.$(isa).o)) \
  $(if $(filter v4,$(ISAS)),$(patsubst %.c,$(B)/%.v4bf16.o,$(filter %bf16.isa.c,$(KERNELS))) $(patsubst %.c,$(B)/%.v4amx.o,$(filter %amx.isa.c,$(KERNELS))))
CLI     := $(patsubst %,$(B)/%.o,$(basename $(filter $(COMMAND),$(SOURCES))))
# An archive of the command's, too: tests take of it what they call.
SHOWING := $(B)/libcommand.a
TESTS   := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*/test_*.c tests/fuzz/test_*.c))
# Unit tests are one program a folder, of several names: it is the test by whose name it is called. Those that put calls of the
# C library in place of its own are programs by themselves.
ALONE   := $(filter $(addprefix %/,test_every_call test_power_cut test_protobuf test_all_orders test_fibre_ucontext test_footprint test_stuck test_corpus),$(TESTS))
SHARED  := $(filter-out $(ALONE),$(TESTS))
FUZZERS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
MODELS  := $(patsubst %.cpp,$(B)/%,$(filter-out %/model.cpp,$(wildcard tests/model/*.cpp)))
# What tests/coverage.sh asks about is tested by these.
COVERING := unit/base/% unit/shm/% unit/checkpoint/% unit/data/% unit/formats/% unit/netsim/% unit/options/% unit/nn/% unit/trace/% unit/session/% fuzz/% \
  unit/train/test_every_call unit/train/test_replay unit/train/test_replay_attacks unit/train/test_replay_losses unit/train/test_save_requests
SUPPORT := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))
Q       := $(if $(filter 1,$(V)),,@)
# "[12/702] CC ...": how many of how many there are, in a build from nothing; else how many so far. On a
# terminal one line that is drawn again, elsewhere a line for every fiftieth. V=1 shows commands instead.
GOALS    = $(or $(MAKECMDGOALS),all)
ALL_OF   = $(OBJECTS) $(BIN)/libhogring.a $(if $(filter all install check run-tests,$(GOALS)),$(CLI) $(BIN)/hogring $(MPIS) $(foreach m,$(MPIS),$(call in_src,*_mpi.c))) \
  $(if $(filter units check run-tests,$(GOALS)),$(TESTS:=.o) $(SUPPORT) $(B)/tests/libsupport.a $(SHOWING) $(sort $(dir $(SHARED))) $(ALONE) $(MPIS) $(MPIS))
TOTAL   := $(if $(wildcard $(B)/src/base/error.o),,/$(words $(ALL_OF)))
AGAIN   := $(if $(MAKE_TERMOUT),$(shell printf '\033[K'))
say      = $(if $(filter 1,$(V)),,@$(eval DONE += x)$(if $(AGAIN)$(filter %00 %50,$(words $(DONE))),printf '$(AGAIN)[%s] %-4s %s$(if $(AGAIN),\r,\n)' $(words $(DONE))$(TOTAL) $(1) $@;))

.DEFAULT_GOAL := all
SONAME  := libhogring.so.0
HEADERS := $(wildcard include/hogring/*.h)

.PHONY: all experiments soak oracle safety-cost help install uninstall deps demo deb check test long peers peers-venv asan tsan lint format clean list units show-demo run-tests \
  model run-model fuzz run-fuzz arm64 coverage run-coverage
.SECONDARY:

# Debian's names; on other systems `make deps` only says what is missing.
PACKAGES := gcc libc6-dev pkgconf libopenblas-dev libjansson-dev libxxhash-dev libinih-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev gnuplot-nox \
  dataset-fashion-mnist wamerican $(if $(filter test asan tsan long,$(MAKECMDGOALS)),libcmocka-dev bats python3 procps) \
  $(if $(filter asan tsan,$(MAKECMDGOALS)),clang libclang-rt-14-dev) $(if $(filter model,$(MAKECMDGOALS)),relacy-dev g++)

all: $(BIN)/hogring $(BIN)/libhogring.a $(MPIS:%=$(BIN)/hogring-%)  ## build the command and the library
	@printf "$(AGAIN)"

$(BIN)/hogring: $(CLI) $(BIN)/libhogring.a
	$(call say,LINK) $(CC) -pie $(HR_LDFLAGS) -o $@ $^ $(HR_LIBS)
define mpi_rule
$(B)/%_mpi.$(1).o: %_mpi.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC) $(CC) $$(HR_CFLAGS) $$(filter -I%,$$(call mpi,$(1))) -c -o $$@ $$<
$(B)/tests/machines/%.$(1).o: tests/machines/%.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC) $(CC) $$(HR_CFLAGS) $$(filter -I%,$$(call mpi,$(1))) -c -o $$@ $$<
$(BIN)/hogring-$(1): $(CLI) $(WITH_MPI:%=$(B)/%.$(1).o) $(BIN)/libhogring.a
	$$(call say,LINK) $(CC) -pie $$(HR_LDFLAGS) -o $$@ $$^ $$(HR_LIBS) $$(filter-out -I%,$$(call mpi,$(1)))
$(B)/tests/machines/%-$(1): $(B)/tests/machines/%.$(1).o $(WITH_MPI:%=$(B)/%.$(1).o) $(BIN)/libhogring.a
	$$(call say,LINK) $(CC) $$(HR_LDFLAGS) -o $$@ $$^ $$(HR_LIBS) $$(filter-out -I%,$$(call mpi,$(1)))
endef
WITH_MPI := $(basename $(call in_src,*_mpi.c))
$(foreach m,$(MPIS),$(eval $(call mpi_rule,$(m))))
$(BIN)/libhogring.a: $(OBJECTS)
	@mkdir -p $(@D)
	$(call say,AR) rm -f $@ $@.new && $(AR) rcs $@.new $^ && mv $@.new $@
# The shared library shows what the public headers declare, and nothing else; its symbols have a version.
$(B)/hogring.map: $(HEADERS) Makefile
	@mkdir -p $(@D)
	@{ echo 'HOGRING_$(lastword $(subst ., ,$(SONAME))) { global:'; $(CC) -E -P -Iinclude include/hogring/hogring.h | grep -o '\bhr_[a-z0-9_]*(' | sort -u | tr '(' ';'; \
	   echo 'local: *; };'; } >$@
$(B)/$(SONAME): $(OBJECTS) $(B)/hogring.map
	$(call say,LINK) $(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(B)/hogring.map $(HR_LDFLAGS) -o $@ $(OBJECTS) $(HR_LIBS)
# Archives, too: each program takes what it calls.
$(SHOWING): $(filter-out %/main.o,$(CLI))
	$(call say,AR) rm -f $@ $@.new && $(AR) rcs $@.new $^ && mv $@.new $@
$(B)/tests/libsupport.a: $(SUPPORT)
	$(call say,AR) rm -f $@ $@.new && $(AR) rcs $@.new $^ && mv $@.new $@
$(ALONE): $(B)/tests/%: $(B)/tests/%.o $(B)/tests/libsupport.a $(SHOWING) $(BIN)/libhogring.a
	$(call say,LINK) $(CC) $(HR_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $^ -lcmocka $(HR_LIBS)
define folder_rule
$(B)/$(1)/tests: tests/one_program.c $(addsuffix .o,$(2)) $(B)/tests/libsupport.a $(SHOWING) $(BIN)/libhogring.a
	$$(call say,LINK) $(CC) $$(HR_CFLAGS) $$(UNIT_CFLAGS) -MF $$@.d '-DTESTS(X)=$(foreach test,$(notdir $(2)),X($(test)))' $$(HR_LDFLAGS) $$(UNIT_LDFLAGS) -o $$@ $$^ -lcmocka $$(HR_LIBS)
$(2): $(B)/$(1)/tests
	@ln -sf tests $$@
endef
$(foreach folder,$(sort $(patsubst $(B)/%/,%,$(dir $(SHARED)))),$(eval $(call folder_rule,$(folder),$(filter $(B)/$(folder)/%,$(SHARED)))))
# What reads options and prints tables is compiled in half of the time; what bench times is not.
$(filter-out $(B)/src/experiment/bench/%,$(CLI)): OPT := -O1
$(SHARED:=.o): NAMED = -Dmain=$(basename $(@F))_main -Wno-missing-prototypes
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(HR_CFLAGS) $(if $(filter tests/%,$<),-Itests $(UNIT_CFLAGS)) $(NAMED) -c -o $@ $<
$(B)/%.o: %.S Makefile $(wildcard data/digits/*.gz src/cli/manual/*.txt src/show/page/page.html src/show/page/style.css src/show/page/script.js)
	@mkdir -p $(@D)
	$(call say,AS) $(CC) $(CET) -c -o $@ $<
define isa_rule
$(B)/%.isa.$(1).o: %.isa.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC) $(CC) $$(HR_CFLAGS) $(MARCH.$(1)) -DHR_ISA_SUFFIX=_$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS) v4bf16 v4amx,$(eval $(call isa_rule,$(isa))))
$(FUZZERS): $(B)/%: $(B)/%.o $(SHOWING) $(BIN)/libhogring.a
	$(call say,LINK) $(CC) -fsanitize=fuzzer $(HR_LDFLAGS) -o $@ $^ $(HR_LIBS)
# Models are C++: the real text of the primitives on the atomics of a checker (tests/model/model.hpp).
$(B)/tests/model/%.o: tests/model/%.cpp Makefile
	@mkdir -p $(@D)
	$(call say,CXX) $(CXX) -std=gnu++14 -O2 -fpermissive -w -pthread -MMD -MP -iquote tests/model -Itests/model $(IQUOTE) -Isrc -Iinclude -c -o $@ $<
$(MODELS): $(B)/tests/model/%: $(B)/tests/model/%.o $(B)/tests/model/model.o
	$(call say,LINK) $(CXX) -pthread -o $@ $^
-include $(MODELS:=.d) $(B)/tests/model/model.d
-include $(foreach m,$(MPIS),$(WITH_MPI:%=$(B)/%.$(m).d)) $(FUZZERS:=.d) $(OBJECTS:.o=.d) $(CLI:.o=.d) $(TESTS:=.d) $(SUPPORT:.o=.d)

# --- for people ---------------------------------------------------------------------------------
deps:                                          ## install the Debian packages that are missing
	@sh tests/deps.sh $(PACKAGES)
# A second make, because the first looked for the compiler before it was there.
demo: deps                                     ## install, build, run the main job on Fashion-MNIST
	@$(MAKE) --no-print-directory $(ALL_CPUS) all
	@$(MAKE) --no-print-directory show-demo
show-demo:
	build/hogring compare --data fashion-mnist --model mlp --workers 2 --epochs 5 --batch-size 64 --lr 0.02 \
	  --plot build/demo.svg --json build/demo.json --checkpoint-dir build/demo-checkpoints --overwrite
	@echo; echo "picture      $(CURDIR)/build/demo.svg"; echo "all figures  $(CURDIR)/build/demo.json"
	@echo "checkpoints  $(CURDIR)/build/demo-checkpoints/<strategy>/latest"

define PC_FILE
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include

Name: hogring
Description: data-parallel training on one machine: collectives and messages over shared memory
Version: $(VERSION)
Cflags: -I$${includedir}
Libs: -L$${libdir} -lhogring
Libs.private: -pthread $(HR_LIBS)
endef
export PC_FILE
install: all $(B)/$(SONAME)                    ## command, libraries, headers, hogring.pc, man pages: PREFIX, DESTDIR
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig include/hogring share/man/man1 share/man/man7 share/doc/hogring/examples share/bash-completion/completions)
	install -m 755 $(BIN)/hogring $(MPIS:%=$(BIN)/hogring-%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BIN)/libhogring.a $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(B)/$(SONAME) $(DESTDIR)$(PREFIX)/lib
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libhogring.so
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/hogring
	install -m 644 tests/examples/* $(DESTDIR)$(PREFIX)/share/doc/hogring/examples
	@echo "$$PC_FILE" >$(DESTDIR)$(PREFIX)/lib/pkgconfig/hogring.pc
	$(BIN)/hogring help --completion >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hogring
	@for page in $$($(BIN)/hogring help --man); do \
	  $(BIN)/hogring help --man $$page >$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$$page || exit 1; done
	@$(if $(DESTDIR),,$(LOADER))
# Programs with the shared library need the loader to find it; the command does not.
LOADER = if PATH=$$PATH:/sbin ldconfig -vNX 2>/dev/null | grep -q '^$(PREFIX)/lib:'; \
	then echo "installed; for programs with libhogring.so, once as root: ldconfig"; \
	else echo "installed; programs with libhogring.so need LD_LIBRARY_PATH=$(PREFIX)/lib"; fi
# Without MPI: its three libraries would be three packages.
deb:                                           ## a Debian package, build/deb/hogring_*.deb, tried
	@command -v dpkg-deb >/dev/null || { echo "deb: there is no dpkg-deb (dpkg)" >&2; exit 1; }
	@rm -rf build/deb
	@$(MAKE) --no-print-directory MPI=off PREFIX=/usr DESTDIR=$(CURDIR)/build/deb/root install
	@sh src/packaging/deb.sh $(VERSION) build/deb
uninstall:                                     ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/hogring $(LIBS.mpi:%=bin/hogring-%) lib/libhogring.a lib/libhogring.so lib/$(SONAME) lib/pkgconfig/hogring.pc)
	rm -f $(DESTDIR)$(PREFIX)/share/man/man[17]/hogring.[17] $(DESTDIR)$(PREFIX)/share/man/man[17]/hogring-*.[17]
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hogring
	rm -rf $(DESTDIR)$(PREFIX)/include/hogring $(DESTDIR)$(PREFIX)/share/doc/hogring

# --- tests --------------------------------------------------------------------------------------
# So many test programs at a time: each has ranks of its own, and waits as long as it computes.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); echo $$((n < 4 ? n + 1 : 4)))
# The longest begin first: what begins last is soon over.
LONGEST := $(wildcard $(patsubst %,tests/cli/%.bats,python machines_losses manual machines_train machines_servers losses limits memory bench_nets \
  pure_saves compress images machines_mpi timeline metrics install readme machines_bed paused_saves page))
CLI_TESTS := $(LONGEST) $(filter-out $(LONGEST),$(wildcard tests/cli/*.bats))
# Built by all processors before they run, unless -j says otherwise.
ALL_CPUS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))
units: $(TESTS) $(MPIS:%=$(B)/tests/machines/wire_link-%)
check: all units                               ## unit tests, three minutes
	@tests/run.sh -j $(JOBS) -t 600 $(TESTS)
test: deps                                     ## install, build, and run the tests (make long: at full counts)
	@$(MAKE) --no-print-directory $(ALL_CPUS) lint all units
	@$(MAKE) --no-print-directory run-tests
run-tests: all units $(B)/$(SONAME)
	@HOGRING=$(BIN)/hogring tests/run.sh -j $(JOBS) -t $(if $(SAN.$(CONFIG)),900,600) $(CLI_TESTS) $(TESTS)
long: deps                                     ## the same tests at full counts (minutes)
	@HOGRING_LONG=1 HOGRING=build/hogring $(MAKE) --no-print-directory $(ALL_CPUS) all units
	@HOGRING_LONG=1 HOGRING=build/hogring tests/run.sh -j $(JOBS) -t 3600 $(CLI_TESTS) $(TESTS)
asan: deps                                     ## every test under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory $(ALL_CPUS) CONFIG=asan CC=clang run-tests
tsan: deps                                     ## every test under ThreadSanitizer, with the reference GEMM
	@$(MAKE) --no-print-directory $(ALL_CPUS) CONFIG=tsan BLAS=naive CC=clang run-tests
model:                                         ## the primitives under a memory-model checker, a minute
	@sh tests/deps.sh $(PACKAGES) || true
	@if echo '#include <relacy/base.hpp>' | $(CXX) -E -x c++ - >/dev/null 2>&1; \
	then $(MAKE) --no-print-directory run-model; else echo "model: skipped, Relacy (relacy-dev) or g++ is not installed"; fi
run-model: $(MODELS)
	@bad=0; for model in $(MODELS); do $$model || bad=1; done; exit $$bad
# Skipped where clang cannot link a fuzzer.
fuzz:                                          ## every parser fuzzed for FUZZ_SECONDS (60) each
	@mkdir -p build && echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' >build/fuzz_probe.c
	@if clang -fsanitize=fuzzer,address,undefined -w -o build/fuzz_probe build/fuzz_probe.c 2>/dev/null; \
	then $(MAKE) --no-print-directory CONFIG=fuzz CC=clang run-fuzz; else echo "fuzz: skipped, clang with libFuzzer is not installed"; fi
run-fuzz: $(FUZZERS)
	@tests/fuzz/run.sh $(FUZZERS)
arm64: all                                     ## kernels, formats and digests under qemu-user, up to an hour
	@CCACHE=$(firstword $(filter %ccache,$(CC))) tests/arm64.sh
coverage:                                      ## branches of ring, checkpoints and parsers that unit tests take (gcovr)
	@if command -v gcovr >/dev/null; then $(MAKE) --no-print-directory CONFIG=coverage CFLAGS="-g -O0 --coverage" LDFLAGS="--coverage -Wl,--wrap=_exit,-u,__gcov_dump,-u,__wrap__exit" run-coverage; \
	else echo "coverage: skipped, gcovr is not installed"; fi
run-coverage: $(filter $(COVERING:%=$(B)/tests/%),$(TESTS))
	@tests/run.sh -j $(JOBS) -t 600 $^
	@sh tests/coverage.sh $(B)
peers: all                                     ## measure beside PyTorch, JAX, TensorFlow and MPIs, what of them is there: tests/peers/FIGURES.md
	@PEERS_VENV="$(PEERS_VENV)" python3 tests/peers/compare.py $(PEERS)
# PyTorch's package has CUDA's libraries linked in, and does not load without them: 8 GB in all.
PEERS_VENV ?= build/peers-venv
peers-venv:                                    ## PyTorch, JAX, TensorFlow, Intel MPI from PyPI into PEERS_VENV (build/peers-venv, 8 GB)
	@test -x $(PEERS_VENV)/bin/python || python3 -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install --quiet --no-cache-dir --upgrade torch numpy jax tensorflow-cpu impi-rt impi-devel
	@$(PEERS_VENV)/bin/python -c 'import torch, jax; print("PyTorch", torch.__version__, "JAX", jax.__version__)'
experiments: all                               ## published findings checked: tests/experiments/results; ONLY=name
	@python3 tests/experiments/run.py $(ONLY)
soak: all                                          ## drawn runs, faults and kills for SECONDS (60): accounts and digests checked
	@python3 tests/soak/soak.py $(BIN)/hogring --seconds $(or $(SECONDS),60)
oracle: all                                    ## PyTorch as oracle: outputs, gradients, trained weights (python3-torch)
	@if /usr/bin/python3 -c 'import torch' 2>/dev/null; then /usr/bin/python3 tests/peers/oracle.py && /usr/bin/python3 tests/peers/text_oracle.py && /usr/bin/python3 tests/peers/regress_oracle.py build/hogring; \
	else echo "oracle: skipped, no /usr/bin/python3 with torch (Debian: python3-torch)"; fi
safety-cost: all                               ## what comparing and recording every call costs, beside a build without
	@$(MAKE) --no-print-directory CONFIG=unsafe build/unsafe/hogring
	@sh tests/peers/safety_cost.sh build/hogring build/unsafe/hogring
lint: $(OBJECTS) $(CLI)                        ## order of includes and calls, columns, each header alone
	@python3 tests/lint.py "$(CC)" $(B)
format:                                        ## clang-format in place
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:                                         ## remove build/
	rm -rf build
help list:                                     ## this list
	@grep -E '^[a-z]+[a-z -]*:.*##' Makefile | sed -E 's/:.*## */\t/' | expand -t 12
