/* tree: a parsed file or document. The YAML parser and the JSON parser make trees; reader.h reads
 * them by tables.
 *
 * Nodes are in the order of the text: a node, then everything inside it, then the next one.
 *
 *   {a: 1, b: [2, 3]}      node   0 mapping   1 a: 1   2 b: list   3 2   4 3
 *                          next   5           2        5           4     5
 *
 * A YAML alias is a node whose target is the anchored node, so aliases cost nothing. They may
 * form cycles: a reader goes no deeper than its tables. */
#ifndef FARO_FIELD_TREE_H
#define FARO_FIELD_TREE_H

#include <faro/base.h>

typedef enum faro_node_type {
  FARO_NODE_NULL, /* JSON's null; YAML: an empty file */
  FARO_NODE_FALSE,
  FARO_NODE_TRUE,
  FARO_NODE_NUMBER,
  FARO_NODE_TEXT, /* JSON: a string. YAML and the command line: any scalar */
  FARO_NODE_LIST,
  FARO_NODE_MAPPING
} faro_node_type;

typedef enum faro_origin { FARO_FROM_YAML, FARO_FROM_JSON, FARO_FROM_ARGV } faro_origin;

typedef struct faro_node {
  faro_node_type type;
  faro_origin origin;
  bool quoted;        /* YAML only: between quotes, so not a number */
  uint32_t count;     /* members or elements */
  uint32_t next;      /* the first node that is not inside this one */
  uint32_t target;    /* where the value is: this node, unless it is an alias */
  int line, key_line; /* YAML only: from 1, or -1 */
  const char *key;    /* members only; NULL if it is not a text */
  const char *text;   /* UTF-8 without escapes; NULL if it contains a zero byte */
  double number;
} faro_node;

typedef struct faro_tree {
  faro_node *node; /* node[0] is the whole document */
  uint32_t count, capacity;
  char *texts; /* what keys and texts point into */
} faro_tree;

/* Adds a node at the end, with `next` after it and itself as the target. NULL, with `error` set, if
 * memory is out. The pointer is valid until the next call. */
faro_node *faro_tree_add(faro_tree *tree, faro_error *error);
void faro_tree_clear(faro_tree *tree);

/* The value of a node: the node itself or, for an alias, its target. Its first child is the node
 * after it (faro_tree_first); `next` of a child is the next child. */
const faro_node *faro_tree_value(const faro_tree *tree, uint32_t node);
uint32_t faro_tree_first(const faro_tree *tree, uint32_t node);
/* The first member with this key; 0 if the key is missing or the node is not a mapping. */
uint32_t faro_tree_member(const faro_tree *tree, uint32_t node, const char *key);

#endif
