/* The state of the processor that an encoding finds and leaves, at HARM_SAVED; state.S reads and
 * writes it by fixed addresses. */
#ifndef HARM_STATE_H
#define HARM_STATE_H

#define SAVED_EXIT   (HARM_SAVED + 0x10)  /* which stub was reached: 1, 2; 3: a signal */
#define SAVED_RUNNER (HARM_SAVED + 0x18)  /* the runner's rsp */
#define SAVED_SLOT   (HARM_SAVED + 0x20)  /* where to go */
#define SAVED_MASK   (HARM_SAVED + 0x28)  /* components for xsave and xrstor */
#define SAVED_IN     (HARM_SAVED + 0x100) /* 16 registers, then the flags */
#define SAVED_OUT    (HARM_SAVED + 0x200)
#define SAVED_STACK  (HARM_SAVED + 0xff0) /* a little room to push flags to */
#define SAVED_XIN    (HARM_SAVED + 0x2000)
#define SAVED_XOUT   (HARM_SAVED + 0x3000)
#define SAVED_SIZE   0x4000
#define SAVED_XSIZE  0xc00

#ifndef __ASSEMBLER__
#include <stdint.h>

struct harm_saved {
	uint64_t stub[2]; /* where the two stubs of a slot go */
	uint64_t exit, runner, slot, mask;
};

void harm_enter(void); /* loads the state, jumps to the slot, comes back through one of these: */
void harm_exit_next(void);
void harm_exit_target(void);
void harm_exit_signal(void);
#endif

#endif
