/* report: the results of a run, for people and programs: a table, JSON, CSV, a figure, a page.
 *
 * A report is one JSON document (run.json). Everything else is drawn from it, so a stored run can
 * be reported again at any time. */
#ifndef FARO_REPORT_H
#define FARO_REPORT_H

#include <faro/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_report faro_report;

FARO_API faro_status faro_report_make(faro_report **report, const faro_experiment *experiment,
                                      const faro_results *results, faro_error *error) FARO_WARN_UNUSED;
FARO_API faro_status faro_report_parse(faro_report **report, const char *name, const char *text,
                                       size_t length, faro_error *error) FARO_WARN_UNUSED;
/* Reads DIR/run.json. */
FARO_API faro_status faro_report_load(faro_report **report, const char *directory,
                                      faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_report_destroy(faro_report *report);

/* Sizes of the figure: as wide as a screen's page, or as one or two columns of a paper (3.5 and 7
 * inches), which have their title and caption in the text. */
#define FARO_FIGURE_LIST(X)                                                                                  \
  X(SCREEN, "screen")                                                                                        \
  X(ONE_COLUMN, "one-column")                                                                                \
  X(TWO_COLUMN, "two-column")

typedef enum faro_figure_size {
#define X(id, name) FARO_FIGURE_##id,
  FARO_FIGURE_LIST(X)
#undef X
} faro_figure_size;

FARO_API const char *faro_figure_size_name(faro_figure_size size);
FARO_API bool faro_figure_size_find(const char *name, faro_figure_size *size); /* false: no such name */

/* How the table is shown. */
typedef struct faro_table_style {
  size_t width; /* columns of the terminal: long labels wrap, and lesser columns are left out; 0: any */
  bool colour;  /* marks what is not proven, and who learnt nothing */
} faro_table_style;

/* Each returns a string that the caller frees, or NULL if memory runs out. */
FARO_API char *faro_report_table(const faro_report *report, faro_table_style style);
FARO_API char *faro_report_json(const faro_report *report); /* without curves */
FARO_API char *faro_report_summary_csv(const faro_report *report);
FARO_API char *faro_report_curves_csv(const faro_report *report);
FARO_API char *faro_report_instances_csv(const faro_report *report);
FARO_API char *faro_report_latex(const faro_report *report); /* with booktabs */
FARO_API char *faro_report_svg(const faro_report *report);   /* in the size for screens */
FARO_API char *faro_report_figure(const faro_report *report, faro_figure_size size);
FARO_API char *faro_report_caption(const faro_report *report); /* what bands and dashes mean, for a paper */
FARO_API char *faro_report_html(const faro_report *report);

/* The claims of an experiment that has not run, with what they rest on, in the form of run.json.
 * The results are zeros. Caller frees; NULL if memory runs out. */
FARO_API char *faro_report_claims(const faro_experiment *experiment);

/* Writes run.json, summary.csv, curves.csv, instances.csv, table.tex, NAME.svg and report.html into
 * an existing directory, each whole or not at all. */
FARO_API faro_status faro_report_write(const faro_report *report, const char *directory,
                                       faro_error *error) FARO_WARN_UNUSED;

/* Writes the figure in a size: NAME.svg, or for columns of a paper NAME-one-column.svg and
 * NAME-two-column.svg. *path is its path, which the caller frees. */
FARO_API faro_status faro_report_write_figure(const faro_report *report, const char *directory,
                                              faro_figure_size size, char **path,
                                              faro_error *error) FARO_WARN_UNUSED;

/* Two runs, compared row by row: those with the same label and sweep values. The reports must stay
 * as long as the comparison. */
typedef struct faro_comparison faro_comparison;

/* FARO_INVALID if the measures differ, or if no rows belong together. */
FARO_API faro_status faro_comparison_create(faro_comparison **comparison, const faro_report *first,
                                            const faro_report *second, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_comparison_destroy(faro_comparison *comparison); /* NULL is allowed */
/* `first` and `second` name the runs. Caller frees; NULL if memory runs out. */
FARO_API char *faro_comparison_table(const faro_comparison *comparison, const char *first, const char *second,
                                     faro_table_style style);
FARO_API char *faro_comparison_json(const faro_comparison *comparison, const char *first, const char *second);

#ifdef __cplusplus
}
#endif

#endif
