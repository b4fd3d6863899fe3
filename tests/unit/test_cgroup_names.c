/* src/proc/cgroup_names.c: paths as the runtimes make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "proc/cgroup_names.h"

#define HEX64	"4f1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b"
#define OTHER64 "aa1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b4f1b0a3c5d7e9f2b"
#define HEX12	"4f1b0a3c5d7e"
#define UID	"2f54a3f0-1c6b-4f6e-9a3f-0123456789ab"
#define UID_	"2f54a3f0_1c6b_4f6e_9a3f_0123456789ab"
#define HASH	"9c1d2e3f405162738495a6b7c8d9eaf0"

static const struct {
	const char *path, *container, *pod, *unit;
} paths[] = {
    {"/", "", "", ""},
    {"/init.scope", "", "", "init.scope"},
    {"/system.slice/nginx.service", "", "", "nginx.service"},
    {"/system.slice/system-getty.slice/getty@tty1.service", "", "", "getty@tty1.service"},
    {"/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope"},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope", "", "", "x.scope"},
    {"/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "init.scope"},
    {"/system.slice/cron.service/below", "", "", "cron.service"},
    {"/my.slice", "", "", ""},
    /* docker: cgroupfs, systemd, in a container of its own, with systemd inside */
    {"/docker/" HEX64, HEX12, "", ""},
    {"/system.slice/docker-" HEX64 ".scope", HEX12, "", ""},
    {"/docker/" OTHER64 "/docker/" HEX64, HEX12, "", ""},
    {"/docker/" HEX64 "/system.slice/nginx.service", HEX12, "", "nginx.service"},
    {"/system.slice/docker-" HEX64 ".scope/init.scope", HEX12, "", "init.scope"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" HEX64 ".scope", HEX12, "",
     ""},
    {"/actions_job/" HEX64, HEX12, "", ""},
    {"/ecs/0f1e2d3c4b5a69788796a5b4c3d2e1f0/" HEX64, HEX12, "", ""},
    /* Kubernetes: systemd, cgroupfs, guaranteed pods, static pods */
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
     ".slice/cri-containerd-" HEX64 ".scope",
     HEX12, UID, ""},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" HEX64 ".scope", HEX12, UID, ""},
    {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" HEX64
     ".scope",
     HEX12, UID, ""},
    {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" HEX64
     ".scope/container",
     HEX12, UID, ""},
    {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/docker-" HEX64
     ".scope",
     HEX12, UID, ""},
    {"/kubepods/burstable/pod" UID "/" HEX64, HEX12, UID, ""},
    {"/kubepods/pod" UID "/" HEX64, HEX12, UID, ""},
    {"/kubepods/besteffort/pod" HASH "/" HEX64, HEX12, HASH, ""},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
     ".slice/cri-containerd-" HEX64 ".scope",
     HEX12, HASH, ""},
    {"/system.slice/containerd.service/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" HEX64,
     HEX12, UID, ""},
    {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
     ".slice/cri-containerd-" HEX64 ".scope",
     HEX12, UID, ""},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice", "", UID, ""},
    /* what the runtimes run beside a container */
    {"/machine.slice/libpod-conmon-" HEX64 ".scope", "", "", "libpod-conmon-" HEX64 ".scope"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" HEX64 ".scope", "", UID,
     "crio-conmon-" HEX64 ".scope"},
    /* podman */
    {"/machine.slice/libpod-" HEX64 ".scope", HEX12, "", ""},
    {"/machine.slice/libpod-" HEX64 ".scope/container", HEX12, "", ""},
    {"/libpod_parent/libpod-" HEX64, HEX12, "", ""},
    {"/libpod_parent/libpod-" HEX64 "/ctr", HEX12, "", ""},
    {"/machine.slice/machine-libpod_pod_" OTHER64 ".slice/libpod-" HEX64 ".scope/container", HEX12,
     "aa1b0a3c5d7e", ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX64 ".scope/container",
     HEX12, "", ""},
    {"/system.slice/web.service/libpod-payload-" HEX64, HEX12, "", ""},
    /* LXC */
    {"/lxc.payload.web1/system.slice/nginx.service", "web1", "", "nginx.service"},
    {"/lxc.monitor.web1", "", "", ""},
    /* from inside another cgroup namespace */
    {"/../../system.slice/docker-" HEX64 ".scope", HEX12, "", ""},
    {"/../cri-containerd-" HEX64 ".scope", HEX12, "", ""},
    {"/../../../nginx.service", "", "", "nginx.service"},
    {"/..", "", "", ""},
    /* no ids */
    {"/docker/" HEX64 "00", "", "", ""},
    {"/docker/x" HEX64, "", "", ""},
    {"/docker/4f1b0a3c5d7e", "", "", ""},
    {"/podman/podium/pod1", "", "", ""},
    {"/kubepods/podXf54a3f0-1c6b-4f6e-9a3f-0123456789ab", "", "", ""},
    {"/tripod" UID, "", "", ""},
    {"/.service/.scope", "", "", ""},
    {"", "", "", ""},
};

static void every_runtimes_paths(void **state)
{
	struct fsc_cgroup_names n;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		fsc_cgroup_names_of(paths[i].path, &n);
		if (strcmp(n.container, paths[i].container) || strcmp(n.pod, paths[i].pod) ||
		    strcmp(n.unit, paths[i].unit))
			fail_msg("%s: container '%s', pod '%s', unit '%s'", paths[i].path,
				 n.container, n.pod, n.unit);
		assert_string_equal(n.path, paths[i].path);
	}
}

static void a_long_path_keeps_its_end(void **state)
{
	struct fsc_cgroup_names n;
	char path[5000];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	strcpy(path + sizeof(path) - 16, "/x/long.service");
	fsc_cgroup_names_of(path, &n);
	assert_string_equal(n.unit, "long.service");
	assert_int_equal(strlen(n.path), FSC_CGROUP_VALUE - 1);
	assert_memory_equal(n.path, "...aaa", 6);
	assert_string_equal(n.path + strlen(n.path) - 15, "/x/long.service");
	/* A unit's name that is too long is cut. */
	memset(path + 1, 'a', sizeof(path) - 1);
	strcpy(path + sizeof(path) - 9, ".service");
	fsc_cgroup_names_of(path, &n);
	assert_int_equal(strlen(n.unit), FSC_CGROUP_VALUE - 1);
}

static void the_hierarchy_that_tells_most(void **state)
{
	static const struct {
		const char *text, *path;
	} files[] = {
	    {"0::/system.slice/a.service\n", "/system.slice/a.service"},
	    {"0::/", "/"},
	    /* version 1 */
	    {"3:cpu,cpuacct:/docker/" HEX64 "\n2:memory:/docker/" HEX64
	     "\n1:name=systemd:/docker/" HEX64 "\n",
	     "/docker/" HEX64},
	    {"3:cpu:/\n2:memory:/user.slice\n1:name=systemd:/system.slice/a.service\n",
	     "/system.slice/a.service"},
	    {"3:cpu:/\n2:memory:/user.slice\n1:name=systemd:/\n", "/user.slice"},
	    {"2:memory:/one\n1:name=systemd:/two\n", "/two"},
	    /* both */
	    {"1:name=systemd:/kubepods/pod" UID "/" HEX64 "\n0::/system.slice/containerd.service\n",
	     "/kubepods/pod" UID "/" HEX64},
	    {"2:memory:/one\n1:name=systemd:/two\n0::/three\n", "/three"},
	    {"2:memory:/one\n0::/\n", "/one"},
	    {"2:memory:/a:b\n0::/\n", "/a:b"},
	    {"0::/system.slice/a.service (deleted)\n", "/system.slice/a.service"},
	    {"", ""},
	    {"nonsense\n\n1:x\n", ""},
	};
	struct fsc_cgroup_names n;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		fsc_cgroup_names_parse(files[i].text, &n);
		assert_string_equal(n.path, files[i].path);
	}
}

static void of_a_process(void **state)
{
	struct fsc_cgroup_names n;

	(void)state;
	assert_true(fsc_cgroup_names_read(getpid(), &n));
	assert_int_equal(n.path[0], '/');
	assert_false(fsc_cgroup_names_read(0x7ffffff0, &n));
	assert_string_equal(n.path, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_runtimes_paths),
	    cmocka_unit_test(a_long_path_keeps_its_end),
	    cmocka_unit_test(the_hierarchy_that_tells_most),
	    cmocka_unit_test(of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
