/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The clock page, in which virtual time is published: what the kernel module, the agent and
 * programs share. crates/vtime/src/page.rs is the same in Rust; a test there compares the two.
 *
 * Virtual time at a host time (CLOCK_MONOTONIC) is
 *	min(horizon, base_virtual + base_fraction / 2^64 + (min(host, limit) - base_host) * rate)
 * with rate = rate_whole + rate_fraction / 2^64 (qcline.h). Readers take all of it between two
 * readings of sequence that are equal and even.
 *
 * Two may write: the agent, and the module when the bus becomes asserted.
 *
 * - Who wants to change the page makes sequence odd by compare-exchange from the even value that
 *   it read, lets QCCLOCK_SETTLE_NS pass, only then reads the host clock, changes the page, and
 *   makes sequence even by adding one (release). While it is odd, the other one waits.
 * - The module cannot wait for long. If sequence stays odd for some microseconds, it sets
 *   stop_asked to 1, tries once more, and leaves. So after each change, that is once sequence is
 *   even, the agent issues a full fence and exchanges stop_asked for 0; if it was 1, the agent
 *   stops the clock itself.
 * - Each time the module stops the clock it adds one to stops. Whoever lets the clock run again
 *   first makes sequence odd and then compares stops with the value at which it decided to: if
 *   they differ, the bus has been asserted since, and the clock stays stopped.
 * - The module changes base_host, base_virtual, base_fraction, rate_whole, rate_fraction,
 *   shift_until, stop_asked, stops and sequence, and nothing else. It never starts the clock.
 */
#ifndef _QCCLOCK_H
#define _QCCLOCK_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif
#include <linux/types.h>

/* "QCCLOCK\0", little-endian. */
#define QCCLOCK_MAGIC 0x004b434f4c434351ULL
/* Version of the layout. */
#define QCCLOCK_VERSION 5
/* Octets of the structure; the rest of the page is zero. */
#define QCCLOCK_SIZE 256
/* Host nanoseconds between an odd sequence and the reading of the host clock. */
#define QCCLOCK_SETTLE_NS 200
/* Clocks of a program, each with an epoch. */
#define QCCLOCK_EPOCHS 5

/**
 * struct qcclock - the clock page
 * @magic: QCCLOCK_MAGIC
 * @version: QCCLOCK_VERSION
 * @size: QCCLOCK_SIZE
 * @sequence: even while the page is consistent
 * @holds: holds that the agent has asserted
 * @base_host: host time at which the present piece begins, in nanoseconds
 * @base_virtual: virtual time there, cut off to nanoseconds
 * @base_fraction: what was cut off, in 2^-64 ns
 * @rate_whole: virtual nanoseconds in one of the host, cut off
 * @rate_fraction: what was cut off, in 2^-64
 * @horizon: virtual time beyond which the clock does not go
 * @epochs: nanoseconds to add to virtual time, for each clock of a program
 * @resumed: futex word that changes when the clock begins to run again
 * @dilated: futex word that changes when the rate does
 * @tdf_millionths: time dilation factor
 * @shift_until: host seconds before which @shifts are valid; the least number while they are not
 * @shifts: seconds and nanoseconds to add to the host's clock, for each clock of a program
 * @limit: host time beyond which readers do not go
 * @jumped: virtual nanoseconds that the clock has jumped over
 * @jumps: whether the clock may jump; constant
 * @stop_asked: 1 if the module asks the agent to stop the clock
 * @stops: how often the module has stopped the clock
 * @reserved: zero
 */
struct qcclock {
	__u64 magic;
	__u32 version;
	__u32 size;
	__u32 sequence;
	__u32 holds;
	__s64 base_host;
	__s64 base_virtual;
	__u64 base_fraction;
	__u64 rate_whole;
	__u64 rate_fraction;
	__s64 horizon;
	__s64 epochs[QCCLOCK_EPOCHS];
	__u32 resumed;
	__u32 dilated;
	__u64 tdf_millionths;
	__s64 shift_until;
	__s64 shifts[QCCLOCK_EPOCHS][2];
	__s64 limit;
	__s64 jumped;
	__u32 jumps;
	__u32 stop_asked;
	__u32 stops;
	__u32 reserved[3];
};

#define QCCLOCK_AT(field, at) \
	static_assert(__builtin_offsetof(struct qcclock, field) == (at), #field)

static_assert(sizeof(struct qcclock) == QCCLOCK_SIZE, "size");
QCCLOCK_AT(magic, 0);
QCCLOCK_AT(version, 8);
QCCLOCK_AT(size, 12);
QCCLOCK_AT(sequence, 16);
QCCLOCK_AT(holds, 20);
QCCLOCK_AT(base_host, 24);
QCCLOCK_AT(base_virtual, 32);
QCCLOCK_AT(base_fraction, 40);
QCCLOCK_AT(rate_whole, 48);
QCCLOCK_AT(rate_fraction, 56);
QCCLOCK_AT(horizon, 64);
QCCLOCK_AT(epochs, 72);
QCCLOCK_AT(resumed, 112);
QCCLOCK_AT(dilated, 116);
QCCLOCK_AT(tdf_millionths, 120);
QCCLOCK_AT(shift_until, 128);
QCCLOCK_AT(shifts, 136);
QCCLOCK_AT(limit, 216);
QCCLOCK_AT(jumped, 224);
QCCLOCK_AT(jumps, 232);
QCCLOCK_AT(stop_asked, 236);
QCCLOCK_AT(stops, 240);

#undef QCCLOCK_AT

#endif /* _QCCLOCK_H */
