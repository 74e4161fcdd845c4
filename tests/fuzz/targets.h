/* targets: one function for each thing that reads bytes (targets.def). libFuzzer drives them (make
 * fuzz); the tests run them over the corpus. Each must return for any input, without a finding of
 * the sanitizers. */
#ifndef FARO_TESTS_FUZZ_TARGETS_H
#define FARO_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ(name) int fuzz_##name(const uint8_t *data, size_t size);
#include "targets.def"
#undef FUZZ

#endif
