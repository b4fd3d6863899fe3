/* What is kept of one execution of an encoding. */
#ifndef HARM_RECORD_H
#define HARM_RECORD_H

#include <stdint.h>

struct harm_record {
	uint32_t done;	/* 1: executed; 2: the process died in it */
	int32_t attach; /* raw mode: 0, or the errno of attaching */
	uint32_t exit;	/* stub 1 or 2, 3: a signal */
	int32_t signal, code;
	int64_t at;	   /* of the signal, counted from the slot */
	uint64_t regs[17]; /* 16 registers and the flags */
	uint64_t vectors, data,
	    stack; /* sums of the x87, vector and mask registers, of memory, of the stack */
};

#endif
