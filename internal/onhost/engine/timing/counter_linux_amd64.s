#include "textflag.h"

// func readCounter() uint64
// Without a fence: what the processor may read too early is some nanoseconds, and as much at the end of one transaction as
// at the end of the next.
TEXT ·readCounter(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
