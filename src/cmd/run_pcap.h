/* Files of packets that a script's skboutput() writes, as tcpdump reads them. */
#ifndef FSC_CMD_RUN_PCAP_H
#define FSC_CMD_RUN_PCAP_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct fsc_pcaps {
	struct fsc_vec files; /* of those that are open */
};

void fsc_pcaps_init(struct fsc_pcaps *p);
/* Appends a packet of n bytes, of length in all, that begins with its IP header. The file is made
 * anew when it is first written to. */
int fsc_pcaps_write(struct fsc_pcaps *p, const char *path, uint64_t wall_ns, const void *packet,
		    uint32_t n, uint32_t length, struct fsc_err *err);
/* Closes all; a failure to write the last of them is an error. */
int fsc_pcaps_close(struct fsc_pcaps *p, struct fsc_err *err);

#endif
