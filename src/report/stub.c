#include "report/report.h"
void hr_banner_print(FILE *out, const struct hr_run_info *i, const char *data) { fprintf(out, "%s %zu workers %s\n", i->strategy, i->workers, data); }
void hr_progress_view_init(struct hr_progress_view *view, FILE *out, const char *label, double epochs, bool quiet) { *view = (struct hr_progress_view){.out = out, .label = label, .epochs = epochs, .quiet = quiet}; }
void hr_progress_view_update(struct hr_progress_view *view, const struct hr_progress *progress) { (void)view; (void)progress; }
void hr_progress_view_point(struct hr_progress_view *view, const struct hr_curve_point *p) { if (!view->quiet) fprintf(stderr, "%s epoch %g loss %.4f test %.4f acc %.4f s %.3f samples %llu\n", view->label, p->epoch, p->train_loss, p->test_loss, p->test_accuracy, p->seconds, (unsigned long long)p->samples); }
void hr_progress_view_end(struct hr_progress_view *view) { (void)view; }
void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n, double target) { (void)target; for (size_t i = 0; i < n; i++) fprintf(out, "%-10s acc %.4f loss %.4f %8.0f/s upd %llu stale %.2f max %llu  c %.3f m %.3f w %.3f %s\n", runs[i].strategy, runs[i].test_accuracy, runs[i].test_loss, runs[i].samples_per_s, (unsigned long long)runs[i].updates, runs[i].stale_updates ? (double)runs[i].stale_sum / (double)runs[i].stale_updates : 0, (unsigned long long)runs[i].stale_max, runs[i].compute_s, runs[i].communicate_s, runs[i].wait_s, runs[i].weights_digest); }
void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n, double target) { (void)out; (void)runs; (void)n; (void)target; }
enum hr_status hr_json_write_runs(const char *path, const struct hr_train_options *options, const struct hr_dataset *dataset, const struct hr_run_result *runs, size_t n) { (void)path; (void)options; (void)dataset; (void)runs; (void)n; return HR_OK; }
enum hr_status hr_json_write_rows(const char *path, const struct hr_bench_row *rows, size_t n) { (void)path; (void)rows; (void)n; return HR_OK; }
enum hr_status hr_plot_curves(const char *path, const char *title, const struct hr_run_result *runs, size_t n) { (void)path; (void)title; (void)runs; (void)n; return HR_OK; }
