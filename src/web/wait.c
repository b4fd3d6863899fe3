/* poll() with a deadline instead of a timeout. */
#include "web/wait.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"

int fsc_wait(int fd, short events, const struct fsc_deadline *p)
{
	struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = p->stop_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now = fsc_clock_mono();
		uint64_t left = now < p->until ? p->until - now : 0;
		struct timespec ts = {.tv_sec = (time_t)(left / 1000000000u),
				      .tv_nsec = (long)(left % 1000000000u)};
		int n = ppoll(fds, 2, &ts, NULL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[1].revents)
			return -ECANCELED;
		if (n > 0)
			return fds[0].revents;
		if (!n)
			return -ETIMEDOUT;
	}
}
