/* bytes: see the header. */
#include "wire/bytes.h"

#include <sodium.h>

void faro_store32(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (8 * i));
}

void faro_store64(unsigned char *to, uint64_t value) {
  for (int i = 0; i < 8; i++) to[i] = (unsigned char)(value >> (8 * i));
}

uint32_t faro_load32(const unsigned char *from) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) value |= (uint32_t)from[i] << (8 * i);
  return value;
}

uint64_t faro_load64(const unsigned char *from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value |= (uint64_t)from[i] << (8 * i);
  return value;
}

const char *faro_hex_write(const unsigned char *bytes, size_t size, char *out) {
  return sodium_bin2hex(out, 2 * size + 1, bytes, size);
}

/* sodium_hex2bin would accept upper case too. */
bool faro_hex_read(const char *text, size_t length, unsigned char *out, size_t size) {
  if (length != 2 * size) return false;
  for (size_t i = 0; i < length; i++)
    if (text[i] >= 'A' && text[i] <= 'F') return false;
  const char *end = NULL;
  size_t read = 0;
  return sodium_hex2bin(out, size, text, length, NULL, &read, &end) == 0 && read == size &&
         end == text + length;
}
