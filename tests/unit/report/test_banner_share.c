/* Of several runs: what they share once, then what differs. */
#include "report/banner_share.h"

#include <stdlib.h>

#include "report/report.h"

#include "support/capture.h"
#include "support/check.h"

static struct hr_run_info info_of(const char *strategy, const char *model)
{
    return (struct hr_run_info){.strategy = strategy,
                                .algorithm = "",
                                .launch = "thread",
                                .guarantee = "none",
                                .model = model,
                                .kernels = "K",
                                .memory = "1 MiB: data 1 MiB",
                                .workers = 2,
                                .processors = 1,
                                .batch_size = 64,
                                .params = 10,
                                .lr = 0.02,
                                .epochs = 5,
                                .length = 5,
                                .steps = 40,
                                .seed = 7};
}

static void what_is_shared_is_said_once(void **state)
{
    struct hr_banner_share share = {.head = "2 runs"};
    struct hr_run_info first = info_of("ssp", "dense 1"), second = info_of("hogwild", "dense 2");
    struct capture capture;
    (void)state;
    capture_begin(&capture);
    hr_banner_print_shared(capture.out, &first, "digits", &share, "run 1 of 3");
    hr_banner_print_shared(capture.out, &first, "digits", &share, "run 2 of 3");
    hr_banner_print_shared(capture.out, &second, "digits", &share, "run 3 of 3");
    char *text = capture_end(&capture);
    assert_string_equal(
        text, "hogring: 2 runs\n"
              "  model    dense 1 (10 parameters)\n"
              "  data     digits\n"
              "  engine   kernels K, one thread a worker; transport zero-copy in shared memory\n"
              "run 1 of 3: ssp, 2 workers as threads on 1 processor\n"
              "  batch    one update for each minibatch of 64, lr 0.02\n"
              "  course   5 epochs, 40 updates, seed 7\n"
              "  promise  none\n"
              "run 2 of 3: ssp, 2 workers as threads on 1 processor\n"
              "  batch    one update for each minibatch of 64, lr 0.02\n"
              "  course   5 epochs, 40 updates, seed 7\n"
              "  promise  none\n"
              "run 3 of 3: hogwild, 2 workers as threads on 1 processor\n"
              "  model    dense 2 (10 parameters)\n"
              "  batch    one update for each minibatch of 64, lr 0.02\n"
              "  course   5 epochs, 40 updates, seed 7\n"
              "  promise  none\n");
    free(text);
    hr_banner_share_free(&share);
}

static void machines_are_named_with_what_they_have(void **state)
{
    struct hr_machine_report machines[] = {{"node-a", 0, 1, 0, 8, "v4", 0, 0},
                                           {"node-b", 1, 2, 1, 1, "v3", -7e3, 12.5e-6}};
    struct hr_run_info info = info_of("ssp", "dense 1");
    struct capture capture;
    (void)state;
    info.machines = machines;
    info.nmachines = 2;
    capture_begin(&capture);
    hr_banner_print(capture.out, &info, "digits");
    char *text = capture_end(&capture);
    static const char want[] =
        "hogring: ssp, 2 workers as threads on 2 machines\n"
        "  machines node-a (worker 0, 8 processors, v4), node-b (workers 1 to 2, 1 "
        "processor, v3, clock to 12.5 us)\n"
        "  model ";
    assert_memory_equal(text, want, sizeof want - 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_shared_is_said_once),
                                       cmocka_unit_test(machines_are_named_with_what_they_have)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
