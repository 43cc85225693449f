/* plot.h - results as pictures: .svg or .png by the path's ending.
 *
 * Needs gnuplot. Errors: HR_E_USAGE for another ending or nothing to draw; HR_E_IO names the
 * package to install, or has gnuplot's message. The file is replaced as a whole. */
#ifndef HR_PLOT_PLOT_H
#define HR_PLOT_PLOT_H

#include "plot/plot_schedule.h"
#include "report/layers.h"
#include "json/documents.h"
#include "report/store_times.h"

/* The runs' curves, and a note below the title (NULL: none); HR_E_USAGE when no run was
 * evaluated. */
HR_CHECKED enum hr_status hr_plot_curves(const char *path, const char *title, const char *note,
                                         const struct hr_run_result *runs, size_t n);

/* What stages of a pipeline did when, a panel above the other; HR_E_USAGE when one has none. */
HR_CHECKED enum hr_status hr_plot_schedules(const char *path, const char *title,
                                            const struct hr_plot_schedule *panel, size_t n);

/* Times over sizes or ranks, a curve an algorithm or operation. */
enum hr_plot_over { HR_PLOT_OVER_BYTES, HR_PLOT_OVER_RANKS };
HR_CHECKED enum hr_status hr_plot_bench(const char *path, const char *title,
                                        const struct hr_bench_row *rows, size_t n,
                                        enum hr_plot_over over);

/* Times over sizes, a curve a setup; where all rows have one size (a sweep), times over workers, a
 * curve a number of servers. */
HR_CHECKED enum hr_status hr_plot_store(const char *path, const char *title,
                                        const struct hr_store_table *table);

/* Samples/s over workers: a curve for each model and setting, a band from the slowest to the
 * fastest round, what would be ideal from the fastest curve's fewest workers, and the compute roof
 * where it is near. */
HR_CHECKED enum hr_status hr_plot_speeds(const char *path, const char *title,
                                         const struct hr_speed_row *rows, size_t n);

/* GFLOP/s over arithmetic intensity, both logarithmic: roofs as lines, a point for each part of a
 * layer that multiplies. */
HR_CHECKED enum hr_status hr_plot_layers(const char *path, const char *title,
                                         const struct hr_profile *profile);

#endif
