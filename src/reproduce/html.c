/* html: the pen for reproduce.html, one file that fetches nothing. */
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"
#include "reproduce/page.h"

static const char STYLE[] =
    ":root{--ink:#111;--soft:#555;--paper:#fff;--line:#ddd;--good:#00694a;--bad:#a33100}"
    "@media(prefers-color-scheme:dark){:root{--ink:#eee;--soft:#aaa;--paper:#16181c;--line:#3a3d44;"
    "--good:#5fd0a8;--bad:#ff9a6b}}"
    "body{font:16px/1.5 Helvetica,Arial,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:76rem;margin:1.5rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.3rem;margin-top:3rem;border-bottom:2px solid var(--ink)}"
    "h3{font-size:1.1rem;margin-top:2.5rem}a{color:inherit}"
    "div.wide{overflow-x:auto;margin:1rem 0}"
    "table{border-collapse:collapse;font-size:.87rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}"
    "th{border-bottom:2px solid var(--ink)}td{min-width:7.5rem}"
    "td.t,th.t{text-align:left;min-width:5rem}"
    "td:first-child{position:sticky;left:0;background:var(--paper);overflow-wrap:anywhere}"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:bold}"
    "details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}"
    "svg{max-width:100%;height:auto;background:#fff;border-radius:4px}"
    "p.why{margin:.3rem 0 .3rem 2.2rem;text-indent:-2.2rem;font-size:.92rem}"
    "@media(max-width:500px){body{font-size:15px;padding:0 .6rem}th,td{padding:.2rem .35rem}"
    ".all td:nth-child(2),.all th:nth-child(2){display:none}.all td:nth-child(4){min-width:9rem}}"
    "@media print{details>*{display:block}h3{break-after:avoid}}";

static void begin(faro_text *out, const char *title) {
  faro_text_add(out,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                "<meta name=\"color-scheme\" content=\"light dark\"><title>%s</title><style>%s</style></head>"
                "<body>\n<h1>%s</h1>\n",
                title, STYLE, title);
}

static void end(faro_text *out) { faro_text_add(out, "</body></html>\n"); }

static void heading(faro_text *out, int level, const char *text) {
  faro_text_add(out, "<h%d id=\"", level);
  faro_markup_add(out, text);
  faro_text_add(out, "\">");
  faro_markup_add(out, text);
  faro_text_add(out, "</h%d>\n", level);
}

static void paragraph(faro_text *out, const char *text) {
  faro_text_add(out, "<p>");
  faro_markup_add(out, text);
  faro_text_add(out, "</p>\n");
}

static void table(faro_text *out, const char *const *head, size_t count, bool links) {
  faro_text_add(out, "<div class=\"wide\"><table%s><thead><tr>", links ? " class=\"all\"" : "");
  for (size_t i = 0; i < count; i++) {
    faro_text_add(out, i < 2 || (links && i + 1 < count) ? "<th class=\"t\">" : "<th>");
    faro_markup_add(out, head[i]);
    faro_text_add(out, "</th>");
  }
  faro_text_add(out, "</tr></thead><tbody>\n");
}

static void row(faro_text *out) { faro_text_add(out, "<tr>"); }

static void cell(faro_text *out, const char *text, faro_tone tone, bool link) {
  static const char *const class[] = {" class=\"t\"", "", " class=\"good\"", " class=\"bad\""};
  faro_text_add(out, "<td%s>", class[tone]);
  if (link) {
    faro_text_add(out, "<a href=\"#");
    faro_markup_add(out, text);
    faro_text_add(out, "\">");
  }
  faro_markup_add(out, text);
  faro_text_add(out, link ? "</a></td>" : "</td>");
}

static void row_end(faro_text *out) { faro_text_add(out, "</tr>\n"); }

static void table_end(faro_text *out) { faro_text_add(out, "</tbody></table></div>\n"); }

static void reason(faro_text *out, size_t number, const char *text) {
  faro_text_add(out, "<p class=\"why\">[%zu] ", number);
  faro_markup_add(out, text);
  faro_text_add(out, "</p>\n");
}

static void figure(faro_text *out, const faro_report *report, const char *caption, bool open) {
  char *svg = faro_report_svg(report);
  const char *start = svg ? strstr(svg, "<svg") : NULL;
  if (!start) out->failed = true;
  faro_text_add(out, "<details%s><summary>figure, ", open ? " open" : "");
  faro_markup_add(out, caption);
  faro_text_add(out, "</summary>\n%s</details>\n", start ? start : "");
  free(svg);
}

char *faro_book_html(const faro_book *book) {
  static const faro_pen pen = {.begin = begin,
                               .end = end,
                               .heading = heading,
                               .paragraph = paragraph,
                               .table = table,
                               .row = row,
                               .cell = cell,
                               .row_end = row_end,
                               .table_end = table_end,
                               .reason = reason,
                               .figure = figure};
  return faro_book_write(book, &pen);
}
