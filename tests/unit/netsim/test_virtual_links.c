/* Links: when messages start, leave and arrive, by hand. */
#include "netsim/links.h"

#include "support/check.h"

static const int64_t MS = 1000000000, US = 1000000; /* in ps */

static struct hr_topology topology;
static struct hr_links links;

static void wire_up(const char *text)
{
    CHECK_OK(hr_topology_parse("t", text, &topology));
    CHECK_OK(hr_links_init(&links, &topology));
}

static int take_down(void **state)
{
    (void)state;
    hr_links_fini(&links);
    hr_topology_fini(&topology);
    return 0;
}

static void sends(size_t from, size_t to, int64_t now_ps, uint64_t bytes, int64_t start_ps,
                  int64_t free_ps, int64_t arrival_ps)
{
    const struct hr_passage passage = hr_links_send(&links, from, to, now_ps, bytes);
    assert_int_equal(passage.start_ps, start_ps);
    assert_int_equal(passage.free_ps, free_ps);
    assert_int_equal(passage.arrival_ps, arrival_ps);
}

static const char chain[] = "gpu a b\nnode s\nlink a s 4GB/s 5us\nlink s b 2GB/s 7us\n";

static void a_path_is_cut_through_at_its_smallest_bandwidth(void **state)
{
    (void)state;
    wire_up(chain);
    sends(0, 1, 3 * MS, 2000000, 3 * MS, 4 * MS, 4 * MS + 12 * US);
    sends(0, 1, 3 * MS, 0, 4 * MS, 4 * MS, 4 * MS + 12 * US);
}

static void a_busy_link_holds_up_the_whole_path(void **state)
{
    (void)state;
    wire_up(chain);
    sends(0, 1, 0, 2000000, 0, 1 * MS, 1 * MS + 12 * US);
    sends(0, 2, 0, 4000000, 1 * MS, 2 * MS, 2 * MS + 5 * US);
    sends(2, 1, 0, 2000000, 1 * MS, 2 * MS, 2 * MS + 7 * US);
}

static void directions_do_not_disturb_one_another(void **state)
{
    (void)state;
    wire_up(chain);
    sends(0, 1, 0, 2000000, 0, 1 * MS, 1 * MS + 12 * US);
    sends(1, 0, 0, 2000000, 0, 1 * MS, 1 * MS + 12 * US);
}

static void a_medium_is_held_by_one_whatever_the_direction(void **state)
{
    (void)state;
    wire_up("gpu a b\nnode s t\nlink a s 2GB/s shared m\nlink b s 2GB/s\nlink t s 2GB/s shared m\n"
            "gpu c\nlink c b 2GB/s shared m\n");
    sends(0, 2, 0, 2000000, 0, 1 * MS, 1 * MS);
    sends(2, 0, 0, 2000000, 1 * MS, 2 * MS, 2 * MS);
    sends(2, 3, 0, 2000000, 2 * MS, 3 * MS, 3 * MS);
    sends(2, 1, 0, 2000000, 0, 1 * MS, 1 * MS);
    sends(0, 3, 0, 2000000, 3 * MS, 4 * MS, 4 * MS); /* crosses it twice, holds it once */
    sends(0, 4, 0, 2000000, 4 * MS, 5 * MS, 5 * MS); /* so does this, with a wire between */
    assert_int_equal(links.channel[8].messages, 5);
    assert_int_equal(links.channel[8].busy_ps, 5 * MS);
}

static void lanes_add_up(void **state)
{
    (void)state;
    wire_up("gpu a b\nlink a b 1GB/s x4\n");
    sends(0, 1, 0, 4000000, 0, 1 * MS, 1 * MS);
}

static void a_message_to_oneself_passes_at_once(void **state)
{
    (void)state;
    wire_up(chain);
    sends(0, 0, 5, 1 << 30, 5, 5, 5);
    assert_int_equal(links.channel[0].messages, 0);
}

static void use_is_counted_and_the_busiest_is_named(void **state)
{
    (void)state;
    char name[HR_CHANNEL_NAME];
    wire_up("gpu a b\nnode s\nlink a s 4GB/s\nlink s b 2GB/s shared m\n");
    hr_links_send(&links, 1, 2, 0, 2000);
    assert_int_equal(hr_links_busiest(&links), 4); /* not 3, as busy as that */
    hr_links_send(&links, 0, 2, 0, 100);
    hr_links_send(&links, 0, 1, 0, 2000);
    assert_int_equal(links.channel[0].bytes, 2100);
    assert_int_equal(links.channel[0].messages, 2);
    assert_int_equal(links.channel[0].busy_ps, 25000 + 1000000);
    assert_int_equal(links.channel[1].messages, 0);
    assert_string_equal(hr_channel_name(&topology, 4, name), "m (shared)");
    assert_string_equal(hr_channel_name(&topology, 0, name), "a>s");
    assert_string_equal(hr_channel_name(&topology, 3, name), "b>s");
    assert_int_equal(hr_links_first_channel(&links, 1, 0), 3);
}

static void the_channel_that_is_busy_longest_keeps_a_message(void **state)
{
    (void)state;
    size_t channel = 99;
    wire_up("gpu a b c\nnode s\nlink a s 1GB/s\nlink s b 1GB/s shared m\nlink c s 1GB/s\n");
    assert_false(hr_links_busy(&links, 0, 1, 0, &channel));
    assert_int_equal(channel, 99);
    hr_links_send(&links, 0, 3, 0, 1000000);
    hr_links_send(&links, 2, 1, 0, 2000000);
    assert_true(hr_links_busy(&links, 0, 1, 0, &channel));
    assert_int_equal(channel, 2); /* not the medium, busy as long; nor its own */
    assert_true(hr_links_busy(&links, 1, 0, 0, &channel));
    assert_int_equal(channel, 6); /* the medium; the other direction is free */
    assert_true(hr_links_busy(&links, 0, 3, MS - 1, &channel));
    assert_int_equal(channel, 0);
    assert_false(hr_links_busy(&links, 0, 3, MS, &channel));
    assert_true(hr_links_busy(&links, 0, 1, MS, &channel));
    assert_false(hr_links_busy(&links, 0, 1, 2 * MS, &channel));
}

static void times_stop_at_never(void **state)
{
    (void)state;
    wire_up("gpu a b\nlink a b 1B/s 1h\n");
    sends(0, 1, 0, UINT64_MAX, 0, HR_PS_NEVER, HR_PS_NEVER);
    sends(0, 1, 0, UINT64_MAX, HR_PS_NEVER, HR_PS_NEVER, HR_PS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_path_is_cut_through_at_its_smallest_bandwidth, take_down),
        cmocka_unit_test_teardown(a_busy_link_holds_up_the_whole_path, take_down),
        cmocka_unit_test_teardown(directions_do_not_disturb_one_another, take_down),
        cmocka_unit_test_teardown(a_medium_is_held_by_one_whatever_the_direction, take_down),
        cmocka_unit_test_teardown(lanes_add_up, take_down),
        cmocka_unit_test_teardown(a_message_to_oneself_passes_at_once, take_down),
        cmocka_unit_test_teardown(use_is_counted_and_the_busiest_is_named, take_down),
        cmocka_unit_test_teardown(the_channel_that_is_busy_longest_keeps_a_message, take_down),
        cmocka_unit_test_teardown(times_stop_at_never, take_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
