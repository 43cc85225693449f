/* roof_share.h - which share of a roof some work reached, where that can be said.
 *
 * A round of the work has a measurement of the roof right before it and one right behind it; its
 * share is its rate by the mean of the two. What is said is the median over rounds, and where it
 * lies with 95 % (hr_middle). Nothing is said where the roof wavered by more than
 * HR_ROOF_MOST_SPREAD, nor of a share above 1, which cannot be: then the machine did something else
 * while the roof was measured.
 *
 * Threads: pure functions. Test: tests/unit/report/test_roof_share.c
 */
#ifndef HR_REPORT_ROOF_SHARE_H
#define HR_REPORT_ROOF_SHARE_H

#include "base/median.h"

enum { HR_SHARE_FEWEST_ROUNDS = 3, HR_SHARE_MOST_ROUNDS = 99 };

struct hr_roof_round {
    double rate;          /* of the work: operations a second */
    double before, after; /* the roof */
};

enum hr_share_lack {
    HR_SHARE_IS_KNOWN,
    HR_SHARE_HAS_NO_ROOF,
    HR_SHARE_HAS_FEW_ROUNDS,
    HR_SHARE_ROOF_WAVERED,
    HR_SHARE_CANNOT_BE
};

struct hr_roof_share {
    enum hr_share_lack lack;
    struct hr_middle roof;  /* operations a second; all 0: there is none */
    struct hr_middle share; /* shown only where nothing lacks; NaN without a roof */
};

/* n <= HR_SHARE_MOST_ROUNDS; 0: there is no roof. */
struct hr_roof_share hr_roof_share(const struct hr_roof_round *rounds, size_t n);

/* Why there is no share, as "the roof wavered by 12 %"; "": there is one. Returns text. */
const char *hr_roof_share_lack(const struct hr_roof_share *share, char text[64]);

/* A spread in per cent, as people read it: "5.4", "12". Returns text. */
const char *hr_spread_text(double spread, char text[16]);

#endif
