/* yaml: YAML files as trees, and as settings. One document; anchors and aliases are allowed;
 * libyaml does the parsing.
 *
 *     faro_yaml_load(path, fields, ...)                    settings that one table describes
 *     faro_yaml_parse(&tree, ...), a faro_reader over it   anything else */
#ifndef FARO_YAML_YAML_H
#define FARO_YAML_YAML_H

#include "field/reader.h"

/* Parses one document; an empty text is a tree of one node, NULL. `file` is for messages. Without
 * `lines` the text is a value from the command line: messages name `file` alone, and the lines of
 * all nodes are -1. On FARO_OK the caller clears the tree. */
faro_status faro_yaml_parse(faro_tree *tree, const char *file, bool lines, const char *text, size_t length,
                            faro_error *error) FARO_WARN_UNUSED;

/* Reads the settings of a role from a file of at most 256 KiB. Numbers may be in quotes.
 * Members without a key in the file keep their values, the defaults. */
faro_status faro_yaml_load(const char *path, const faro_field *fields, size_t count, void *settings,
                           faro_error *error) FARO_WARN_UNUSED;
/* The same from a text. */
faro_status faro_yaml_read(const char *path, const char *text, size_t length, const faro_field *fields,
                           size_t count, void *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
