/* What MPI itself makes of the link between machines of bed.py, one process a machine.
 *
 * Each process tells its host. Machines 0 and 1 send each other 8 B to 1 MiB to and fro, all of
 * them sum the same sizes by MPI_Allreduce (float, in place). Times are the median of ROUNDS (2000;
 * fewer of the large ones), half a round trip for the former. Bytes are what left eth0 beside what
 * was sent: over TCP at least as many, through shared memory none.
 *
 *     mpicc.openmpi -O2 mpi_link.c -o link && bed.py -n 2 -r 1gbit -m openmpi ./link [ROUNDS]
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_ROUNDS = 2000, LARGEST = 1 << 20 };

static int self, machines, most_rounds = MOST_ROUNDS;
static char buffer[LARGEST];

static double left_interface(void)
{
    char line[512];
    double bytes = -1;
    FILE *file = fopen("/proc/net/dev", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, " eth0: %*u %*u %*u %*u %*u %*u %*u %*u %lf", &bytes);
    if (file)
        fclose(file);
    return bytes;
}

static void there_and_back(int bytes)
{
    if (self == 0) {
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (self == 1) {
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void sum(int bytes)
{
    MPI_Allreduce(MPI_IN_PLACE, buffer, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int rounds_of(int bytes)
{
    const int most = 1 + 64 * (LARGEST / bytes);
    return most < most_rounds ? most : most_rounds;
}

static double median_us(void (*round)(int), int bytes)
{
    static double times[MOST_ROUNDS];
    const int rounds = rounds_of(bytes);
    for (int r = 0; r < rounds; r++) {
        const double begun = MPI_Wtime();
        round(bytes);
        times[r] = (MPI_Wtime() - begun) * 1e6;
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    return times[rounds / 2];
}

static void tell(void)
{
    char host[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_processor_name(host, &length);
    MPI_Get_library_version(library, &length);
    for (char *at = library; *at; at++)
        if (*at == '\n' || *at == ',')
            *at = '\0';
    printf("process %d of %d on %s, %s\n", self, machines, host, library);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPICH 4.0.2 over UCX: in 1 of some 10 runs one process waits in MPI_Finalize for the other's
 * disconnect, which sits in PMI's barrier there and looks at no socket. */
static void leave(int number)
{
    (void)number;
    _exit(0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &machines);
    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) < MOST_ROUNDS)
        most_rounds = atoi(argv[1]);
    tell();
    if (self == 0)
        printf("%9s %14s %12s %14s %16s\n", "bytes", "half trip us", "MB/s", "allreduce us",
               "left eth0 / sent");
    for (int bytes = 8; bytes <= LARGEST && machines > 1; bytes *= bytes < 4096 ? 8 : 4) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double before = left_interface(), trip = median_us(there_and_back, bytes) / 2;
        const double left = (left_interface() - before) / rounds_of(bytes) / bytes,
                     all = median_us(sum, bytes);
        if (self == 0)
            printf("%9d %14.1f %12.1f %14.1f %16.2f\n", bytes, trip, bytes / trip, all, left);
    }
    fflush(stdout);
    signal(SIGALRM, leave);
    alarm(3);
    MPI_Finalize();
    return 0;
}
