#!/usr/bin/env bats
# What a distribution's hardening-check asks for, asked with binutils.
load support

setup_file() {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) return 0 ;; esac
  cd "$BATS_TEST_DIRNAME/../.." && make -s all build/release/libhogring.so.0
}

setup() {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  command -v readelf >/dev/null || skip "no readelf"
  cd "$BATS_TEST_DIRNAME/../.."; TMP=$(mktemp -d)
}

# says PATTERN READELF-ARGUMENTS...
says() { readelf -W "${@:2}" | grep -qE -- "$1" || { echo "no \"$1\" in readelf ${*:2}"; return 1; }; }

@test "the command can be loaded anywhere" {
  says 'Type: +DYN' -h build/hogring
  says 'FLAGS_1.* PIE' -d build/hogring
}

@test "command and library: relocations are made at once and then read-only, no stack is executable" {
  for file in build/hogring build/release/libhogring.so.0; do
    says 'GNU_RELRO' -l $file
    says 'FLAGS_1.* NOW' -d $file
    says 'GNU_STACK .* RW +0x' -l $file
  done
}

@test "command and library: stacks and buffers of known size are watched" {
  for file in build/hogring build/release/libhogring.so.0; do
    says ' __stack_chk_fail@' --dyn-syms $file
    says ' __(memcpy|snprintf|vsnprintf|fprintf|read)_chk@' --dyn-syms $file
  done
}

@test "every object says where jumps may go, where the processor can look" {
  case $(cc -dumpmachine) in x86_64*) ;; *) skip "x86-64 only" ;; esac
  objects=$(ar t build/libhogring.a | wc -l)
  [ "$objects" -gt 100 ]
  [ "$(readelf -Wn build/libhogring.a | grep -c 'x86 feature: IBT, SHSTK')" = "$objects" ]
}
