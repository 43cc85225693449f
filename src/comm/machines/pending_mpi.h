/* pending_mpi.h - MPI's requests under way, and whose they are; compiled once a library.
 *
 *     if (hr_pending_reserve(&pending, 1) &&
 *         MPI_Irecv(..., hr_pending_next(&pending)) == MPI_SUCCESS)
 *             hr_pending_keep(&pending, owner);
 *     n = hr_pending_test(&pending, &ended);            one MPI_Testsome: one look at the network
 *
 * Threads: one at a time. Memory: grows as requests do, and stays. */
#ifndef HR_MACHINES_PENDING_MPI_H
#define HR_MACHINES_PENDING_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum kind { FRAME_IN, BODY_IN, OUT };

struct owner {
    enum kind kind;
    size_t machine, slot;
};

struct ended {
    struct owner owner;
    int error;    /* MPI_SUCCESS, or why it never ends */
    size_t bytes; /* that a receive got */
};

struct pending {
    size_t n, room;
    MPI_Request *request;
    struct owner *owner;
    int *index;
    MPI_Status *status;
    struct ended *ended;
};

/* Room for so many more. */
bool hr_pending_reserve(struct pending *pending, size_t more);

/* Where the next request is to be begun. */
static inline MPI_Request *hr_pending_next(struct pending *pending)
{
    return &pending->request[pending->n];
}

/* It has been. */
static inline void hr_pending_keep(struct pending *pending, struct owner owner)
{
    pending->owner[pending->n++] = owner;
}

/* Let MPI work. Those that have ended are taken out, and valid until the next call. */
size_t hr_pending_test(struct pending *pending, struct ended **ended);

/* Do not ask for this machine's any more; their buffers stay MPI's. */
void hr_pending_forget(struct pending *pending, size_t machine);

/* End all receives that nobody will send for. */
void hr_pending_cancel(struct pending *pending);

/* Is there any of that kind? */
bool hr_pending_has(const struct pending *pending, enum kind kind);

/* MPI's one line for an error; text has room for MPI_MAX_ERROR_STRING. */
void hr_mpi_text(int error, char *text);

#endif
