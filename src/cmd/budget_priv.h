/* A budget as its two files see it: budget.c takes functions off, windows.c watches them for a
 * while. */
#ifndef FSC_CMD_BUDGET_PRIV_H
#define FSC_CMD_BUDGET_PRIV_H

#include "cmd/budget.h"
#include "model/sampling.h"

struct fsc_budget_row {
	bool off;     /* not attached, but perhaps in the present window */
	bool demoted; /* was ever off */
	bool in_window;
	double since_s;	   /* when that began */
	unsigned windows;  /* in which it was watched */
	unsigned tries;	   /* of them, since it was last demoted */
	unsigned failures; /* how often it was demoted again */
	uint64_t seen_at;  /* hits when the period began */
	double recent;	   /* and a fading sum of those before */
	double off_at;	   /* the target's own time when it was taken off, or its window closed */
	double unwatched;  /* own time before that in which it was not attached */
	double rate;	   /* its cost, as a share of the target's own time, when last seen */
	struct fsc_sampling sampling;
};

struct fsc_budget_order {
	uint32_t row;
	double cost;
};

struct fsc_budget {
	double share; /* 0: only warn */
	bool warned;
	uint64_t costly_since; /* when it began to cost too much; 0: it does not */
	struct fsc_budget_of of;
	struct fsc_budget_row *rows;
	struct fsc_budget_order *order; /* room for all rows */
	bool *wanted;
	uint64_t start_ns;
	double cpu, cost, own;			   /* ns so far; own: without the probes */
	double surcharge;			   /* beyond what was measured for a hit */
	double period_cpu, period_cost, period_at; /* when the period began; at: own time */
	double recent_own;			   /* a fading sum of own time */
	double skew;	    /* ns between the last reading of time and counters */
	bool changing;	    /* links are being closed */
	bool window;	    /* one is open */
	uint64_t window_ns; /* when it was */
	double window_skew;
	double window_spent; /* cost before that */
	double window_cost;  /* of the last one, to be expected of the next; 0: none yet */
	double window_at;    /* own time when the next one opens */
	uint64_t random;
};

/* Attaches what is not off, and begins a period. */
int fsc_budget_select(struct fsc_budget *b, struct fsc_err *err);
/* What may be spent now, ns. */
double fsc_budget_room(const struct fsc_budget *b);
/* Hits of a row in the period, and their cost. */
uint64_t fsc_budget_hits(const struct fsc_budget *b, size_t row);
double fsc_budget_cost(const struct fsc_budget *b, size_t row);

bool fsc_budget_is_window_due(struct fsc_budget *b);
int fsc_budget_open_window(struct fsc_budget *b, struct fsc_err *err);
/* Once it has lasted. */
int fsc_budget_close_window(struct fsc_budget *b, struct fsc_err *err);

#endif
