/* help_search.h - hogring help WORDS: the options and the places of the manual that tell of them.
 *
 * A word is found where a word of the text begins with it, or is another form of it ("evaluated",
 * "evaluation"); and by what other programs call an option (options/nearest.h). What has more
 * of the words stands first, then what has them in its name, its title, its text.
 *
 * Test: tests/cli/manual.bats
 */
#ifndef HR_CLI_HELP_SEARCH_H
#define HR_CLI_HELP_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Print what there is on these words; false: nothing, and nothing was printed. */
bool hr_help_search(size_t nwords, char *const *words);

#endif
