/* The format of libpcap: a head, and packets with theirs. Times in ns, packets without a link
 * layer. */
#include "cmd/run_pcap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct pcap_head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, longest, link;
};

struct pcap_packet {
	uint32_t seconds, ns, n, length;
};

enum { MAGIC_NS = (int)0xa1b23c4d, LINK_RAW = 101, LONGEST = 65535 };

struct pcap_file {
	const char *path; /* the script's */
	FILE *f;
};

void fsc_pcaps_init(struct fsc_pcaps *p)
{
	p->files = FSC_VEC_INIT(struct pcap_file);
}

static FILE *pcap_find(const struct fsc_pcaps *p, const char *path)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (!strcmp(FSC_AT(struct pcap_file, &p->files, i)->path, path))
			return FSC_AT(struct pcap_file, &p->files, i)->f;
	return NULL;
}

static FILE *pcap_open(struct fsc_pcaps *p, const char *path, struct fsc_err *err)
{
	const struct pcap_head head = {.magic = (uint32_t)MAGIC_NS,
				       .major = 2,
				       .minor = 4,
				       .longest = LONGEST,
				       .link = LINK_RAW};
	struct pcap_file *file = fsc_vec_push(&p->files);

	if (!file) {
		fsc_err_nomem(err);
		return NULL;
	}
	*file = (struct pcap_file){path, fopen(path, "we")};
	if (file->f && fwrite(&head, sizeof(head), 1, file->f) == 1)
		return file->f;
	fsc_err_sys(err, errno, "cannot write packets to '%s'", path);
	return NULL;
}

int fsc_pcaps_write(struct fsc_pcaps *p, const char *path, uint64_t wall_ns, const void *packet,
		    uint32_t n, uint32_t length, struct fsc_err *err)
{
	const struct pcap_packet head = {(uint32_t)(wall_ns / 1000000000),
					 (uint32_t)(wall_ns % 1000000000), n, length};
	FILE *f = pcap_find(p, path);

	if (!f)
		f = pcap_open(p, path, err);
	if (!f)
		return err && err->code ? -err->code : -EIO;
	if (fwrite(&head, sizeof(head), 1, f) != 1 || (n && fwrite(packet, n, 1, f) != 1))
		return fsc_err_sys(err, errno, "cannot write packets to '%s'", path);
	return 0;
}

int fsc_pcaps_close(struct fsc_pcaps *p, struct fsc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < p->files.n; i++) {
		struct pcap_file *file = FSC_AT(struct pcap_file, &p->files, i);

		if (file->f && fclose(file->f))
			rc = fsc_err_sys(err, errno, "cannot write packets to '%s'", file->path);
	}
	fsc_vec_release(&p->files);
	return rc;
}
