/* svg: the figure as an image, and markup that it shares with the page. */
#ifndef FARO_REPORT_SVG_H
#define FARO_REPORT_SVG_H

#include "report/figure.h"

/* Appends text with the characters that XML and HTML reserve escaped. */
void faro_markup_add(faro_text *out, const char *text);
/* Appends the settings that all results share, escaped. */
void faro_markup_add_setting(faro_text *out, const faro_report *report);
/* Appends the figure as an <svg> element. Only the size for screens has room for a caption;
 * `titled` puts the title above it. */
void faro_svg_add(const faro_figure *figure, faro_figure_size size, bool titled, faro_text *out);

#endif
