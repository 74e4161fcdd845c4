/* loss: L, its gradient and its Hessian in one pass over the rows. */
#ifndef FARO_GLM_LOSS_H
#define FARO_GLM_LOSS_H

#include <faro/glm.h>

/* Outputs that are NULL are skipped. The Hessian is packed. */
void faro_glm_pass(faro_link link, const faro_rows *rows, double ridge, const double *theta, double *loss,
                   double *gradient, double *hessian);

#endif
