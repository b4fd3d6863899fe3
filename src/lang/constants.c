/* Numbers that C headers define as macros, and that no type information has: errors, signals,
 * address families, system calls' flags. Scripts that #include those headers use them by name. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lang/types_priv.h"

#define N(name)                                                                                    \
	{                                                                                          \
#name, name                                                                        \
	}

static const struct {
	const char *name;
	int64_t value;
} constants[] = {
    N(AF_UNSPEC),
    N(AF_UNIX),
    N(AF_LOCAL),
    N(AF_INET),
    N(AF_INET6),
    N(AF_NETLINK),
    N(AF_PACKET),
    N(AF_VSOCK),
    N(PF_INET),
    N(PF_INET6),
    N(SOL_SOCKET),
    N(O_RDONLY),
    N(O_WRONLY),
    N(O_RDWR),
    N(O_CREAT),
    N(O_EXCL),
    N(O_TRUNC),
    N(O_APPEND),
    N(O_NONBLOCK),
    N(O_DIRECTORY),
    N(O_CLOEXEC),
    N(S_IFMT),
    N(S_IFREG),
    N(S_IFDIR),
    N(S_IFCHR),
    N(S_IFBLK),
    N(S_IFIFO),
    N(S_IFLNK),
    N(S_IFSOCK),
    N(AT_FDCWD),
    N(INT8_MIN),
    N(INT8_MAX),
    N(UINT8_MAX),
    N(INT16_MIN),
    N(INT16_MAX),
    N(UINT16_MAX),
    N(INT32_MIN),
    N(INT32_MAX),
    N(UINT32_MAX),
    N(INT64_MIN),
    N(INT64_MAX),
    {"UINT64_MAX", -1},
    {"INT_MAX", INT32_MAX},
    {"INT_MIN", INT32_MIN},
    {"UINT_MAX", UINT32_MAX},
    {"LONG_MAX", INT64_MAX},
    {"LONG_MIN", INT64_MIN},
    {"ULONG_MAX", -1},
    {"NULL", 0},
    {"TASK_COMM_LEN", 16},
    {"TASK_RUNNING", 0},
    {"TASK_INTERRUPTIBLE", 1},
    {"TASK_UNINTERRUPTIBLE", 2},
};

enum { MAX_ERRNO = 134, MAX_SIGNAL = 31 };

bool fsc_constant(const char *name, struct fsc_cenumerator *ret)
{
	*ret = (struct fsc_cenumerator){.name = name};
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
		if (!strcmp(constants[i].name, name)) {
			bool is_unsigned = *name == 'U' && constants[i].value < 0;

			ret->value = constants[i].value;
			ret->type = is_unsigned ? &fsc_vt_u64 : &fsc_vt_i64;
			return true;
		}
	ret->type = &fsc_vt_i64;
	for (int i = 1; *name == 'E' && i < MAX_ERRNO; i++)
		if (strerrorname_np(i) && !strcmp(strerrorname_np(i), name)) {
			ret->value = i;
			return true;
		}
	for (int i = 1; !strncmp(name, "SIG", 3) && i <= MAX_SIGNAL; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name + 3)) {
			ret->value = i;
			return true;
		}
	return false;
}
