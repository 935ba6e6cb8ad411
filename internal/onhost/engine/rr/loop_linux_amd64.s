//go:build !portable

#include "go_asm.h"
#include "textflag.h"

// System calls of Linux on amd64, and MSG_NOSIGNAL.
#define SENDTO 44
#define RECVFROM 45
#define NOSIGNAL 0x4000

// The kernel keeps all registers but AX (the result), CX and R11.

// func exchanges(x *requester) outcome
TEXT ·exchanges(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), BX
	XORL R8, R8
	XORL R9, R9
	MOVQ requester_ticks(BX), R12
	MOVQ requester_read(BX), R13

next:
	MOVQ requester_fd(BX), DI
	MOVQ requester_request(BX), SI
	MOVQ requester_requestLen(BX), DX
	MOVL $NOSIGNAL, R10
	MOVL $SENDTO, AX
	SYSCALL
	CMPQ AX, requester_requestLen(BX)
	JNE  sent

	MOVQ requester_response(BX), SI
	MOVQ requester_responseLen(BX), DX
	XORL R10, R10
	MOVL $RECVFROM, AX
	SYSCALL
	CMPQ AX, requester_responseLen(BX)
	JNE  received

	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, (R12)(R13*8)
	INCQ R13
	CMPQ AX, requester_last(BX)
	JCC  passed
	CMPQ R13, $const_momentsLen
	JLT  next

	MOVQ R13, requester_read(BX)
	MOVQ $const_full, ret+8(FP)
	RET

passed:
	MOVQ R13, requester_read(BX)
	MOVQ $const_passed, ret+8(FP)
	RET

sent:
	MOVQ AX, requester_n(BX)
	MOVQ R13, requester_read(BX)
	MOVQ $const_sending, ret+8(FP)
	RET

received:
	MOVQ AX, requester_n(BX)
	MOVQ R13, requester_read(BX)
	MOVQ $const_receiving, ret+8(FP)
	RET

// func answers(x *answerer) outcome
TEXT ·answers(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), BX
	XORL R8, R8
	XORL R9, R9

next:
	MOVQ answerer_fd(BX), DI
	MOVQ answerer_request(BX), SI
	MOVQ answerer_requestLen(BX), DX
	XORL R10, R10
	MOVL $RECVFROM, AX
	SYSCALL
	CMPQ AX, answerer_requestLen(BX)
	JNE  received

	MOVQ answerer_response(BX), SI
	MOVQ answerer_responseLen(BX), DX
	MOVL $NOSIGNAL, R10
	MOVL $SENDTO, AX
	SYSCALL
	CMPQ AX, answerer_responseLen(BX)
	JNE  sent
	INCQ answerer_answered(BX)
	JMP  next

received:
	MOVQ AX, answerer_n(BX)
	MOVQ $const_receiving, ret+8(FP)
	RET

sent:
	MOVQ AX, answerer_n(BX)
	MOVQ $const_sending, ret+8(FP)
	RET
