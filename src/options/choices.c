#include "options/choices.h"

#include <string.h>

#include "options/train_options.h"

struct hr_choices hr_choices_of(const struct hr_train_options *options)
{
    struct hr_choices choices;
    const struct hr_option *row;
    _Static_assert(sizeof choices.clock == sizeof(unsigned), "enums are numbers of words");
    memset(&choices, 0, sizeof choices);
    for (size_t i = 0; (row = hr_train_option_at(i)) != NULL; i++)
        if (row->choice) {
            const unsigned word = hr_option_word(row, (const char *)options + row->offset);
            memcpy((char *)&choices + row->choice - 1, &word, sizeof word);
        }
    choices.explored = strcmp(options->schedule, "free") != 0;
    return choices;
}
