/* pages.h - documents for tests of pages, and what a page must be like. */
#ifndef HR_TESTS_SUPPORT_PAGES_H
#define HR_TESTS_SUPPORT_PAGES_H

#include <jansson.h>
#include <stddef.h>

/* A run with `points` evaluations and `workers` workers; `label` is its strategy. */
json_t *sample_run(const char *label, int seed, size_t points, size_t workers);
json_t *sample_document(json_t *runs);
/* Each tag is closed in its order; nothing is said to be nan; it ends as a page does. */
void check_page(const char *page);
/* The page of a document, which is released; free() it. */
char *page_of(json_t *document);

#endif
