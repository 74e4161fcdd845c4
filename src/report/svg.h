/* svg: pieces of markup that the figure and the page share. */
#ifndef FARO_REPORT_SVG_H
#define FARO_REPORT_SVG_H

#include "report/view.h"

/* Appends text with the characters that XML and HTML reserve escaped. */
void faro_markup_add(faro_text *out, const char *text);
/* Appends the settings that all results share, escaped. */
void faro_markup_add_setting(faro_text *out, const faro_report *report);
/* Appends the figure as an <svg> element. */
void faro_svg_add(const faro_report *report, faro_text *out);

#endif
