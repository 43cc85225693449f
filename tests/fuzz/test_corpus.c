/* The fuzzers' inputs, replayed without libFuzzer: committed seeds and what fuzzing once found. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/check.h"

/* clang-format off */
#define FUZZERS(X) \
    X(csv) X(npy) X(libsvm) X(cifar) X(packed) X(idx) X(safetensors) \
    X(model_text) X(trace) X(trace_text) X(topology) X(link) X(delay) \
    X(inject) X(config) X(option) X(manifest) X(gzip) X(metadata) X(image) \
    X(csv_samples) X(token_file)
/* clang-format on */
#define DECLARE(name) int run_##name(const uint8_t *data, size_t size);
FUZZERS(DECLARE)

#define LLVMFuzzerTestOneInput run_csv
#include "fuzz_csv.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_csv_samples
#include "fuzz_csv_samples.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_npy
#include "fuzz_npy.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_token_file
#include "fuzz_token_file.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_libsvm
#include "fuzz_libsvm.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_cifar
#include "fuzz_cifar.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_packed
#include "fuzz_packed.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_idx
#include "fuzz_idx.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_safetensors
#include "fuzz_safetensors.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_model_text
#include "fuzz_model_text.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_trace
#include "fuzz_trace.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_trace_text
#include "fuzz_trace_text.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_topology
#include "fuzz_topology.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_link
#include "fuzz_link.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_delay
#include "fuzz_delay.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_inject
#include "fuzz_inject.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_config
#include "fuzz_config.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_option
#include "fuzz_option.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_manifest
#include "fuzz_manifest.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_gzip
#include "fuzz_gzip.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_metadata
#include "fuzz_metadata.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput run_image
#include "fuzz_image.c"
#undef LLVMFuzzerTestOneInput

typedef int (*fuzzer_fn)(const uint8_t *data, size_t size);

static void replay_file(const char *path, fuzzer_fn fuzzer)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *data = malloc(1 << 20);
    const size_t size = fread(data, 1, 1 << 20, file);
    fclose(file);
    /* On a block of its own size, and cut at a third and two thirds. */
    for (size_t part = 3; part > 0; part--) {
        uint8_t *exact = malloc(size * part / 3 + 1);
        memcpy(exact, data, size * part / 3);
        assert_int_equal(fuzzer(exact, size * part / 3), 0);
        free(exact);
    }
    free(data);
}

static void replay(const char *name, fuzzer_fn fuzzer)
{
    char folder[256], path[600];
    size_t files = 0;
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        replay_file(path, fuzzer);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
}

static void every_corpus_is_read_without_a_report(void **state)
{
    (void)state;
#define REPLAY(name) replay(#name, run_##name);
    FUZZERS(REPLAY)
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_corpus_is_read_without_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
