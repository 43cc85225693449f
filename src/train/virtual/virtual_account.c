#include "virtual/virtual_account.h"

void hr_virtual_begin(struct hr_virtual_account *account, int64_t now_ps)
{
    account->since_ps = account->looked_ps = now_ps;
    account->under_way = 0;
    for (size_t i = 0; i < account->nmoving; i++)
        account->moving_ps[i] = 0;
}

void hr_virtual_spend(struct hr_virtual_account *account, enum hr_activity activity, int64_t ps)
{
    account->spent_ps[activity] += ps;
    account->account->spent_ns[activity] = account->spent_ps[activity] / 1000;
}

/* While the worker computes, since_ps is in the future, and nothing counts. */
static void count_moving(struct hr_virtual_account *account, int64_t now_ps)
{
    const int64_t looked = account->looked_ps;
    const int64_t since = looked > account->since_ps ? looked : account->since_ps;
    if (account->under_way && now_ps > since)
        account->moving_ps[0] += now_ps - since;
    account->looked_ps = now_ps;
}

void hr_virtual_move(struct hr_virtual_account *from, struct hr_virtual_account *to, bool leaves,
                     int64_t now_ps)
{
    count_moving(from, now_ps);
    count_moving(to, now_ps);
    from->under_way += leaves ? 1 : (size_t)-1;
    to->under_way += leaves ? 1 : (size_t)-1;
}

void hr_virtual_settle(struct hr_virtual_account *account, int64_t now_ps)
{
    const int64_t elapsed = now_ps - account->since_ps;
    int64_t moving = 0;
    count_moving(account, now_ps);
    for (size_t i = 0; i < account->nmoving; i++) {
        moving = account->moving_ps[i] > moving ? account->moving_ps[i] : moving;
        account->moving_ps[i] = 0;
    }
    moving = moving < elapsed ? moving : elapsed;
    hr_virtual_spend(account, HR_COMMUNICATE, moving);
    hr_virtual_spend(account, HR_WAIT, elapsed - moving);
    account->since_ps = now_ps;
}
