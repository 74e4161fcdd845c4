/* bytes: little-endian numbers, and bytes as lower-case hexadecimal digits. */
#ifndef FARO_WIRE_BYTES_H
#define FARO_WIRE_BYTES_H

#include <faro/base.h>

void faro_store32(unsigned char *to, uint32_t value);
void faro_store64(unsigned char *to, uint64_t value);
uint32_t faro_load32(const unsigned char *from);
uint64_t faro_load64(const unsigned char *from);

/* Writes 2 * size digits and a zero byte; returns `out`. */
const char *faro_hex_write(const unsigned char *bytes, size_t size, char *out);
/* False unless the text is exactly 2 * size digits; then `out` is undefined. Takes the same time
 * for all digits. */
bool faro_hex_read(const char *text, size_t length, unsigned char *out, size_t size);

#endif
