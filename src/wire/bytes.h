/* bytes: numbers as bytes, least first, and bytes as hexadecimal digits, lower case. */
#ifndef FARO_WIRE_BYTES_H
#define FARO_WIRE_BYTES_H

#include <faro/base.h>

void faro_store32(unsigned char *to, uint32_t value);
void faro_store64(unsigned char *to, uint64_t value);
uint32_t faro_load32(const unsigned char *from);
uint64_t faro_load64(const unsigned char *from);

/* 2 size digits and a zero byte. */
const char *faro_hex_write(const unsigned char *bytes, size_t size, char *out);
/* False, with nothing said of `out`, unless the text is exactly 2 size digits. Its time does not depend on them. */
bool faro_hex_read(const char *text, size_t length, unsigned char *out, size_t size);

#endif
