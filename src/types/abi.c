/* The calling conventions of x86-64 (System V) and arm64 (AAPCS64), as far as integer registers go:
 * which a parameter takes, and whether it is all there. Both are here on every machine, so that
 * both are tested. */
#include "types/abi.h"

#define NESTING_MAX 16
/* Limit of members and elements visited in one parameter. */
#define VISITS_MAX 200

static bool is_aggregate(const struct fsc_type *type)
{
	return type->kind == FSC_TYPE_STRUCT || type->kind == FSC_TYPE_UNION;
}

static unsigned registers(uint64_t size)
{
	return (unsigned)((size + 7) / 8);
}

/* C++: with a copy constructor or destructor of its own, or a part that has one, or a vtable. */
static bool is_nontrivial(const struct fsc_type *type, int nesting, int *visits)
{
	while (type->kind == FSC_TYPE_ARRAY && nesting++ < NESTING_MAX)
		type = type->to;
	if (!is_aggregate(type) || nesting > NESTING_MAX)
		return false;
	if (type->is_nontrivial)
		return true;
	for (size_t i = 0; i < type->n_members && (*visits)++ < VISITS_MAX; i++)
		if (is_nontrivial(type->members[i].type, nesting + 1, visits))
			return true;
	return false;
}

static bool passes_reference(const struct fsc_type *type)
{
	int visits = 0;

	return is_nontrivial(type, 0, &visits);
}

/* ---- x86-64 ---- */

/* What the two halves of a struct of 16 bytes are made of. */
struct halves {
	bool integer[2], sse[2];
	bool memory;  /* does not go into registers at all */
	bool unknown; /* its parts are not known */
	int visits;
};

static void mark_halves(struct halves *h, bool *half, uint64_t offset, uint64_t size)
{
	if (!size || offset > 16 || size > 16 - offset) {
		h->memory |= size != 0;
		return;
	}
	half[offset / 8] = true;
	half[(offset + size - 1) / 8] = true;
}

static void split(struct halves *h, const struct fsc_type *type, uint64_t offset, int nesting);

static void split_scalar(struct halves *h, const struct fsc_type *type, uint64_t offset)
{
	bool odd_size = type->size & (type->size - 1);

	/* Packed structs go to memory; complex numbers are aligned as their halves. */
	if (type->size > 16 ||
	    (!odd_size && type->size && offset % (type->size > 8 ? 8 : type->size) &&
	     type->kind != FSC_TYPE_FLOAT))
		h->memory = true;
	else
		mark_halves(h, type->kind == FSC_TYPE_FLOAT ? h->sse : h->integer, offset,
			    type->size);
}

static void split_members(struct halves *h, const struct fsc_type *type, uint64_t offset,
			  int nesting)
{
	h->unknown |= !type->is_complete;
	for (size_t i = 0; i < type->n_members && h->visits++ < VISITS_MAX; i++) {
		const struct fsc_member *m = &type->members[i];

		if (m->bitfield)
			mark_halves(h, h->integer, offset + m->offset_bits / 8,
				    (m->offset_bits % 8 + m->size_bits + 7) / 8);
		else
			split(h, m->type, offset + m->offset_bits / 8, nesting + 1);
	}
}

static void split(struct halves *h, const struct fsc_type *type, uint64_t offset, int nesting)
{
	if (nesting > NESTING_MAX || offset > 16 || type->size > 16) {
		h->memory = true;
		return;
	}
	switch (type->kind) {
	case FSC_TYPE_STRUCT:
	case FSC_TYPE_UNION:
		split_members(h, type, offset, nesting);
		return;
	case FSC_TYPE_ARRAY:
		for (uint64_t i = 0; i < type->n && i < 16 && h->visits++ < VISITS_MAX; i++)
			split(h, type->to, offset + i * type->to->size, nesting + 1);
		return;
	case FSC_TYPE_INT:
	case FSC_TYPE_FLOAT:
	case FSC_TYPE_ENUM:
	case FSC_TYPE_POINTER:
		split_scalar(h, type, offset);
		return;
	default:
		h->unknown = true;
	}
}

static struct fsc_abi_need x86_64_need(const struct fsc_type *type)
{
	struct halves h = {0};

	if (passes_reference(type))
		return (struct fsc_abi_need){.n = 1, .whole = true, .reference = true};
	if (type->kind == FSC_TYPE_ARRAY)
		return (struct fsc_abi_need){0}; /* a vector */
	split(&h, type, 0, 0);
	if (h.memory)
		return (struct fsc_abi_need){.memory = true};
	return (struct fsc_abi_need){
	    .n = (uint8_t)(h.integer[0] + h.integer[1]),
	    .whole = h.integer[0] && (type->size <= 8 || h.integer[1]),
	    .unknown = h.unknown,
	};
}

const struct fsc_abi fsc_abi_x86_64 = {
    .n_regs = 6, .ret_is_arg = true, .fills_gaps = true, .need = x86_64_need};

/* ---- arm64 ---- */

/* The floating point numbers in a type: all of one size, and how many. */
struct floats {
	uint64_t size;
	unsigned n;
	bool others;
	int visits;
};

static void count_floats(struct floats *f, const struct fsc_type *type, int nesting)
{
	if (f->others || nesting > NESTING_MAX || f->visits++ > VISITS_MAX) {
		f->others = true;
	} else if (type->kind == FSC_TYPE_FLOAT) {
		f->others = f->size && f->size != type->size;
		f->size = type->size;
		f->n++;
	} else if (type->kind == FSC_TYPE_ARRAY) {
		for (uint64_t i = 0; i < type->n && i <= 4; i++)
			count_floats(f, type->to, nesting + 1);
	} else if (is_aggregate(type)) {
		for (size_t i = 0; i < type->n_members; i++)
			count_floats(f, type->members[i].type, nesting + 1);
	} else {
		f->others = true;
	}
}

static bool only_floats(const struct fsc_type *type)
{
	struct floats f = {0};

	count_floats(&f, type, 0);
	/* The members of a union overlap. */
	return f.n && !f.others && type->size <= 4 * f.size;
}

/* Whether it is aligned to 16 bytes. */
static bool is_wide(const struct fsc_type *type, int nesting)
{
	if (nesting > NESTING_MAX || type->size > 16)
		return false;
	if (type->kind == FSC_TYPE_INT)
		return type->size == 16;
	if (type->kind == FSC_TYPE_ARRAY)
		return is_wide(type->to, nesting + 1);
	for (size_t i = 0; is_aggregate(type) && i < type->n_members && i < VISITS_MAX; i++)
		if (type->members[i].type->size == 16)
			return is_wide(type->members[i].type, nesting + 1);
	return false;
}

static struct fsc_abi_need arm64_need(const struct fsc_type *type)
{
	if (type->kind == FSC_TYPE_FLOAT || type->kind == FSC_TYPE_ARRAY)
		return (struct fsc_abi_need){0};
	if (passes_reference(type))
		return (struct fsc_abi_need){.n = 1, .whole = true, .reference = true};
	if (type->kind == FSC_TYPE_VOID || type->kind == FSC_TYPE_UNKNOWN ||
	    (is_aggregate(type) && !type->is_complete))
		return (struct fsc_abi_need){.unknown = true};
	if (is_aggregate(type) && only_floats(type))
		return (struct fsc_abi_need){0};
	if (type->size > 16)
		return (struct fsc_abi_need){.n = 1, .whole = true, .reference = true};
	return (struct fsc_abi_need){
	    .n = (uint8_t)registers(type->size), .whole = type->size > 0, .even = is_wide(type, 0)};
}

const struct fsc_abi fsc_abi_arm64 = {.n_regs = 8, .need = arm64_need};

/* ---- both ---- */

static bool returns_in_memory(const struct fsc_abi *abi, const struct fsc_type *ret)
{
	struct fsc_abi_need need = abi->need(ret);

	return is_aggregate(ret) && (need.reference || need.memory);
}

void fsc_abi_place(const struct fsc_abi *abi, const struct fsc_type *ret, struct fsc_param *params,
		   size_t n)
{
	unsigned next = abi->ret_is_arg && returns_in_memory(abi, ret) ? 2 : 1;
	bool lost = false;

	for (size_t i = 0; i < n; i++) {
		struct fsc_abi_need need = abi->need(params[i].type);

		params[i].arg = params[i].n_arg = 0;
		lost |= need.unknown;
		if (lost || !need.n)
			continue;
		next += need.even && next % 2 == 0;
		if (next + need.n - 1 > abi->n_regs) {
			next = abi->fills_gaps ? next : abi->n_regs + 1;
			continue;
		}
		if (need.whole && next + need.n - 1 <= FSC_ARG_MAX) {
			params[i].arg = (uint8_t)next;
			params[i].n_arg = need.n;
		}
		next += need.n;
	}
}

bool fsc_abi_returns(const struct fsc_abi *abi, const struct fsc_type *ret)
{
	struct fsc_abi_need need = abi->need(ret);

	return need.n == 1 && need.whole && !need.reference && !need.unknown && ret->size <= 8;
}

bool fsc_abi_by_reference(const struct fsc_abi *abi, const struct fsc_type *type)
{
	return abi->need(type).reference;
}

#if defined(__x86_64__)
const struct fsc_abi *const fsc_abi_own = &fsc_abi_x86_64;
static const uint8_t dwarf_regs[] = {5 /* rdi */, 4 /* rsi */, 1 /* rdx */, 2 /* rcx */, 8, 9};
static const uint8_t go_dwarf_regs[] = {0 /* rax */, 3 /* rbx */, 2 /* rcx */,
					5 /* rdi */, 4 /* rsi */, 8};
static const uint8_t go_pt_regs[] = {10, 5, 11, 14, 13, 9}; /* the same, in pt_regs */
#elif defined(__aarch64__)
const struct fsc_abi *const fsc_abi_own = &fsc_abi_arm64;
static const uint8_t dwarf_regs[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint8_t go_dwarf_regs[] = {0, 1, 2, 3, 4, 5};
static const uint8_t go_pt_regs[] = {0, 1, 2, 3, 4, 5};
#else
#error "add this machine's calling convention"
#endif

unsigned fsc_abi_dwarf_reg(unsigned number)
{
	for (unsigned i = 0; i < sizeof(dwarf_regs); i++)
		if (dwarf_regs[i] == number)
			return i + 1;
	return 0;
}

unsigned fsc_abi_go_dwarf_reg(unsigned number)
{
	for (unsigned i = 0; i < sizeof(go_dwarf_regs); i++)
		if (go_dwarf_regs[i] == number)
			return i + 1;
	return 0;
}

uint16_t fsc_abi_go_reg(unsigned n)
{
	return (uint16_t)(go_pt_regs[n % sizeof(go_pt_regs)] * 8);
}
