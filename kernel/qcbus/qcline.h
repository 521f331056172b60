/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The arithmetic of the clock page: where the clock stands at a host time, to the nanosecond
 * and with the fraction that is cut off, exactly as crates/vtime/src/line.rs has it. A test
 * there gives both the same numbers.
 *
 * It reads no clock and touches no page, so it compiles in the kernel and in any program.
 * Products of 128 bits are made of words, since processors of 32 bits know no others. Whatever
 * the numbers are, there is a result: the page is written by others.
 */
#ifndef _QCLINE_H
#define _QCLINE_H

#include <linux/types.h>

#define QCLINE_S64_MAX 0x7fffffffffffffffLL
#define QCLINE_S64_MIN (-QCLINE_S64_MAX - 1)

/**
 * struct qcline - one straight piece of virtual time over host time
 * @base_host: host nanoseconds at which it begins
 * @base_virtual: virtual nanoseconds there
 * @base_fraction: what was cut off of these, in 2^-64 ns
 * @rate_whole: virtual nanoseconds in one of the host, cut off
 * @rate_fraction: what was cut off, in 2^-64
 * @horizon: virtual time beyond which the clock does not go
 * @limit: host time beyond which it does not go
 */
struct qcline {
	__s64 base_host;
	__s64 base_virtual;
	__u64 base_fraction;
	__u64 rate_whole;
	__u64 rate_fraction;
	__s64 horizon;
	__s64 limit;
};

/**
 * struct qcline_time - a virtual time
 * @ns: nanoseconds, cut off
 * @fraction: what was cut off, in 2^-64 ns
 */
struct qcline_time {
	__s64 ns;
	__u64 fraction;
};

static inline __s64 qcline_add(__s64 a, __s64 b)
{
	__s64 sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? QCLINE_S64_MIN : QCLINE_S64_MAX;
	return sum;
}

static inline __s64 qcline_sub(__s64 a, __s64 b)
{
	__s64 difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b < 0 ? QCLINE_S64_MAX : QCLINE_S64_MIN;
	return difference;
}

/* The product of @a and @b: the low word is returned, the high one stored. */
static inline __u64 qcline_mul(__u64 a, __u64 b, __u64 *high)
{
	__u64 a_low = (__u32)a, a_high = a >> 32;
	__u64 b_low = (__u32)b, b_high = b >> 32;
	__u64 low = a_low * b_low;
	__u64 middle = a_high * b_low + (low >> 32);
	__u64 other = a_low * b_high + (__u32)middle;

	*high = a_high * b_high + (middle >> 32) + (other >> 32);
	return other << 32 | (__u32)low;
}

/* Where the clock stands at a host time. */
static inline struct qcline_time qcline_at(const struct qcline *line, __s64 host)
{
	__u64 elapsed, carry, gained, beyond;
	struct qcline_time time;
	__s64 since;

	if (host > line->limit)
		host = line->limit;
	since = qcline_sub(host, line->base_host);
	elapsed = since < 0 ? 0 : since;

	time.fraction = qcline_mul(elapsed, line->rate_fraction, &carry);
	time.fraction += line->base_fraction;
	carry += time.fraction < line->base_fraction;

	gained = qcline_mul(elapsed, line->rate_whole, &beyond);
	gained += carry;
	if (beyond || gained < carry || gained > QCLINE_S64_MAX)
		gained = QCLINE_S64_MAX;
	time.ns = qcline_add(line->base_virtual, gained);

	if (time.ns >= line->horizon) {
		time.ns = line->horizon;
		time.fraction = 0;
	}
	return time;
}

#endif /* _QCLINE_H */
