/* regressions: runs every target over its corpus and over cut and bent copies of it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets.h"

static const struct {
  const char *name;
  int (*run)(const uint8_t *, size_t);
} targets[] = {
#define FUZZ(name) {#name, fuzz_##name},
#include "targets.def"
#undef FUZZ
};

enum { INPUT_MAX = 1 << 18 };
static uint8_t input[INPUT_MAX];
static uint8_t bent[INPUT_MAX];

/* The input, 32 prefixes of it, and 64 copies with one byte changed. */
static void run_variants(int (*run)(const uint8_t *, size_t), size_t size) {
  run(input, size);
  for (size_t i = 0; i < 32; i++) run(input, size * i / 32);
  for (size_t i = 0; i < 64 && size > 0; i++) {
    memcpy(bent, input, size);
    bent[size * i / 64] ^= (uint8_t)(1U << (i % 8));
    run(bent, size);
  }
}

static int run_folder(const char *corpus, size_t target) {
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/%s", corpus, targets[target].name);
  DIR *directory = opendir(folder);
  if (!directory) return 0;
  int files = 0;
  for (const struct dirent *entry = NULL; (entry = readdir(directory));) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
    if (!file) continue;
    run_variants(targets[target].run, fread(input, 1, sizeof input, file));
    fclose(file);
    files++;
  }
  closedir(directory);
  fprintf(stderr, "%s: %d inputs\n", targets[target].name, files);
  return files;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (run_folder(argv[1], i) == 0) {
      fprintf(stderr, "no corpus for %s\n", targets[i].name);
      return 1;
    }
  return 0;
}
