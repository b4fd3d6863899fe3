/* The page for Prometheus. */
#ifndef FSC_GPU_PAGE_H
#define FSC_GPU_PAGE_H

#include "base/err.h"
#include "model/gpu.h"
#include "model/profile.h"
#include "web/server.h"

struct fsc_gpu_page;

/* Fills both with the totals so far. */
typedef int (*fsc_gpu_page_fn)(struct fsc_gpu_report *r, struct fsc_summary *books, void *arg,
			       struct fsc_err *err);

/* opts: as for fsc_server_new(). The caller owns *ret. */
int fsc_gpu_page_new(const struct fsc_server_opts *opts, fsc_gpu_page_fn fn, void *arg,
		     struct fsc_gpu_page **ret, struct fsc_err *err);
void fsc_gpu_page_free(struct fsc_gpu_page *p);
/* To be called a few times a second. */
void fsc_gpu_page_serve(struct fsc_gpu_page *p);

#endif
