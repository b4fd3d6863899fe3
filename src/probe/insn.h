/* What the instructions at a place mean for a probe on it. */
#ifndef FSC_PROBE_INSN_H
#define FSC_PROBE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/target.h"
#include "elf/elf.h"

/* Whether a uprobe may be put on an instruction, and why not. */
enum fsc_insn_verdict {
	FSC_INSN_FINE,
	FSC_INSN_UNKNOWN,   /* the decoder does not know it */
	FSC_INSN_REFUSED,   /* the kernel refuses it, and says so only once the file is mapped */
	FSC_INSN_MISTAKEN,  /* the kernel takes it and then executes something else */
	FSC_INSN_REPEATED,  /* each repetition would be a hit */
	FSC_INSN_RELOCATED, /* the loader changes it; the kernel would execute what the file has */
	FSC_INSN_VERDICTS,
};

/* Where control goes behind an instruction. */
enum fsc_insn_flow {
	FSC_FLOW_ON,	   /* to the next one, perhaps elsewhere too */
	FSC_FLOW_CALL,	   /* to a function that may never come back */
	FSC_FLOW_STOP,	   /* nowhere */
	FSC_FLOW_RETURN,   /* to the caller */
	FSC_FLOW_JUMP,	   /* to `to` */
	FSC_FLOW_INDIRECT, /* to an address in `by`, or in memory */
	FSC_FLOW_SWITCH,   /* to an address of a table, which stays in the function */
};

/* One x86-64 instruction. */
struct fsc_insn {
	uint8_t length; /* 0: not known */
	uint8_t opcode;
	enum fsc_insn_verdict verdict;
	enum fsc_insn_flow flow;
	bool nop;      /* does nothing, in any encoding; a breakpoint that fills a gap, too */
	bool nop5;     /* a no-operation of five bytes: Linux 6.18 replaces it by a call */
	bool emulated; /* by the kernel (push, call, jump, nop); any other is copied away and
			* single-stepped, which costs a second exception */
	bool locked;   /* has the prefix `lock` */
	bool endbr;    /* endbr64 */
	int64_t to;    /* FSC_FLOW_JUMP: counted from the instruction's first byte */
	int64_t also;  /* the same of a conditional jump and of a direct call; 0 for none */
	int64_t slot;  /* where a call or jump reads its address, by RIP, likewise; 0 for none */
	int by, sum;   /* the register it jumps by, and the one it adds another to; -1 for none */
	const char *name;     /* the mnemonic; never NULL, "" where not known */
	const char *encoding; /* "VEX" or "EVEX", NULL for others */
};

/* Decodes the instruction that the code begins with. */
struct fsc_insn fsc_insn_decode(const uint8_t *code, size_t n);
enum { FSC_INSN_WHY = 160 };
/* Why a probe is not put on it, for the user: on a function's first instruction, or on one inside.
 * why has room for FSC_INSN_WHY bytes. */
void fsc_insn_why(const struct fsc_insn *in, bool at_entry, char *why);
/* Whether an instruction begins at `offset` behind a function's start (both in the file); if not,
 * *before and *after (may be 0) are the nearest offsets where one does. */
bool fsc_insn_boundary(const struct fsc_elf *e, uint64_t start, uint64_t offset, uint64_t *before,
		       uint64_t *after);
/* Fills t's nop5, body and stepped from the code at t->offset. False: no probe may be put there;
 * why (as above) says it. */
bool fsc_insn_inspect(struct fsc_elf *e, struct fsc_target *t, char *why);

#endif
