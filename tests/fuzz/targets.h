/* targets: one function for each thing that reads bytes. libFuzzer drives them (make fuzz); the
 * tests run them over the corpus. Each must return for any input, without a finding of the
 * sanitizers. */
#ifndef FARO_TESTS_FUZZ_TARGETS_H
#define FARO_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

int fuzz_experiment(const uint8_t *data, size_t size); /* an experiment file */
int fuzz_override(const uint8_t *data, size_t size);   /* KEY=VALUE of --set */
int fuzz_run(const uint8_t *data, size_t size);        /* run.json, and everything drawn from it */
int fuzz_compose(const uint8_t *data, size_t size);    /* the list of faro account compose */
int fuzz_journal(const uint8_t *data, size_t size);    /* instances.journal */
int fuzz_sum(const uint8_t *data, size_t size); /* the lines of faro sum; two bytes choose the format */

int fuzz_settings(const uint8_t *data, size_t size); /* a role's settings */

/* wire.c: what strangers send to the service. */
int fuzz_json(const uint8_t *data, size_t size);
int fuzz_campaign(const uint8_t *data, size_t size);
int fuzz_policy(const uint8_t *data, size_t size);
int fuzz_report(const uint8_t *data, size_t size);
int fuzz_batch(const uint8_t *data, size_t size);
int fuzz_unseal(const uint8_t *data, size_t size);
int fuzz_key(const uint8_t *data, size_t size);

#endif
