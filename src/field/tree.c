/* tree: see the header. */
#include "field/tree.h"

#include <stdlib.h>
#include <string.h>

faro_node *faro_tree_add(faro_tree *tree, faro_error *error) {
  if (tree->count == tree->capacity) {
    const uint32_t capacity = tree->capacity ? 2 * tree->capacity : 64;
    faro_node *larger = realloc(tree->node, capacity * sizeof *larger);
    if (!larger) {
      (void)faro_fail(error, FARO_MEMORY, "out of memory");
      return NULL;
    }
    tree->node = larger;
    tree->capacity = capacity;
  }
  faro_node *node = &tree->node[tree->count];
  *node = (faro_node){.target = tree->count, .next = tree->count + 1};
  tree->count++;
  return node;
}

void faro_tree_clear(faro_tree *tree) {
  free(tree->node);
  free(tree->texts);
  *tree = (faro_tree){0};
}

const faro_node *faro_tree_value(const faro_tree *tree, uint32_t node) {
  return &tree->node[tree->node[node].target];
}

uint32_t faro_tree_first(const faro_tree *tree, uint32_t node) { return tree->node[node].target + 1; }

uint32_t faro_tree_member(const faro_tree *tree, uint32_t node, const char *key) {
  const faro_node *mapping = faro_tree_value(tree, node);
  if (mapping->type != FARO_NODE_MAPPING) return 0;
  uint32_t child = faro_tree_first(tree, node);
  for (uint32_t i = 0; i < mapping->count; i++, child = tree->node[child].next)
    if (tree->node[child].key && strcmp(tree->node[child].key, key) == 0) return child;
  return 0;
}
