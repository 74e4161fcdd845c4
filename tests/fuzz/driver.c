/* driver: the entry that libFuzzer calls; TARGET is the function to fuzz. */
#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return TARGET(data, size); }
