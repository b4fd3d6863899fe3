/* Packets of skboutput(): the kernel's function for it writes to perf's buffers only. */
#include <errno.h>

#include <bpf/libbpf.h>

#include "engine/script_priv.h"

static void on_packet(void *arg, int cpu, void *data, uint32_t size)
{
	struct fsc_script *s = arg;

	(void)cpu;
	s->records++;
	if (!s->packet_rc)
		s->packet_rc = s->packet_fn(data, size, s->packet_arg);
}

static void on_lost(void *arg, int cpu, unsigned long long n)
{
	struct fsc_script *s = arg;

	(void)cpu;
	s->packets_lost += n;
}

int fsc_script_open_packets(struct fsc_script *s, struct fsc_err *err)
{
	enum { USUAL = 64 };
	size_t pages = 1, wanted = s->plan->config.perf_rb_pages;

	while (pages < (wanted ? wanted : USUAL))
		pages *= 2;
	for (size_t i = 0; i < s->plan->n_maps; i++) {
		if (s->plan->maps[i].role != FSC_PMAP_SKB)
			continue;
		s->packets = perf_buffer__new(s->map_fds[i], pages, on_packet, on_lost, s, NULL);
		if (!s->packets)
			return fsc_err_sys(err, errno, "cannot make buffers for packets");
	}
	return 0;
}

void fsc_script_close_packets(struct fsc_script *s)
{
	perf_buffer__free(s->packets);
	s->packets = NULL;
}

int fsc_script_packets_fd(const struct fsc_script *s)
{
	return s->packets ? perf_buffer__epoll_fd(s->packets) : -1;
}

int fsc_script_drain_packets(struct fsc_script *s,
			     int (*fn)(const void *record, size_t size, void *arg), void *arg,
			     struct fsc_err *err)
{
	int rc;

	if (!s->packets)
		return 0;
	s->packet_fn = fn;
	s->packet_arg = arg;
	s->packet_rc = 0;
	rc = perf_buffer__consume(s->packets);
	if (s->packet_rc)
		return s->packet_rc;
	return rc < 0 ? fsc_err_sys(err, -rc, "cannot read the packets of the script") : 0;
}
