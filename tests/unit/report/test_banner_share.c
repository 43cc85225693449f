/* Of several runs: what they share once, then what differs. */
#include "report/banner_share.h"

#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_shared_is_said_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
