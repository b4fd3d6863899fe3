/* funcscope-driver-trial: asks one NVIDIA driver library where its kernel objects keep their names.
 * It loads two kernels of known names and looks for pointers to these names in the objects that
 * come back. A program of its own because funcscope may be static, which cannot load libraries, and
 * because a driver may crash or hang. src/gpu/trial_child.c carries it and runs it; libc only.
 *
 * usage: funcscope-driver-trial LIBCUDA [DIRECTORY]
 * DIRECTORY is where the libraries that belong to LIBCUDA lie.
 *
 * Prints lines: "function N..." and "kernel N...", the offsets in a CUfunction and a CUkernel at
 * which the pointer lies, smallest first, -1 for none; "note TEXT", why something is not known;
 * "error TEXT", why nothing is. A line that is not there could be in another try. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECONDS_MAX 20
#define OBJECT_MAX  512

#define NAME_A "fsc_trial_kernel_a"
#define NAME_B "fsc_trial_kernel_b"

static const char *const kernel_names[2] = {NAME_A, NAME_B};

/* Text, not machine code: every driver since CUDA 11 translates it for whatever device it finds. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_52\n"
			  ".address_size 64\n"
			  ".visible .entry " NAME_A "()\n{\n\tret;\n}\n"
			  ".visible .entry " NAME_B "()\n{\n\tret;\n}\n";

struct driver {
	int (*init)(unsigned flags);
	int (*error_name)(int code, const char **ret);
	int (*device_count)(int *ret);
	int (*device)(int *ret, int ordinal);
	int (*context_retain)(void **ret, int device);
	int (*context_set)(void *context);
	int (*context_release)(int device);
	int (*module_load)(void **ret, const void *image);
	int (*module_function)(void **ret, void *module, const char *name);
	int (*module_unload)(void *module);
	/* Since CUDA 12. */
	int (*library_load)(void **ret, const void *code, const int *jit, void **jit_values,
			    unsigned n_jit, const int *options, void **values, unsigned n);
	int (*library_kernel)(void **ret, void *library, const char *name);
	int (*library_unload)(void *library);
};

static const struct entry {
	const char *name;
	size_t at; /* offset in struct driver */
	bool optional;
} entries[] = {
    {"cuInit", offsetof(struct driver, init), false},
    {"cuGetErrorName", offsetof(struct driver, error_name), true},
    {"cuDeviceGetCount", offsetof(struct driver, device_count), false},
    {"cuDeviceGet", offsetof(struct driver, device), false},
    {"cuDevicePrimaryCtxRetain", offsetof(struct driver, context_retain), false},
    {"cuCtxSetCurrent", offsetof(struct driver, context_set), false},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(struct driver, context_release), true},
    {"cuModuleLoadData", offsetof(struct driver, module_load), false},
    {"cuModuleGetFunction", offsetof(struct driver, module_function), false},
    {"cuModuleUnload", offsetof(struct driver, module_unload), false},
    {"cuLibraryLoadData", offsetof(struct driver, library_load), true},
    {"cuLibraryGetKernel", offsetof(struct driver, library_kernel), true},
    {"cuLibraryUnload", offsetof(struct driver, library_unload), true},
};

/* CUresult codes that the machine causes, not an error here. */
static const struct {
	int code;
	const char *text;
} reasons[] = {
    {2, "no memory left on the device"},
    {34, "this is the toolkit's stub, not a driver"},
    {46, "the device is not available now"},
    {100, "no CUDA device"},
    {221, "the driver's compiler library was not found"},
    {222, "the driver no longer accepts PTX 7.0"},
    {803, "the library and the kernel's driver have different versions"},
    {804, "this device does not work with a library newer than its driver"},
};

static void too_late(int sig)
{
	static const char text[] = "error the driver did not answer in time\n";

	(void)sig;
	_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) > 0 ? 1 : 2);
}

/* Prints "kind CALL: CODE, what it means". */
static void print_failure(const struct driver *d, const char *kind, const char *call, int code)
{
	const char *text = NULL;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].code == code)
			text = reasons[i].text;
	if (!text && (!d->error_name || d->error_name(code, &text)))
		text = NULL;
	printf("%s %s: %d%s%s\n", kind, call, code, text ? ", " : "", text ? text : "");
}

/* ---- the library ---- */

/* The driver loads this one by its plain name when it compiles PTX. If their directory is not in
 * the loader's path, that succeeds only because it is already loaded. */
static void load_compiler(const char *dir)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/libnvidia-ptxjitcompiler.so.1", dir);

	if (n > 0 && (size_t)n < sizeof(path))
		dlopen(path, RTLD_NOW);
}

static bool load_driver(struct driver *d, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib) {
		printf("error cannot be loaded: %s\n", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *fn = dlsym(lib, entries[i].name);

		if (!fn && !entries[i].optional) {
			printf("error %s is missing: this is not a driver library\n",
			       entries[i].name);
			return false;
		}
		memcpy((char *)d + entries[i].at, &fn, sizeof(fn)); /* any pointer to a function */
	}
	return true;
}

/* ---- looking at memory ---- */

/* If seccomp or an emulator refuses the system call. */
static ssize_t read_by_file(uint64_t addr, void *to, size_t n)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : pread(fd, to, n, (off_t)addr);

	if (fd >= 0)
		close(fd);
	return got;
}

/* Through the kernel, which fails on unmapped addresses instead of crashing us, and does not
 * touch device memory. */
static bool read_own(uint64_t addr, void *to, size_t n)
{
	struct iovec here = {.iov_base = to, .iov_len = n};
	struct iovec there = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};
	ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	if (got < 0 && (errno == ENOSYS || errno == EPERM))
		got = read_by_file(addr, to, n);
	return got == (ssize_t)n;
}

/* Otherwise the answer would wrongly be that there are no names. */
static bool can_read_own(void)
{
	char text[sizeof(ptx)];

	if (read_own((uintptr_t)ptx, text, sizeof(text)) && !memcmp(text, ptx, sizeof(text)))
		return true;
	puts("error processes cannot read their own memory on this machine");
	return false;
}

static bool points_to(const void *object, unsigned offset, const char *name)
{
	char text[sizeof(NAME_A)];
	uint64_t pointer;

	return read_own((uintptr_t)object + offset, &pointer, sizeof(pointer)) &&
	       read_own(pointer, text, sizeof(text)) && !memcmp(text, name, sizeof(text));
}

/* A chance match in both objects at the same offset is unlikely. */
static void print_offsets(const char *what, void *const objects[2])
{
	bool found = false;

	printf("%s", what);
	for (unsigned at = 0; at < OBJECT_MAX; at += sizeof(uint64_t)) {
		if (!points_to(objects[0], at, kernel_names[0]) ||
		    !points_to(objects[1], at, kernel_names[1]))
			continue;
		printf(" %u", at);
		found = true;
	}
	puts(found ? "" : " -1");
}

/* ---- the trial ---- */

/* Uses the first available device; others may be in exclusive mode. */
static bool enter_device(const struct driver *d, int *ret)
{
	const char *call = "cuInit";
	int n = 0, code = d->init(0);
	void *context;

	if (!code) {
		call = "cuDeviceGetCount";
		code = d->device_count(&n);
		if (!code && n < 1)
			code = 100;
	}
	for (int i = 0; i < n; i++) {
		call = "cuDevicePrimaryCtxRetain";
		code = d->device(ret, i);
		code = code ? code : d->context_retain(&context, *ret);
		if (!code) {
			call = "cuCtxSetCurrent";
			code = d->context_set(context);
			break;
		}
	}
	if (code)
		print_failure(d, "error", call, code);
	return !code;
}

static bool try_functions(const struct driver *d)
{
	void *module = NULL, *objects[2] = {NULL};
	const char *call = "cuModuleLoadData";
	int code = d->module_load(&module, ptx);

	for (int i = 0; !code && i < 2; i++) {
		call = "cuModuleGetFunction";
		code = d->module_function(&objects[i], module, kernel_names[i]);
	}
	if (code)
		print_failure(d, "error", call, code);
	else
		print_offsets("function", objects);
	if (module)
		d->module_unload(module);
	return !code;
}

static void try_kernels(const struct driver *d)
{
	void *library = NULL, *objects[2] = {NULL};
	const char *call = "cuLibraryLoadData";
	int code;

	if (!d->library_load || !d->library_kernel) {
		puts("note this driver has no CUkernel\nkernel -1");
		return;
	}
	code = d->library_load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
	for (int i = 0; !code && i < 2; i++) {
		call = "cuLibraryGetKernel";
		code = d->library_kernel(&objects[i], library, kernel_names[i]);
	}
	if (code)
		print_failure(d, "note", call, code);
	else
		print_offsets("kernel", objects);
	if (library && d->library_unload)
		d->library_unload(library);
}

int main(int argc, char **argv)
{
	struct driver d = {0};
	int device = 0;
	bool ok;

	setvbuf(stdout, NULL, _IOLBF, 0); /* so that a crash loses no line */
	if (argc < 2) {
		puts("error usage: funcscope-driver-trial LIBCUDA [DIRECTORY]");
		return 2;
	}
	/* With a handler: the init process of a PID namespace ignores default signals. */
	signal(SIGALRM, too_late);
	alarm(SECONDS_MAX);
	if (argc > 2)
		load_compiler(argv[2]);
	if (!can_read_own() || !load_driver(&d, argv[1]) || !enter_device(&d, &device))
		return 1;
	ok = try_functions(&d);
	if (ok)
		try_kernels(&d);
	if (d.context_release)
		d.context_release(device);
	return ok ? 0 : 1;
}
