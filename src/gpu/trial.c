/* The offsets of a driver library: from the cache, or by a trial. */
#include "gpu/trial_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* The trial times out after 20 s by itself, with a better message than if it is killed. */
#define TIMEOUT_MS 21000

int fsc_gpu_trial_with(const char *libcuda, const char *root, const char *cache, int timeout_ms,
		       struct fsc_gpu_names *ret, struct fsc_err *err)
{
	FSC_AUTO(fsc_driver_file_close) struct fsc_driver_file lib = FSC_DRIVER_FILE_NONE;
	int rc = fsc_driver_file_open(libcuda, root, &lib);
	bool final;

	*ret = (struct fsc_gpu_names){.function_offset = -1, .kernel_offset = -1};
	if (rc == -ENOMEM)
		return fsc_err_nomem(err);
	if (rc) {
		snprintf(ret->why, sizeof(ret->why), "it cannot be opened: %s", fsc_err_text(-rc));
		return 0;
	}
	if (cache && fsc_trial_cache_find(cache, lib.id, ret))
		return 0;
	rc = fsc_trial_run(&lib, timeout_ms, ret, &final, err);
	/* The author of an untrusted library chooses its build id and its answer, which must not
	 * be cached for the real one. */
	if (!rc && cache && lib.trusted && final)
		fsc_trial_cache_put(cache, lib.id, ret);
	return rc;
}

int fsc_gpu_trial(const char *libcuda, const char *root, struct fsc_gpu_names *ret,
		  struct fsc_err *err)
{
	FSC_AUTO(fsc_freep) char *cache = fsc_trial_cache_path();

	return fsc_gpu_trial_with(libcuda, root, cache, TIMEOUT_MS, ret, err);
}
