/* Where everything lies in the process that executes the encodings: at fixed addresses below 2 GB,
 * so that two runs can be compared byte by byte and code can reach its data without a register. */
#ifndef HARM_LAYOUT_H
#define HARM_LAYOUT_H

#define HARM_SLOTS	0x10000000 /* the library's slots, mapped here by the runner */
#define HARM_SLOT_SIZE	64	   /* one encoding; behind it a stub that resumes the runner */
#define HARM_TARGET	40 /* in the slot: a second stub, where jumps, calls and returns go */
#define HARM_DATA	0x30000000 /* what memory operands point into */
#define HARM_DATA_SIZE	0x4000
#define HARM_OPERAND	0x2000 /* in the data: register number i points 256 * i behind it */
#define HARM_RIP_AT	0x1000 /* in the data: what RIP-relative operands point to */
#define HARM_STACK	0x31000000
#define HARM_STACK_SIZE 0x2000
#define HARM_STACK_TOP	(HARM_STACK + 0x1000) /* rsp of an encoding */
#define HARM_SAVED	0x32000000	      /* struct saved, see state.h */
#define HARM_MAGIC	"funcscope harm 1"    /* 16 bytes, a page before the first slot */
#define HARM_STATES	2		      /* times each encoding is run: see runner.c */

#endif
