/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _QCBUS_CLOCK_H
#define _QCBUS_CLOCK_H

#include <linux/types.h>

struct qcclock;

/**
 * struct qcbus_stop - how a clock was stopped
 * @stopped_ns: the host's
 * @virtual_ns: at which it stands
 * @changed_ns: host time when all could see it
 */
struct qcbus_stop {
	s64 stopped_ns;
	s64 virtual_ns;
	s64 changed_ns;
};

void qcbus_clock_init(struct qcclock *clock);
bool qcbus_clock_stop(struct qcclock *clock, struct qcbus_stop *stop);

#endif /* _QCBUS_CLOCK_H */
