#include <stdio.h>

int main(void)
{
    puts("hogring " HR_VERSION);
    return 0;
}
