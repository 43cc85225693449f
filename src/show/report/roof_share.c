#include "report/roof_share.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "products/roofs.h"

static enum hr_share_lack lack(const struct hr_roof_share *share, size_t n)
{
    return n == 0                                                ? HR_SHARE_HAS_NO_ROOF
           : n < HR_SHARE_FEWEST_ROUNDS                          ? HR_SHARE_HAS_FEW_ROUNDS
           : hr_middle_spread(share->roof) > HR_ROOF_MOST_SPREAD ? HR_SHARE_ROOF_WAVERED
           : share->share.median > 1                             ? HR_SHARE_CANNOT_BE
                                                                 : HR_SHARE_IS_KNOWN;
}

struct hr_roof_share hr_roof_share(const struct hr_roof_round *rounds, size_t n)
{
    double roofs[2 * HR_SHARE_MOST_ROUNDS], shares[HR_SHARE_MOST_ROUNDS];
    struct hr_roof_share share = {.share = {NAN, NAN, NAN}};
    HR_ASSERT(n <= HR_SHARE_MOST_ROUNDS);
    for (size_t i = 0; i < n; i++) {
        roofs[2 * i] = rounds[i].before;
        roofs[2 * i + 1] = rounds[i].after;
        shares[i] = 2 * rounds[i].rate / (rounds[i].before + rounds[i].after);
    }
    if (n) {
        share.roof = hr_middle(roofs, 2 * n);
        share.share = hr_middle(shares, n);
    }
    share.lack = lack(&share, n);
    return share;
}

const char *hr_spread_text(double spread, char text[16])
{
    snprintf(text, 16, spread < 0.0995 ? "%.1f" : "%.0f", fmin(100 * spread, 9999));
    return text;
}

const char *hr_roof_share_lack(const struct hr_roof_share *share, char text[64])
{
    char number[16];
    text[0] = '\0';
    switch (share->lack) {
    case HR_SHARE_IS_KNOWN:
        break;
    case HR_SHARE_HAS_NO_ROOF:
        snprintf(text, 64, "virtual time has no roof");
        break;
    case HR_SHARE_HAS_FEW_ROUNDS:
        snprintf(text, 64, "it takes %d rounds to tell", HR_SHARE_FEWEST_ROUNDS);
        break;
    case HR_SHARE_ROOF_WAVERED:
        snprintf(text, 64, "the roof wavered by %s %%",
                 hr_spread_text(hr_middle_spread(share->roof), number));
        break;
    case HR_SHARE_CANNOT_BE:
        snprintf(text, 64, "%.0f %% of the roof cannot be: it was disturbed",
                 100 * share->share.median);
        break;
    }
    return text;
}
