/* digits.h - the four files of data/digits, embedded by digits_blob.S. */
#ifndef HR_FORMATS_DIGITS_H
#define HR_FORMATS_DIGITS_H

#include <stdint.h>

extern const uint8_t hr_digits_train_images[], hr_digits_train_images_end[];
extern const uint8_t hr_digits_train_labels[], hr_digits_train_labels_end[];
extern const uint8_t hr_digits_test_images[], hr_digits_test_images_end[];
extern const uint8_t hr_digits_test_labels[], hr_digits_test_labels_end[];

#endif
