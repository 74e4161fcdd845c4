/* loss: L, its gradient and its Hessian in one pass over the rows. */
#ifndef FARO_GLM_LOSS_H
#define FARO_GLM_LOSS_H

#include <faro/glm.h>

/* Outputs that are NULL are skipped. The Hessian is packed. */
void faro_glm_pass(faro_link link, const faro_rows *rows, double ridge, const double *theta, double *loss,
                   double *gradient, double *hessian);

/* The gradient of each of `count` rows from `first` on, (mu(<x, theta>) - y) x, as columns: entry j
 * of row i at gradients[j FARO_GLM_BLOCK + i - first]. At most FARO_GLM_BLOCK rows. */
enum { FARO_GLM_BLOCK = 128 };
void faro_glm_gradients(faro_link link, const faro_rows *rows, size_t first, size_t count,
                        const double *theta, double *gradients);

#endif
