/* loss: L, its gradient and its Hessian in one pass over the rows. */
#ifndef FARO_GLM_LOSS_H
#define FARO_GLM_LOSS_H

#include <faro/glm.h>

/* Outputs that are NULL are skipped. The Hessian is packed. */
void faro_glm_pass(faro_link link, const faro_rows *rows, double ridge, const double *theta, double *loss,
                   double *gradient, double *hessian);

/* Rows as columns, in blocks of FARO_GLM_BLOCK rows: entry j of row i of a block is at
 * [j FARO_GLM_BLOCK + i]. `columns` has room for whole blocks. */
enum { FARO_GLM_BLOCK = 128 };
void faro_glm_columns(const faro_rows *rows, double *columns);
/* The gradient of each row of a block, (mu(<x, theta>) - y) x, as columns. */
void faro_glm_gradients(faro_link link, size_t dimension, size_t count, const double *columns,
                        const double *y, const double *theta, double *gradients);

#endif
