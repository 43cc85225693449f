/* sections.h - the sections of a page: each knows whether the documents have anything for it, and
 * writes itself.
 */
#ifndef HR_PAGE_SECTIONS_H
#define HR_PAGE_SECTIONS_H

#include <stdio.h>

#include "page/view.h"

/* Title, what it is about, and what came out, in a sentence. */
void hr_head_write(FILE *out, const struct hr_view *view);
/* The same sentence, for those who share a link: as text that is not escaped. free() it; NULL: no
 * memory. */
char *hr_head_title(const struct hr_view *view);

bool hr_results_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_results_write(FILE *out, const struct hr_view *view);

bool hr_curves_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_curves_write(FILE *out, const struct hr_view *view);

bool hr_times_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_times_write(FILE *out, const struct hr_view *view);

bool hr_waits_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_waits_write(FILE *out, const struct hr_view *view);

bool hr_staleness_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_staleness_write(FILE *out, const struct hr_view *view);

bool hr_comparisons_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_comparisons_write(FILE *out, const struct hr_view *view);

bool hr_tuning_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_tuning_write(FILE *out, const struct hr_view *view);
bool hr_losses_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_losses_write(FILE *out, const struct hr_view *view);

bool hr_pipelines_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_pipelines_write(FILE *out, const struct hr_view *view);

bool hr_classes_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_classes_write(FILE *out, const struct hr_view *view);

bool hr_bench_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_bench_write(FILE *out, const struct hr_view *view);

bool hr_experiments_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_experiments_write(FILE *out, const struct hr_view *view);

bool hr_settings_there(const struct hr_view *view);
HR_CHECKED enum hr_status hr_settings_write(FILE *out, const struct hr_view *view);

/* The marker of drawn group s, at a place. */
void hr_marker_write(FILE *out, size_t s, double x, double y);
/* A sample of the line of drawn group s: colour, dash and marker. */
void hr_key_write(FILE *out, size_t s);
/* That of a group, where it is drawn. */
void hr_group_key_write(FILE *out, const struct hr_view *view, size_t group);

#endif
