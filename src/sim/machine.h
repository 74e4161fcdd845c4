/* machine: what decides the bytes of results besides the experiment: the program and the kind of
 * machine. Journals say it, so that records which may differ in their last digits are not mixed. */
#ifndef FARO_SIM_MACHINE_H
#define FARO_SIM_MACHINE_H

#include <faro/base.h>

enum { FARO_PROGRAM_BYTES = 32, FARO_MACHINE_SIZE = 112, FARO_DIFFERENCE_SIZE = 160 };

/* The hash of the running program and, if faro is a shared library in it, of that too. Two builds
 * may differ though their versions do not. Computed once. */
const unsigned char *faro_program(void);

/* What about this machine decides the last digits, as words NAME=VALUE:
 *
 *   order  byte order
 *   fma    whether vectors are multiplied and added in one rounding (linalg/score.c, and libm)
 *   libc   version of the C library, whose exp and log may change
 *   blas   version of the BLAS and the processor that its kernels are for
 *
 * The number of threads decides nothing. */
const char *faro_machine(void);

/* The first word that differs: "fma is yes there and no here"; "" if none does. `there` need not be
 * well formed. */
const char *faro_machine_difference(const char *there, const char *here,
                                    char out[static FARO_DIFFERENCE_SIZE]);

/* Processors that this process may use: those that a batch system or taskset leaves to it. */
size_t faro_processors(void);

#endif
