/* MPI's requests under way; compiled once a library. */
#include "machines/pending_mpi.h"

#include <stdlib.h>
#include <string.h>

static void release(struct pending *pending)
{
    free(pending->request);
    free(pending->owner);
    free(pending->index);
    free(pending->status);
    free(pending->ended);
}

bool hr_pending_reserve(struct pending *pending, size_t more)
{
    const size_t room = 2 * (pending->n + more);
    if (pending->n + more <= pending->room)
        return true;
    struct pending larger = {.n = pending->n, .room = room};
    larger.request = malloc(room * sizeof *larger.request);
    larger.owner = malloc(room * sizeof *larger.owner);
    larger.index = malloc(room * sizeof *larger.index);
    larger.status = malloc(room * sizeof *larger.status);
    larger.ended = malloc(room * sizeof *larger.ended);
    if (!larger.request || !larger.owner || !larger.index || !larger.status || !larger.ended) {
        release(&larger);
        return false;
    }
    for (size_t i = 0; i < pending->n; i++) {
        larger.request[i] = pending->request[i];
        larger.owner[i] = pending->owner[i];
    }
    release(pending);
    *pending = larger;
    return true;
}

static void note(struct pending *pending, size_t n, size_t i, int error, const MPI_Status *status)
{
    int bytes = 0;
    if (error == MPI_SUCCESS && pending->owner[i].kind == FRAME_IN)
        MPI_Get_count(status, MPI_BYTE, &bytes);
    pending->ended[n] = (struct ended){pending->owner[i], error, (size_t)(bytes > 0 ? bytes : 0)};
}

/* MPI has failed without saying at which request: ask each. One that fails has ended. */
static size_t test_each(struct pending *pending)
{
    size_t n = 0;
    for (size_t i = 0; i < pending->n; i++) {
        int done = 0;
        const int error = MPI_Test(&pending->request[i], &done, pending->status);
        if (error != MPI_SUCCESS)
            pending->request[i] = MPI_REQUEST_NULL;
        if (error != MPI_SUCCESS || done)
            note(pending, n++, i, error, pending->status);
    }
    return n;
}

static size_t test_some(struct pending *pending)
{
    int ended = 0;
    size_t n = 0;
    const int result =
        MPI_Testsome((int)pending->n, pending->request, &ended, pending->index, pending->status);
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)
        return test_each(pending);
    for (int e = 0; e < ended; e++) {
        const size_t i = (size_t)pending->index[e];
        const int error = result == MPI_SUCCESS ? MPI_SUCCESS : pending->status[e].MPI_ERROR;
        if (error == MPI_ERR_PENDING)
            continue;
        if (error != MPI_SUCCESS)
            pending->request[i] = MPI_REQUEST_NULL;
        note(pending, n++, i, error, &pending->status[e]);
    }
    return n;
}

/* Close the gaps. */
static void pack(struct pending *pending)
{
    size_t left = 0;
    for (size_t i = 0; i < pending->n; i++)
        if (pending->request[i] != MPI_REQUEST_NULL) {
            pending->request[left] = pending->request[i];
            pending->owner[left++] = pending->owner[i];
        }
    pending->n = left;
}

size_t hr_pending_test(struct pending *pending, struct ended **ended)
{
    const size_t n = pending->n ? test_some(pending) : 0;
    *ended = pending->ended;
    if (n)
        pack(pending);
    return n;
}

void hr_pending_forget(struct pending *pending, size_t machine)
{
    for (size_t i = 0; i < pending->n; i++)
        if (pending->owner[i].machine == machine)
            pending->request[i] = MPI_REQUEST_NULL;
    pack(pending);
}

void hr_pending_cancel(struct pending *pending)
{
    struct ended *ended;
    for (size_t i = 0; i < pending->n; i++)
        MPI_Cancel(&pending->request[i]);
    for (int tries = 0; pending->n && tries < 1000; tries++)
        hr_pending_test(pending, &ended);
}

bool hr_pending_has(const struct pending *pending, enum kind kind)
{
    for (size_t i = 0; i < pending->n; i++)
        if (pending->owner[i].kind == kind)
            return true;
    return false;
}

/* MPICH's first line is "Other MPI error, error stack:"; its last says why, behind a function. */
void hr_mpi_text(int error, char *text)
{
    int length = 0;
    text[0] = '\0';
    MPI_Error_string(error, text, &length);
    const char *last = strrchr(text, '\n');
    const char *why = last ? strchr(last, ':') : NULL;
    if (why) {
        why += 1 + strspn(why + 1, " ");
        memmove(text, why, strlen(why) + 1);
    }
    text[strcspn(text, "\n")] = '\0';
}
