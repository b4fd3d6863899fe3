/* What this kernel supports, found out by trying it once, never from its version number. */
#ifndef FSC_ENGINE_FEATURES_H
#define FSC_ENGINE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

enum fsc_feature {
	FSC_FEATURE_BPF,
	FSC_FEATURE_UPROBE,
	FSC_FEATURE_UPROBE_MULTI,
	FSC_FEATURE_UPROBE_MULTI_PID,
	FSC_FEATURE_UPROBE_SESSION,
	FSC_FEATURE_FAST_UPROBE,
	FSC_FEATURE_FAST_UPROBE_FORK,
	FSC_FEATURE_RAW_TRACEPOINT,
	FSC_FEATURE_TRACEPOINT,
	FSC_FEATURE_KPROBE_MULTI,
	FSC_FEATURE_KPROBE_SESSION,
	FSC_FEATURE_FENTRY,
	FSC_FEATURE_KPROBE,
	FSC_FEATURE_RINGBUF,
	FSC_FEATURE_MAX,
};

struct fsc_feature_row {
	const char *name;
	const char *what; /* it is used for */
	int (*trial)(char *why,
		     unsigned n); /* 0: works; -errno and the reason in words otherwise */
	const char *without;	  /* what happens, or what to do, if it is missing */
};

extern const struct fsc_feature_row fsc_features[FSC_FEATURE_MAX];

/* 0 if the feature works, else -errno; tried once. *why (may be NULL) gets the reason, never freed.
 * Takes milliseconds; starts short-lived children. */
int fsc_feature_try(enum fsc_feature f, const char **why);

/* Whether many user functions can go into one link (by_pid: limited to a process), tested without
 * attaching, for a quick start. */
bool fsc_feature_uprobe_multi_quick(bool by_pid);
bool fsc_feature_uprobe_session_quick(void);

static inline bool fsc_feature_works(enum fsc_feature f)
{
	return fsc_feature_try(f, NULL) == 0;
}

#endif
