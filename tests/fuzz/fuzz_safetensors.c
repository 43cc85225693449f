#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint/safetensors.h"
#include "fuzz/fuzz.h"

/* The reader works on files: this one is in memory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hr_tensor_file file = {0};
    char path[64];
    const int fd = memfd_create("safetensors", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (hr_safetensors_read(path, &file) == HR_OK)
        hr_tensor_file_free(&file);
    close(fd);
    return 0;
}
