/* data: the figure for the page's script. */
#ifndef FARO_REPORT_DATA_H
#define FARO_REPORT_DATA_H

#include "report/figure.h"

/* Appends JSON that can stand inside a <script> element: it has no "<".
 *
 *   {"x": {"name", "log", "swept"}, "y": {"name", "log"},
 *    "panels": ["epsilon = 1", ...],
 *    "lines": [{"name", "colour", "marker", "at": [a trace per panel, or null]}],
 *    "uniform": [a trace per panel, or null]}
 *
 * The best line is the first. A trace is {"x": [...], "y": [means], "low": [...], "high": [...],
 * "bound": [...], "dashed"}; low, high and bound are left out where they are not known. */
void faro_data_add(const faro_figure *figure, faro_text *out);

#endif
