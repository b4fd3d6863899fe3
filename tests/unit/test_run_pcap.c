/* src/cmd/run_pcap.c: files that readers of libpcap's format take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run_pcap.h"

static void packets_follow_a_head(void **state)
{
	static const uint32_t head[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 65535, 101};
	static const uint32_t first[] = {5, 7, 4, 60}, second[] = {6, 0, 2, 2};
	char path[] = "/tmp/test-pcap-XXXXXX", other[] = "/nonexistent/file";
	unsigned char bytes[128];
	struct fsc_err err = {0};
	struct fsc_pcaps p;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	fsc_pcaps_init(&p);
	assert_int_equal(fsc_pcaps_write(&p, path, 5000000007, "abcd", 4, 60, &err), 0);
	assert_int_equal(fsc_pcaps_write(&p, path, 6000000000, "ef", 2, 2, &err), 0);
	assert_true(fsc_pcaps_write(&p, other, 0, "", 0, 0, &err) < 0);
	assert_non_null(strstr(err.msg, "cannot write packets to '/nonexistent/file'"));
	assert_int_equal(fsc_pcaps_close(&p, &err), 0);
	assert_int_equal(fsc_pcaps_close(&p, &err), 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 24 + 16 + 4 + 16 + 2);
	assert_memory_equal(bytes, head, 24);
	assert_memory_equal(bytes + 24, first, 16);
	assert_memory_equal(bytes + 40, "abcd", 4);
	assert_memory_equal(bytes + 44, second, 16);
	assert_memory_equal(bytes + 60, "ef", 2);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(packets_follow_a_head)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
