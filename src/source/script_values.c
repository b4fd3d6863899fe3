/* From bytes to values, by their types. Values lie in rings and maps without alignment. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "source/script_priv.h"

/* An integer of 1, 2, 4 or 8 bytes, sign-extended. */
static uint64_t read_int(const struct fsc_vtype *t, const void *bytes)
{
	uint64_t u = 0;
	unsigned spare;

	memcpy(&u, bytes, t->size > 8 ? 8 : t->size);
	if (!t->is_signed || t->size >= 8)
		return u;
	spare = 64 - 8 * (unsigned)t->size;
	return (uint64_t)((int64_t)(u << spare) >> spare);
}

static struct fsc_value enum_value(struct fsc_readings *r, const struct fsc_vtype *t, uint64_t u)
{
	char text[24];

	for (size_t i = 0; i < t->n_enumerators; i++)
		if ((uint64_t)t->enumerators[i].value == u)
			return fsc_value_symbol(&r->arena, t->enumerators[i].name, u);
	snprintf(text, sizeof(text), t->is_signed ? "%lld" : "%llu", (unsigned long long)u);
	return fsc_value_symbol(&r->arena, text, u);
}

static struct fsc_value int_value(struct fsc_readings *r, const struct fsc_vtype *t, uint64_t u)
{
	if (t->n_enumerators)
		return enum_value(r, t, u);
	return t->is_signed ? fsc_value_int((int64_t)u) : fsc_value_uint(u);
}

/* A text that fills its memory was cut. */
static struct fsc_value string_value(struct fsc_readings *r, const struct fsc_vtype *t,
				     const char *s)
{
	const char *trailer = r->plan->config.str_trunc_trailer;
	size_t n = strnlen(s, t->size), more = trailer ? strlen(trailer) : 0;
	char *text;

	if (n < t->size || !t->size)
		return fsc_value_text(&r->arena, s, n);
	r->cut++;
	text = fsc_values_alloc(&r->arena, n + more + 1);
	if (!text)
		return (struct fsc_value){0};
	memcpy(text, s, n);
	if (more)
		memcpy(text + n, trailer, more);
	return (struct fsc_value){.kind = FSC_VALUE_TEXT, .text = {text, n + more, 0}};
}

static struct fsc_value buffer_value(struct fsc_readings *r, const struct fsc_vtype *t,
				     const char *bytes)
{
	struct fsc_v_buffer b;
	size_t room = t->size > sizeof(b) ? t->size - sizeof(b) : 0;

	memcpy(&b, bytes, sizeof(b));
	return fsc_value_bytes(&r->arena, bytes + sizeof(b), b.length < room ? b.length : room);
}

static struct fsc_value pointer_value(struct fsc_readings *r, const void *bytes)
{
	char text[24];
	uint64_t u;

	memcpy(&u, bytes, sizeof(u));
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)u);
	return fsc_value_symbol(&r->arena, text, u);
}

static struct fsc_value mac_value(struct fsc_readings *r, const uint8_t *b)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%02X:%02X:%02X:%02X:%02X:%02X", b[0], b[1], b[2],
			 b[3], b[4], b[5]);

	return fsc_value_text(&r->arena, text, (size_t)n);
}

static int array_value(struct fsc_readings *r, const struct fsc_vtype *t, const char *bytes,
		       struct fsc_value *ret, struct fsc_err *err)
{
	int rc = 0;

	if (t->to->kind == FSC_V_INT && t->to->is_char) {
		*ret = fsc_value_text(&r->arena, bytes, strnlen(bytes, t->n));
		return 0;
	}
	*ret = fsc_value_list(&r->arena, FSC_VALUE_ARRAY, t->n);
	for (size_t i = 0; !rc && ret->kind && i < t->n; i++)
		rc = fsc_readings_value(r, t->to, bytes + i * t->to->size, &ret->list.at[i], err);
	return rc;
}

static struct fsc_value bits_value(struct fsc_readings *r, const struct fsc_vfield *f,
				   const char *bytes)
{
	unsigned spare = 64u - f->bits;
	uint64_t u = 0;

	memcpy(&u, bytes, f->type->size > 8 ? 8 : f->type->size);
	u = (u >> f->bit_shift) << spare;
	return int_value(r, f->type,
			 f->type->is_signed ? (uint64_t)((int64_t)u >> spare) : u >> spare);
}

static int fields_value(struct fsc_readings *r, const struct fsc_vtype *t, const char *bytes,
			struct fsc_value *ret, struct fsc_err *err)
{
	bool record = t->kind == FSC_V_RECORD;
	int rc = 0;

	*ret = fsc_value_list(&r->arena, record ? FSC_VALUE_RECORD : FSC_VALUE_TUPLE, t->n_fields);
	for (size_t i = 0; !rc && ret->kind && i < t->n_fields; i++) {
		const struct fsc_vfield *f = &t->fields[i];

		if (record)
			ret->list.names[i] = f->name;
		if (f->bits)
			ret->list.at[i] = bits_value(r, f, bytes + f->offset);
		else
			rc = fsc_readings_value(r, f->type, bytes + f->offset, &ret->list.at[i],
						err);
	}
	return rc;
}

static struct fsc_value errno_value(struct fsc_readings *r, int64_t number)
{
	enum { MOST = 4095 };
	const char *text = number < -MOST || number > MOST
			       ? NULL
			       : strerrordesc_np((int)(number < 0 ? -number : number));

	if (!text)
		text = "Unknown error";
	return fsc_value_text(&r->arena, text, strlen(text));
}

/* Types that are turned into text with the help of tables outside the script. */
static int named_value(struct fsc_readings *r, const struct fsc_vtype *t, const void *bytes,
		       struct fsc_value *ret, struct fsc_err *err)
{
	union {
		uint64_t u;
		int64_t i;
		struct fsc_v_stack stack;
		struct fsc_v_usym usym;
		struct fsc_v_inet inet;
		struct fsc_v_timestamp time;
		struct fsc_v_cgroup_path cgroup;
		uint8_t mac[6];
	} v = {0};

	memcpy(&v, bytes, t->size < sizeof(v) ? t->size : sizeof(v));
	switch (t->kind) {
	case FSC_V_KSTACK:
	case FSC_V_USTACK:
		return fsc_readings_stack(r, t, &v.stack, ret, err);
	case FSC_V_KSYM:
		return fsc_readings_symbol(r, v.u, 0, true, ret, err);
	case FSC_V_USYM:
		return fsc_readings_symbol(r, v.usym.address, (pid_t)v.usym.pid, false, ret, err);
	case FSC_V_USERNAME:
		*ret = fsc_readings_user(r, v.u);
		return 0;
	case FSC_V_INET:
		*ret = fsc_readings_inet(r, &v.inet);
		return 0;
	case FSC_V_MAC:
		*ret = mac_value(r, v.mac);
		return 0;
	case FSC_V_TIMESTAMP:
		*ret = fsc_readings_time(r, &v.time);
		return 0;
	case FSC_V_CGROUP_PATH:
		*ret = fsc_readings_cgroup(r, &v.cgroup);
		return 0;
	case FSC_V_STRERROR:
		*ret = errno_value(r, v.i);
		return 0;
	case FSC_V_SYSCALL:
		*ret = fsc_readings_syscall(r, v.i);
		return 0;
	default:
		return fsc_err_set(err, EINVAL, "a value of the script has an unknown type (%d)",
				   (int)t->kind);
	}
}

int fsc_readings_value(struct fsc_readings *r, const struct fsc_vtype *t, const void *bytes,
		       struct fsc_value *ret, struct fsc_err *err)
{
	const struct fsc_parts whole = {.bytes = bytes, .n = 1};

	*ret = (struct fsc_value){0};
	switch (t->kind) {
	case FSC_V_VOID:
		return 0;
	case FSC_V_INT:
		*ret = int_value(r, t, read_int(t, bytes));
		return 0;
	case FSC_V_BOOL:
		*ret = fsc_value_bool(*(const uint8_t *)bytes != 0);
		return 0;
	case FSC_V_STRING:
		*ret = string_value(r, t, bytes);
		return 0;
	case FSC_V_BUFFER:
		*ret = buffer_value(r, t, bytes);
		return 0;
	case FSC_V_POINTER:
		*ret = pointer_value(r, bytes);
		return 0;
	case FSC_V_ARRAY:
		return array_value(r, t, bytes, ret, err);
	case FSC_V_RECORD:
	case FSC_V_TUPLE:
		return fields_value(r, t, bytes, ret, err);
	default:
		if (!fsc_vtype_aggregates(t))
			return named_value(r, t, bytes, ret, err);
		fsc_readings_merge(r, t, &whole, 1, ret);
		return 0;
	}
}
