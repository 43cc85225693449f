#include "base/account.h"

_Thread_local struct hr_account_watch *hr_account_watch;
