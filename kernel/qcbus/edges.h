/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which edges of a wire count. The first one counts at once, since to stop a clock for nothing
 * costs a moment of the host's time and no virtual time. Those within the debounce time after
 * it do not; the level at the end of that time does, so that the last word is always the
 * wire's.
 *
 * Times are arguments, nothing is read here, and it compiles in any program.
 */
#ifndef _QCBUS_EDGES_H
#define _QCBUS_EDGES_H

#include <linux/types.h>

/**
 * struct qcbus_edges - what is known of a wire
 * @debounce_ns: for how long after an edge no other counts
 * @quiet_until: host time before which no edge counts
 * @asserted: 1 if the wire is asserted
 */
struct qcbus_edges {
	__s64 debounce_ns;
	__s64 quiet_until;
	int asserted;
};

/* What follows from a look at the wire. */
enum qcbus_verdict {
	/* It is as it was. */
	QCBUS_SAME,
	/* It has changed: an edge. */
	QCBUS_CHANGED,
	/* It is too early to tell: look again at quiet_until. */
	QCBUS_LOOK_AGAIN,
};

/*
 * The wire was seen at @level at host time @now, because of an edge or at the end of a quiet time.
 */
static inline enum qcbus_verdict
qcbus_edges_see(struct qcbus_edges *edges, int level, __s64 now)
{
	if (now < edges->quiet_until)
		return QCBUS_LOOK_AGAIN;
	if (level == edges->asserted)
		return QCBUS_SAME;
	edges->asserted = level;
	edges->quiet_until = now + edges->debounce_ns;
	return QCBUS_CHANGED;
}

#endif /* _QCBUS_EDGES_H */
