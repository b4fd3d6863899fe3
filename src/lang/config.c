/* Config variables: of the script, and those of the environment, which win. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lang/check.h"

enum item_kind { ITEM_NUMBER, ITEM_BOOL, ITEM_TEXT, ITEM_CHOICE, ITEM_IGNORED };

static const char *const stack_modes[] = {"bpftrace", "perf", "raw", "build_id", NULL};
static const char *const missing[] = {"error", "warn", "ignore", NULL};
static const char *const unstable[] = {"enable", "warn", "error", "0", "1", "true", "false", NULL};

#define AT(member) offsetof(struct fsc_plan_config, member)

static const struct {
	const char *name;
	enum item_kind kind;
	size_t at;
	const char *const *choices;
} items[] = {
    {"cache_user_symbols", ITEM_TEXT, AT(cache_user_symbols), NULL},
    {"cpp_demangle", ITEM_BOOL, AT(cpp_demangle), NULL},
    {"lazy_symbolication", ITEM_BOOL, AT(lazy_symbolication), NULL},
    {"license", ITEM_TEXT, AT(license), NULL},
    {"log_size", ITEM_NUMBER, AT(log_size), NULL},
    {"max_bpf_progs", ITEM_NUMBER, AT(max_bpf_progs), NULL},
    {"max_cat_bytes", ITEM_NUMBER, AT(max_cat_bytes), NULL},
    {"max_map_keys", ITEM_NUMBER, AT(max_map_keys), NULL},
    {"max_probes", ITEM_NUMBER, AT(max_probes), NULL},
    {"max_strlen", ITEM_NUMBER, AT(max_strlen), NULL},
    {"strlen", ITEM_NUMBER, AT(max_strlen), NULL},
    {"map_keys_max", ITEM_NUMBER, AT(max_map_keys), NULL},
    {"missing_probes", ITEM_CHOICE, AT(missing_probes), missing},
    {"on_stack_limit", ITEM_NUMBER, AT(on_stack_limit), NULL},
    {"perf_rb_pages", ITEM_NUMBER, AT(perf_rb_pages), NULL},
    {"print_maps_on_exit", ITEM_BOOL, AT(print_maps_on_exit), NULL},
    {"show_debug_info", ITEM_BOOL, AT(show_debug_info), NULL},
    {"stack_mode", ITEM_CHOICE, AT(stack_mode), stack_modes},
    {"str_trunc_trailer", ITEM_TEXT, AT(str_trunc_trailer), NULL},
    {"max_type_res_iterations", ITEM_IGNORED, 0, NULL},
    {"use_blazesym", ITEM_IGNORED, 0, NULL},
    {"unstable_import", ITEM_CHOICE, 0, unstable},
    {"unstable_map_decl", ITEM_CHOICE, 0, unstable},
    {"unstable_macro", ITEM_CHOICE, 0, unstable},
    {"unstable_tseries", ITEM_CHOICE, 0, unstable},
    {"unstable_addr", ITEM_CHOICE, 0, unstable},
    {"unstable_dw_ustack", ITEM_CHOICE, 0, unstable},
};

static void item_fail(struct fsc_lang *c, struct fsc_loc at, const char *name, const char *what)
{
	fsc_lang_fail(c, at, "Invalid value for config variable %s: %s", name, what);
}

static void item_number(struct fsc_lang *c, struct fsc_loc at, const char *name, const char *value,
			uint64_t *to)
{
	char *end;

	*to = strtoull(value, &end, 0);
	if (end == value || *end)
		item_fail(c, at, name, "expecting a number");
}

static void item_bool(struct fsc_lang *c, struct fsc_loc at, const char *name, const char *value,
		      bool *to)
{
	if (!strcasecmp(value, "true") || !strcmp(value, "1"))
		*to = true;
	else if (!strcasecmp(value, "false") || !strcmp(value, "0"))
		*to = false;
	else
		item_fail(c, at, name, "expecting true or false");
}

static void item_choice(struct fsc_lang *c, struct fsc_loc at, size_t row, const char *value)
{
	int *to = (int *)((char *)&c->config + items[row].at);

	for (int i = 0; items[row].choices[i]; i++) {
		if (strcasecmp(items[row].choices[i], value))
			continue;
		if (items[row].choices != unstable)
			*to = i;
		return;
	}
	item_fail(c, at, items[row].name,
		  fsc_zone_printf(&c->temp, "'%s' is none of its values", value));
}

/* BPFTRACE_MAX_STRLEN, MAX_STRLEN and max_strlen are one. */
static const char *item_name(struct fsc_lang *c, const char *name)
{
	char *lower = fsc_zone_copy(&c->temp, name, strlen(name));

	for (char *s = lower; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	return !strncmp(lower, "bpftrace_", 9) ? lower + 9 : lower;
}

static void item_set(struct fsc_lang *c, struct fsc_loc at, const char *name, const char *value)
{
	struct fsc_nearest nearest = {.wanted = item_name(c, name)};

	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		void *to = (char *)&c->config + items[i].at;

		fsc_nearest_offer(&nearest, items[i].name);
		if (strcmp(items[i].name, nearest.wanted))
			continue;
		if (items[i].kind == ITEM_NUMBER)
			item_number(c, at, items[i].name, value, to);
		else if (items[i].kind == ITEM_BOOL)
			item_bool(c, at, items[i].name, value, to);
		else if (items[i].kind == ITEM_TEXT)
			*(const char **)to = fsc_zone_copy(c->keep, value, strlen(value));
		else if (items[i].kind == ITEM_CHOICE)
			item_choice(c, at, i, value);
		return;
	}
	fsc_lang_fail_hint(c, at, fsc_lang_nearest(c, &nearest),
			   "%s: not a known configuration option", name);
}

/* What the kernel takes for a license that may use all helpers. */
static void check_license(struct fsc_lang *c)
{
	static const char *const known[] = {"Dual MIT/GPL", "Dual BSD/GPL",
					    "Dual MPL/GPL", "GPL and additional rights",
					    "GPL v2",	    "GPL"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i], c->config.license))
			return;
	fsc_lang_fail(
	    c, (struct fsc_loc){0},
	    "Invalid value for license. Found: %s. Valid values: Dual MIT/GPL, Dual BSD/GPL, "
	    "Dual MPL/GPL, GPL and additional rights, GPL v2, GPL.",
	    c->config.license);
}

void fsc_config_read(struct fsc_lang *c)
{
	c->config = (struct fsc_plan_config){.cpp_demangle = true,
					     .show_debug_info = true,
					     .print_maps_on_exit = true,
					     .license = "GPL",
					     .str_trunc_trailer = "..",
					     .log_size = 1000000,
					     .max_bpf_progs = 1024,
					     .max_cat_bytes = 10240,
					     .max_map_keys = 4096,
					     .max_probes = 1024,
					     .max_strlen = 1024,
					     .on_stack_limit = 32};
	for (size_t i = 0; i < c->configs.n; i++) {
		const struct fsc_config_item *item = FSC_AT(struct fsc_config_item, &c->configs, i);

		item_set(c, item->at, item->name, item->value);
	}
	for (size_t i = 0; i < c->opts->n_config; i++) {
		const char *text = c->opts->config[i], *equals = strchr(text, '=');

		if (equals)
			item_set(c, (struct fsc_loc){0},
				 fsc_zone_copy(&c->temp, text, (size_t)(equals - text)),
				 equals + 1);
	}
	check_license(c);
	c->config.cache_user_symbols_set = c->config.cache_user_symbols != NULL;
	if (c->config.max_strlen < 2 || c->config.max_strlen > 16384)
		fsc_lang_fail(c, (struct fsc_loc){0},
			      "max_strlen is %llu, but must be from 2 to 16384",
			      (unsigned long long)c->config.max_strlen);
	if (!c->config.max_map_keys || c->config.max_map_keys > UINT32_MAX)
		fsc_lang_fail(c, (struct fsc_loc){0}, "max_map_keys must be at least 1");
}
