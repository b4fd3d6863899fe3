#include "base/sigchld.h"

#include <signal.h>
#include <stdbool.h>

static bool was_ignored;

void fsc_sigchld_claim(void)
{
	was_ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

void fsc_sigchld_give_back(void)
{
	if (was_ignored)
		signal(SIGCHLD, SIG_IGN);
}
