/* The wire over MPI between machines of bed.py: is it a wire, and what does it cost beside MPI?
 *
 *     wire_link check [MESSAGES]   all machines send each other messages of drawn sizes at once;
 *                                  what comes is looked at byte by byte, places are refused at
 *                                  times, and another wire follows on one that left messages
 *     wire_link time [ROUNDS]      machines 0 and 1 send 8 B to 1 MiB to and fro, in turn by wire
 *                                  and by MPI_Send and MPI_Recv; medians, us for half a round trip
 *     wire_link lose SECONDS [DIR] polls so long, or until a machine is lost or silent for 2 s;
 *                                  then says what it saw (also in DIR/survivor.N), goes on for 3 s
 *                                  if it may, and exits with 4
 */
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machines/start.h"

enum { LARGEST = 1 << 20, MOST = 4096, WINDOW = 4 };

struct head {
    uint64_t from, number, bytes;
};

static struct hr_wire *wire;
static unsigned char *out_body, *in_body[HR_WIRE_MACHINES][WINDOW];
static uint64_t next_in[HR_WIRE_MACHINES], placed[HR_WIRE_MACHINES], refusals, bad, drawn = 1;

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* The same in both: sizes around every limit, mostly small. */
static uint64_t size_of(uint64_t from, uint64_t number)
{
    uint64_t state = from * 7919 + number;
    const uint64_t kind = (draw(&state), draw(&state) % 8);
    return kind == 0 ? 0 : kind < 5 ? draw(&state) % 9000 : draw(&state) % 200000;
}

static unsigned char byte_of(uint64_t from, uint64_t number, uint64_t at)
{
    return (unsigned char)(from * 31 + number * 17 + at * 7 + (at >> 8));
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    const struct head *it = head;
    (void)arg;
    if (head_bytes != sizeof *it || it->from != from || it->number != placed[from] ||
        it->bytes != body_bytes)
        bad++;
    if (placed[from] - next_in[from] == WINDOW || draw(&drawn) % 4 == 0) {
        refusals++;
        return false;
    }
    *where = in_body[from][placed[from]++ % WINDOW];
    return true;
}

static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    const struct head *it = head;
    (void)arg, (void)head_bytes;
    const unsigned char *body = in_body[from][next_in[from] % WINDOW];
    if (it->number != next_in[from])
        bad++;
    for (uint64_t at = 0; at < it->bytes; at++)
        bad += body[at] != byte_of(from, it->number, at);
    next_in[from]++;
}

static const struct hr_wire_sink SINK = {.place = place, .arrived = arrived};

/* Messages [0, n) to everybody, and theirs; the last `left` are not waited for. */
static int exchange(uint64_t n, uint64_t left)
{
    enum { BODY = 200000 };
    uint64_t sent[HR_WIRE_MACHINES] = {0};
    static bool done[HR_WIRE_MACHINES];
    memset(next_in, 0, sizeof next_in);
    memset(placed, 0, sizeof placed);
    for (size_t m = 0; m < wire->machines; m++)
        done[m] = true;
    for (bool all = false; !all;) {
        all = true;
        for (size_t m = 0; m < wire->machines; m++) {
            if (m == wire->self)
                continue;
            unsigned char *body = out_body + m * BODY;
            const struct head head = {wire->self, sent[m], size_of(wire->self, sent[m])};
            if (sent[m] < n && done[m]) {
                for (uint64_t at = 0; at < head.bytes; at++)
                    body[at] = byte_of(wire->self, sent[m], at);
                if (hr_wire_send(wire, m, &head, sizeof head, body, head.bytes, &done[m]))
                    sent[m]++;
                else
                    done[m] = true;
            }
            all = all && sent[m] == n && done[m] && next_in[m] + left >= n;
        }
        if (!hr_wire_poll(wire, &SINK))
            sched_yield();
    }
    return bad ? 1 : 0;
}

static int check(uint64_t n)
{
    for (size_t m = 0; m < HR_WIRE_MACHINES; m++)
        for (size_t w = 0; w < WINDOW; w++)
            in_body[m][w] = malloc(200000);
    out_body = malloc(200000 * HR_WIRE_MACHINES);
    for (int round = 0; round < 3; round++) {
        if (exchange(n, 3)) {
            printf("machine %zu: %llu bytes or heads are wrong\n", wire->self,
                   (unsigned long long)bad);
            return 1;
        }
        hr_wire_close(wire);
        if (hr_mpi_open(10 * HR_NS_PER_SECOND, &wire) != HR_OK)
            return 1;
    }
    printf("machine %zu of %zu on %s: %llu messages from each, 3 wires, %s%s\n", wire->self,
           wire->machines, wire->host[wire->self], (unsigned long long)n,
           refusals ? "refused at times, all whole, by " : "never refused: ", wire->table->name);
    return refusals ? 0 : 1;
}

static unsigned char ping[LARGEST], pong[LARGEST];
static bool came;
static size_t came_from;

static bool place_pong(void *arg, size_t from, const void *head, size_t head_bytes,
                       size_t body_bytes, void **where)
{
    (void)arg, (void)from, (void)head, (void)head_bytes, (void)body_bytes;
    *where = pong;
    return true;
}

static void arrived_pong(void *arg, size_t from, const void *head, size_t head_bytes)
{
    (void)arg, (void)head, (void)head_bytes;
    came = true;
    came_from = from;
}

static const struct hr_wire_sink PONG = {.place = place_pong, .arrived = arrived_pong};

static void wire_receive(void)
{
    while (!came)
        hr_wire_poll(wire, &PONG);
    came = false;
}

static void wire_send(size_t bytes)
{
    const uint64_t head[8] = {bytes};
    bool done;
    while (!hr_wire_send(wire, 1 - wire->self, head, sizeof head, ping, bytes, &done))
        hr_wire_poll(wire, &PONG);
    while (!done)
        hr_wire_poll(wire, &PONG);
}

static void by_wire(size_t bytes)
{
    if (wire->self == 0) {
        wire_send(bytes);
        wire_receive();
    } else {
        wire_receive();
        wire_send(bytes);
    }
}

static void by_mpi(size_t bytes)
{
    const int n = (int)bytes, other = 1 - (int)wire->self;
    if (wire->self == 0)
        MPI_Send(ping, n, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    MPI_Recv(pong, n, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (wire->self == 1)
        MPI_Send(ping, n, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double us_of(void (*round)(size_t), size_t bytes)
{
    const int64_t begun = hr_clock_own_ns();
    round(bytes);
    return (double)(hr_clock_own_ns() - begun) / 2e3;
}

static int measure(size_t rounds)
{
    static double wires[MOST], mpis[MOST];
    if (wire->self == 0)
        printf("%s\n%9s %12s %12s %8s\n", wire->table->name, "bytes", "wire us", "MPI us", "times");
    for (size_t bytes = 8; bytes <= LARGEST && wire->self < 2; bytes *= 2) {
        const size_t n = bytes < 65536 ? rounds : rounds / 8 + 1;
        for (size_t r = 0; r < n; r++) {
            wires[r] = us_of(by_wire, bytes);
            mpis[r] = us_of(by_mpi, bytes);
        }
        qsort(wires, n, sizeof *wires, compare);
        qsort(mpis, n, sizeof *mpis, compare);
        if (wire->self == 0)
            printf("%9zu %12.1f %12.1f %8.2f\n", bytes, wires[n / 2], mpis[n / 2],
                   wires[n / 2] / mpis[n / 2]);
    }
    return 0;
}

static volatile sig_atomic_t told;
static FILE *record; /* what a survivor says when mpirun does not listen any more */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    FILE *const to[] = {stdout, record};
    for (size_t i = 0; i < 2; i++) {
        va_list list;
        va_start(list, format);
        if (to[i])
            vfprintf(to[i], format, list);
        va_end(list);
    }
}

static double ago(int64_t begun)
{
    return (double)(hr_clock_own_ns() - begun) / 1e9;
}

static void note(int number)
{
    told = number;
}

/* What a survivor has time for, after it knows. */
static int survive(void)
{
    const int64_t begun = hr_clock_own_ns();
    while (ago(begun) < 3) {
        if (told)
            say("machine %zu: signal %d %.1f s later\n", wire->self, (int)told, ago(begun));
        told = 0;
        usleep(100000);
    }
    say("machine %zu: went on for 3 s\n", wire->self);
    return 4;
}

static void open_record(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/survivor.%zu", folder ? folder : "", wire->self);
    record = folder ? fopen(path, "w") : NULL;
    if (record)
        setvbuf(record, NULL, _IOLBF, 0);
}

static int lose(double seconds, const char *folder)
{
    char why[256];
    size_t machine;
    int64_t heard[HR_WIRE_MACHINES], begun = hr_clock_own_ns(), beat = 0, now;
    const uint64_t head = 0;
    open_record(folder);
    signal(SIGTERM, note);
    for (size_t m = 0; m < wire->machines; m++)
        heard[m] = begun;
    say("machine %zu begins, process %d\n", wire->self, (int)getpid());
    while ((double)((now = hr_clock_own_ns()) - begun) < seconds * 1e9) {
        for (size_t m = 0; m < wire->machines; m++)
            if (m != wire->self && now - beat > HR_NS_PER_SECOND / 20)
                (void)!hr_wire_send(wire, m, &head, sizeof head, NULL, 0, NULL);
        if (now - beat > HR_NS_PER_SECOND / 20)
            beat = now;
        hr_wire_poll(wire, &PONG);
        if (came)
            heard[came_from] = now, came = false;
        if (hr_wire_lost(wire, &machine, why, sizeof why)) {
            say("machine %zu: %s is lost: %s\n", wire->self, wire->host[machine], why);
            return survive();
        }
        for (size_t m = 0; m < wire->machines; m++)
            if (m != wire->self && now - heard[m] > 2 * HR_NS_PER_SECOND) {
                say("machine %zu: %s has been silent for 2 s\n", wire->self, wire->host[m]);
                return survive();
            }
        if (told)
            say("machine %zu: signal %d after %.2f s\n", wire->self, (int)told, ago(begun));
        told = 0;
        usleep(500);
    }
    say("machine %zu: nothing lost in %g s\n", wire->self, seconds);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const double number = argc > 2 ? atof(argv[2]) : 0;
    int code = 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (hr_mpi_open(10 * HR_NS_PER_SECOND, &wire) != HR_OK)
        fprintf(stderr, "wire_link: %s\n", hr_error_message());
    else if (!strcmp(mode, "check"))
        code = check(number > 0 ? (uint64_t)number : 300);
    else if (!strcmp(mode, "time"))
        code = measure(number > 0 && number < MOST ? (size_t)number : 1000);
    else if (!strcmp(mode, "lose"))
        code = lose(number, argc > 3 ? argv[3] : NULL);
    hr_wire_close(wire);
    return hr_mpi_leave(code);
}
