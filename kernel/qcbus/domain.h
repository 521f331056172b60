/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _QCBUS_DOMAIN_H
#define _QCBUS_DOMAIN_H

#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "uapi/qcbus.h"

struct device;
struct page;
struct qcbus_lines;
struct qcclock;

/* Edges that wait to be read. */
#define QCBUS_EVENTS 64
/* Latencies that are kept. */
#define QCBUS_LATENCIES 256

/**
 * struct qcbus_domain - an open file of the device
 * @refs: the agent's descriptor, and those of programs
 * @id: its number, which no other domain has at the same time
 * @dev: its folder in sysfs, as long as the agent's descriptor is open
 * @page: the clock page
 * @clock: the same as memory
 * @control: serializes attach, detach and hold
 * @lines: its place on a bus; NULL without one. Under @control
 * @held: whether the agent holds the bus. Under @control
 * @lock: for all that an interrupt changes, below
 * @asserted: whether the bus is asserted
 * @rounds: how often it has become so
 * @events: a ring of those that nobody has read
 * @first: count of events that were read or lost
 * @next: count of events that came
 * @lost: of these, how many were lost since one was read
 * @latencies: a ring of the last ones, in nanoseconds
 * @stops: how often the clock was stopped here
 * @wake: wakes @readers, which an interrupt cannot do itself in a kernel with PREEMPT_RT
 * @readers: wait for events
 */
struct qcbus_domain {
	struct kref refs;
	int id;
	struct device *dev;
	struct page *page;
	struct qcclock *clock;

	struct mutex control; /* attach, detach, hold */
	struct qcbus_lines *lines;
	bool held;

	raw_spinlock_t lock;
	bool asserted;
	u64 rounds;
	struct qcbus_event events[QCBUS_EVENTS];
	u64 first;
	u64 next;
	u32 lost;
	s64 latencies[QCBUS_LATENCIES];
	u64 stops;

	struct irq_work wake;
	wait_queue_head_t readers;
};

struct qcbus_domain *qcbus_domain_new(void);
void qcbus_domain_end(struct qcbus_domain *domain);
struct qcbus_domain *qcbus_domain_get(struct qcbus_domain *domain);
void qcbus_domain_put(struct qcbus_domain *domain);
void qcbus_domain_edge(struct qcbus_domain *domain, bool asserted, s64 edge_ns);
bool qcbus_domain_has_event(struct qcbus_domain *domain);
bool qcbus_domain_take_event(struct qcbus_domain *domain, struct qcbus_event *event);
int qcbus_domain_hold(struct qcbus_domain *domain, bool hold);
int qcbus_domain_attach(struct qcbus_domain *domain, const struct qcbus_attach *attach);
int qcbus_domain_detach(struct qcbus_domain *domain);

#endif /* _QCBUS_DOMAIN_H */
