# hogring: make help lists the targets.
VERSION := 0.1.0
CONFIG  ?= release
BLAS    ?= openblas
V       ?= 0
B       := build/$(CONFIG)
# The release build is what people run, so it stands where they look for it.
BIN     := $(if $(filter release,$(CONFIG)),build,$(B))

CC      ?= cc
AR      ?= ar
CFLAGS  ?= -g
PKG     := pkg-config
LIBRARIES := zlib jansson libxxhash $(if $(filter openblas,$(BLAS)),openblas)

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
SAN.asan := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
SAN.tsan := -fsanitize=thread
OPT     := $(if $(filter release,$(CONFIG)),-O3,-O1)
HR_CFLAGS = -std=c11 -D_GNU_SOURCE $(OPT) -ffp-contract=off -fno-math-errno -fopenmp-simd -pthread $(WARN) -MMD -MP \
  -Iinclude -Isrc -DHR_VERSION='"$(VERSION)"' $(if $(filter naive,$(BLAS)),-DHR_NO_BLAS) \
  $(shell $(PKG) --cflags $(LIBRARIES) 2>/dev/null) $(SAN.$(CONFIG)) $(CFLAGS)
HR_LDFLAGS = -pthread $(SAN.$(CONFIG)) $(LDFLAGS)
HR_LIBS   = $(shell $(PKG) --libs $(LIBRARIES) 2>/dev/null) -lm

ARCH    := $(shell $(CC) -dumpmachine)
ISAS    := $(if $(findstring x86_64,$(ARCH)),plain v3 v4,plain)
MARCH.v3 := -march=x86-64-v3
MARCH.v4 := -march=x86-64-v4 -mprefer-vector-width=512

SOURCES := $(filter-out %.isa.c src/cli/%,$(wildcard src/*/*.c))
KERNELS := $(wildcard src/*/*.isa.c)
OBJECTS := $(SOURCES:%.c=$(B)/%.o) $(foreach isa,$(ISAS),$(KERNELS:%.c=$(B)/%.$(isa).o)) $(patsubst %.S,$(B)/%.o,$(wildcard src/*/*.S))
CLI     := $(patsubst %.c,$(B)/%.o,$(wildcard src/cli/*.c))
TESTS   := $(patsubst %.c,$(B)/%,$(filter-out tests/support/%,$(wildcard tests/*/test_*.c)))
SUPPORT := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $@;)

.DEFAULT_GOAL := all
.PHONY: all help deps demo check test long peers asan tsan lint format clean units
.SECONDARY:

all: $(BIN)/hogring $(BIN)/libhogring.a        ## build the command and the library

$(BIN)/hogring: $(CLI) $(BIN)/libhogring.a
	$(call say,LINK) $(CC) $(HR_LDFLAGS) -o $@ $^ $(HR_LIBS)
$(BIN)/libhogring.a: $(OBJECTS)
	@mkdir -p $(@D)
	$(call say,AR) rm -f $@ && $(AR) rcs $@ $^
$(B)/tests/%: $(B)/tests/%.o $(SUPPORT) $(BIN)/libhogring.a
	$(call say,LINK) $(CC) $(HR_LDFLAGS) -o $@ $^ -lcmocka $(HR_LIBS)
$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(HR_CFLAGS) $(if $(filter tests/%,$<),-Itests) -c -o $@ $<
$(B)/%.o: %.S Makefile $(wildcard data/digits/*.gz)
	@mkdir -p $(@D)
	$(call say,AS) $(CC) -c -o $@ $<
define isa_rule
$(B)/%.isa.$(1).o: %.isa.c Makefile
	@mkdir -p $$(@D)
	$$(call say,CC) $(CC) $$(HR_CFLAGS) $(MARCH.$(1)) -DHR_ISA_SUFFIX=_$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))
-include $(OBJECTS:.o=.d) $(CLI:.o=.d) $(TESTS:=.d) $(SUPPORT:.o=.d)

units: $(TESTS)
check: all units                               ## unit tests, under a minute
	@tests/run.sh -t 30 $(TESTS)

clean:                                         ## remove build/
	rm -rf build
help:                                          ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## */\t/' | expand -t 10
