/* machine: see the header. */
#include "sim/machine.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "linalg/dense.h"

/* ---- the program */

static void hash_file(crypto_generichash_state *state, const char *path) {
  FILE *file = fopen(path, "rb");
  unsigned char part[1 << 14];
  for (size_t n = 0; file && (n = fread(part, 1, sizeof part, file)) > 0;)
    crypto_generichash_update(state, part, n);
  if (file) fclose(file);
}

/* Hashes the shared library that this code is in. The program itself has no name here. */
static int hash_own(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  const ElfW(Addr) here = (ElfW(Addr))hash_file;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD || here < start || here >= start + part->p_memsz) continue;
    if (object->dlpi_name && *object->dlpi_name) hash_file(context, object->dlpi_name);
    return 1;
  }
  return 0;
}

static unsigned char program[FARO_PROGRAM_BYTES];
static char machine[FARO_MACHINE_SIZE];

static void find_program(void) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof program);
  crypto_generichash_update(&state, (const unsigned char *)faro_version(), strlen(faro_version()));
  hash_file(&state, "/proc/self/exe");
  dl_iterate_phdr(hash_own, &state);
  crypto_generichash_final(&state, program, sizeof program);
}

/* ---- the machine */

static const char *fma_text(void) {
#if defined __x86_64__ || defined __i386__
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "yes" : "no";
#else
  return "native";
#endif
}

static void find_machine(void) {
  char blas[56];
  const unsigned one = 1;
  faro_dense_name(blas, sizeof blas);
  snprintf(machine, sizeof machine, "order=%s fma=%s libc=%.16s blas=%s",
           *(const unsigned char *)&one == 1 ? "little" : "big", fma_text(), gnu_get_libc_version(), blas);
}

static void find(void) {
  find_program();
  find_machine();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const unsigned char *faro_program(void) {
  pthread_once(&once, find);
  return program;
}

const char *faro_machine(void) {
  pthread_once(&once, find);
  return machine;
}

const char *faro_machine_difference(const char *there, const char *here,
                                    char out[static FARO_DIFFERENCE_SIZE]) {
  char shown[FARO_SHORT_SIZE];
  *out = '\0';
  while (*there || *here) {
    const size_t old = strcspn(there, " ");
    const size_t new = strcspn(here, " ");
    const size_t name = strcspn(here, "= ");
    const bool named = name < new &&old > name &&strncmp(there, here, name + 1) == 0;
    if (old != new || strncmp(there, here, old) != 0) {
      if (named)
        snprintf(out, FARO_DIFFERENCE_SIZE, "%.*s is %s there and %.*s here", (int)name, here,
                 faro_shorten(there + name + 1, old - name - 1, shown), (int)(new - name - 1),
                 here + name + 1);
      else snprintf(out, FARO_DIFFERENCE_SIZE, "it says \"%s\"", faro_shorten(there, strlen(there), shown));
      return out;
    }
    there += old + strspn(there + old, " ");
    here += new + strspn(here + new, " ");
  }
  return out;
}

size_t faro_processors(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return (size_t)CPU_COUNT(&allowed);
  const long processors = sysconf(_SC_NPROCESSORS_ONLN); /* more than cpu_set_t has room for */
  return processors > 0 ? (size_t)processors : 1;
}
