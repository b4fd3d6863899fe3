/* The example that the interface was agreed upon with, its calls unchanged: it compiles, and runs.
 */
#include "funcscope.h"

static int events;

static void event_loop_process(void)
{
	events++;
}

int main(void)
{
	uint8_t checkpoints = 64;
	int32_t level = FS_DEEP;
	if (!funcscope_caller_initialize(checkpoints, level)) {
		return 1;
	}

	FUNCSCOPE_ENTER(0);
	/* hot path or critical section */
	FUNCSCOPE_EXIT(0);

	for (;;) {
		event_loop_process();
		funcscope_server_poll_and_send_fd();
		if (events == 1000)
			break;
	}

	return !funcscope_caller_cleanup();
}
