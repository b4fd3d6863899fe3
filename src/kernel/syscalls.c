/* The table is made at build time from the target's <sys/syscall.h>. Some kernel functions behind a
 * call are named otherwise than the call. */
#include "kernel/syscalls.h"

#include <string.h>
#include <sys/syscall.h>

static const struct {
	const char *name;
	int number;
} calls[] = {
#include "syscalls.inc"
};

/* Newer than the installed headers; from 424 on a call has one number on every architecture. */
static const struct {
	const char *name;
	int number;
} newer[] = {
    {"cachestat", 451},		{"fchmodat2", 452},	   {"map_shadow_stack", 453},
    {"futex_wake", 454},	{"futex_wait", 455},	   {"futex_requeue", 456},
    {"statmount", 457},		{"listmount", 458},	   {"lsm_get_self_attr", 459},
    {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
    {"setxattrat", 463},	{"getxattrat", 464},	   {"listxattrat", 465},
    {"removexattrat", 466},	{"open_tree_attr", 467},   {"file_getattr", 468},
    {"file_setattr", 469},
#ifdef __x86_64__
    {"uretprobe", 335},		{"uprobe", 336},
#endif
};

static const struct {
	const char *event, *call;
} renamed[] = {
    {"newstat", "stat"},   {"newlstat", "lstat"},      {"newfstat", "fstat"},
    {"newuname", "uname"}, {"sendfile64", "sendfile"}, {"umount", "umount2"},
};

int fsc_syscall_of_event(const char *event)
{
	const char *name = !strncmp(event, "sys_enter_", 10) ? event + 10
			   : !strncmp(event, "sys_exit_", 9) ? event + 9
							     : NULL;

	if (!name)
		return -1;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(renamed[i].event, name))
			name = renamed[i].call;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (!strcmp(newer[i].name, name))
			return newer[i].number;
	return -1;
}

const char *fsc_syscall_name(int64_t number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return calls[i].name;
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (newer[i].number == number)
			return newer[i].name;
	return NULL;
}
