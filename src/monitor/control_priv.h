/* What the files of the control socket share. */
#ifndef FSC_MONITOR_CONTROL_PRIV_H
#define FSC_MONITOR_CONTROL_PRIV_H

#include "base/vec.h"
#include "monitor/control.h"

struct listener {
	int fd;
	bool local;
	char *path; /* to be removed; NULL: none */
};

struct client {
	int fd;
	bool local;	   /* connected to a Unix socket: trusted */
	bool gone;	   /* to be closed */
	bool ends;	   /* to be closed when all is sent */
	bool served;	   /* its request is being carried out */
	struct fsc_buf in; /* an incomplete request */
	struct fsc_buf out;
	size_t sent;   /* of out */
	json_t *wants; /* the subscription; NULL: none */
	double min_ns;
	uint64_t dropped, dropped_reported;
	uint64_t since; /* when it connected, or last finished a request */
};

struct fsc_control {
	fsc_control_fn fn;
	void *arg;
	struct fsc_vec listeners; /* struct listener */
	struct fsc_vec clients;	  /* struct client *: they do not move */
	unsigned depth;		  /* a request that takes long lets others be answered meanwhile */
	struct fsc_control_limits limits;
	size_t n_local;
	uint64_t dropped, refused, timed_out;
};

/* control_keys.c: fails if a member of a request is unknown or has another type. */
int fsc_control_check(const json_t *request, const char *what, struct fsc_err *err);

#endif
