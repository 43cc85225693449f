/* doctor.h - what hogring doctor shows, for people and as JSON.
 *
 * Threads: none. Test: tests/cli/doctor.bats */
#ifndef HR_VIEWS_DOCTOR_H
#define HR_VIEWS_DOCTOR_H

#include <jansson.h>
#include <stdio.h>

#include "launch/look.h"

/* --- doctor view --- */

/* What hogring doctor shows of runs: a list, one run rank by rank, or JSON.  */

/* A run, and what a look at it showed (nothing, when it cannot be read). */
struct hr_patient {
    const struct hr_run_file *run;
    struct hr_look look;
    bool last_crash;
};

/* One line a run, in `width` columns. */
void hr_patients_print(FILE *out, const struct hr_patient *patients, size_t n, size_t width);

/* One that can be read: each rank, what is wrong, and what each did last. */
void hr_patient_print(FILE *out, const struct hr_patient *patient, size_t width);

/* The same as JSON, a new reference. */
json_t *hr_patient_json(const struct hr_patient *patient);

#endif
