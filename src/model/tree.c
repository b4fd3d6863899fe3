/* Merges stacks into a tree, from their outer ends (top-down) or from their leaves (bottom-up).
 * Nodes are in one array and refer to each other by index; no recursion, so depth costs no stack.
 */
#include "model/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct builder {
	const struct fsc_stacks *t;
	struct fsc_tree *tree;
	struct fsc_map children;  /* struct edge to index of the node + 1 */
	struct fsc_map processes; /* comm and pid to index of a stack with them + 1 */
};

struct edge {
	uint32_t parent, kind, id;
};

static void builder_release(struct builder *b)
{
	fsc_map_release(&b->children);
	fsc_map_release(&b->processes);
}

static struct fsc_tree_node *node_at(const struct fsc_tree *tree, uint32_t i)
{
	return FSC_AT(struct fsc_tree_node, &tree->nodes, i);
}

static int push_node(struct fsc_tree *tree, const struct edge *e, struct fsc_err *err)
{
	struct fsc_tree_node *n;

	if (tree->nodes.n >= FSC_NO_NODE - 1)
		return fsc_err_nomem(err);
	n = fsc_vec_push(&tree->nodes);
	if (!n)
		return fsc_err_nomem(err);
	n->kind = e->kind;
	n->id = e->id;
	n->parent = e->parent;
	n->child = n->next = FSC_NO_NODE;
	n->depth = e->parent == FSC_NO_NODE ? 0 : node_at(tree, e->parent)->depth + 1;
	if (n->depth > tree->depth)
		tree->depth = n->depth;
	return 0;
}

/* Moves *at to its child of that kind and id, and adds the weight to it. */
static int step_to_child(struct builder *b, uint32_t *at, enum fsc_tree_kind kind, uint32_t id,
			 uint64_t weight, struct fsc_err *err)
{
	struct edge e = {.parent = *at, .kind = kind, .id = id};
	uint64_t *slot = fsc_map_put(&b->children, &e, sizeof(e), NULL);
	int rc;

	if (!slot)
		return fsc_err_nomem(err);
	if (!*slot) {
		rc = push_node(b->tree, &e, err);
		if (rc)
			return rc;
		*slot = b->tree->nodes.n;
	}
	*at = (uint32_t)(*slot - 1);
	node_at(b->tree, *at)->total += weight;
	return 0;
}

/* The first stack seen with the comm and pid of stack i. */
static int process_of(struct builder *b, size_t i, uint32_t *ret, struct fsc_err *err)
{
	const struct fsc_stack *s = FSC_AT(struct fsc_stack, &b->t->stacks, i);
	struct {
		uint32_t pid;
		char comm[FSC_COMM_LEN];
	} key;
	uint64_t *slot;

	memset(&key, 0, sizeof(key));
	key.pid = s->pid;
	memcpy(key.comm, s->comm, strnlen(s->comm, sizeof(key.comm)));
	slot = fsc_map_put(&b->processes, &key, sizeof(key), NULL);
	if (!slot)
		return fsc_err_nomem(err);
	if (!*slot)
		*slot = i + 1;
	*ret = (uint32_t)(*slot - 1);
	return 0;
}

/* The outer end of a stack: its process, and a node for missing callers. */
static int step_outer(struct builder *b, size_t i, bool bottom_up, uint32_t *at,
		      struct fsc_err *err)
{
	const struct fsc_stack *s = FSC_AT(struct fsc_stack, &b->t->stacks, i);
	uint64_t weight = fsc_stacks_weight(b->t, s);
	uint32_t process = 0;
	int rc = 0;

	if (s->truncated && bottom_up)
		rc = step_to_child(b, at, FSC_NODE_TRUNCATED, 0, weight, err);
	if (!rc && s->comm[0])
		rc = process_of(b, i, &process, err);
	if (!rc && s->comm[0])
		rc = step_to_child(b, at, FSC_NODE_PROCESS, process, weight, err);
	if (!rc && s->truncated && !bottom_up)
		rc = step_to_child(b, at, FSC_NODE_TRUNCATED, 0, weight, err);
	return rc;
}

static int lay_stack(struct builder *b, size_t i, bool bottom_up, struct fsc_err *err)
{
	const struct fsc_stack *s = FSC_AT(struct fsc_stack, &b->t->stacks, i);
	uint64_t weight = fsc_stacks_weight(b->t, s);
	uint32_t at = 0;
	int rc = bottom_up ? 0 : step_outer(b, i, bottom_up, &at, err);

	node_at(b->tree, 0)->total += weight;
	for (uint32_t k = 0; !rc && k < s->n; k++) {
		uint32_t place = s->first + (bottom_up ? k : s->n - 1 - k);

		rc = step_to_child(b, &at, FSC_NODE_FRAME, *FSC_AT(uint32_t, &b->t->ids, place),
				   weight, err);
		/* Bottom-up, a function's own weight belongs to its leaf. */
		if (!rc && bottom_up && !k)
			node_at(b->tree, at)->self += weight;
	}
	if (!rc && bottom_up)
		rc = step_outer(b, i, bottom_up, &at, err);
	if (!rc && !bottom_up)
		node_at(b->tree, at)->self += weight;
	return rc;
}

static const char *node_name(const struct fsc_stacks *t, const struct fsc_tree_node *n)
{
	if (n->kind == FSC_NODE_FRAME)
		return FSC_AT(struct fsc_frame, &t->frames, n->id)->name;
	return n->kind == FSC_NODE_PROCESS ? FSC_AT(struct fsc_stack, &t->stacks, n->id)->comm : "";
}

static int compare_nodes(const void *va, const void *vb, void *arg)
{
	const struct builder *b = arg;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct fsc_tree_node *x = node_at(b->tree, ia), *y = node_at(b->tree, ib);
	int r;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	r = strcmp(node_name(b->t, x), node_name(b->t, y));
	return r ? r : (ia > ib) - (ia < ib);
}

/* Links all children, heaviest first: the list of each parent is built from its end. */
static int link_children(struct builder *b, struct fsc_err *err)
{
	size_t n = b->tree->nodes.n;
	FSC_AUTO(fsc_freep) uint32_t *order = calloc(n, sizeof(*order));

	if (!order)
		return fsc_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_nodes, b);
	for (size_t i = n; i-- > 0;) {
		struct fsc_tree_node *node = node_at(b->tree, order[i]), *parent;

		if (node->parent == FSC_NO_NODE)
			continue;
		parent = node_at(b->tree, node->parent);
		node->next = parent->child;
		parent->child = order[i];
	}
	return 0;
}

int fsc_tree_make(const struct fsc_stacks *t, bool bottom_up, struct fsc_tree *ret,
		  struct fsc_err *err)
{
	const struct edge root = {.parent = FSC_NO_NODE, .kind = FSC_NODE_ROOT};
	FSC_AUTO(builder_release) struct builder b = {.t = t, .tree = ret};
	int rc;

	*ret = (struct fsc_tree){.nodes = FSC_VEC_INIT(struct fsc_tree_node)};
	rc = push_node(ret, &root, err);
	for (size_t i = 0; !rc && i < t->stacks.n; i++)
		rc = lay_stack(&b, i, bottom_up, err);
	if (!rc)
		rc = link_children(&b, err);
	if (rc)
		fsc_tree_release(ret);
	return rc;
}

void fsc_tree_release(struct fsc_tree *tree)
{
	fsc_vec_release(&tree->nodes);
}

uint32_t fsc_tree_next(const struct fsc_tree *tree, uint32_t i)
{
	const struct fsc_tree_node *n = node_at(tree, i);

	if (n->child != FSC_NO_NODE)
		return n->child;
	while (n->next == FSC_NO_NODE && n->parent != FSC_NO_NODE)
		n = node_at(tree, n->parent);
	return n->next;
}
