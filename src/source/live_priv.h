/* The live source as its files see it. */
#ifndef FSC_SOURCE_LIVE_PRIV_H
#define FSC_SOURCE_LIVE_PRIV_H

#include "engine/calibrate.h"
#include "proc/cgroups.h"
#include "source/live.h"

struct fsc_live {
	struct fsc_session *session;
	const struct fsc_targets *targets;
	struct fsc_func *funcs;
	uint32_t by;
	struct fsc_cgroups *cgroups;
	enum fsc_cost *cost_class; /* per row */
	struct fsc_costs costs;
	struct fsc_vec refusals; /* struct fsc_refusal */
	bool kept_elsewhere;	 /* see fsc_live_keep_elsewhere() */
};

#endif
