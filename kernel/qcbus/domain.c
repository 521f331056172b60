// SPDX-License-Identifier: GPL-2.0
/*
 * A domain: a clock page, what its bus does to it, and what is reported of that.
 */
#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/idr.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "clock.h"
#include "domain.h"
#include "lines.h"
#include "sysfs.h"

static DEFINE_IDA(ids);

static void wake_readers(struct irq_work *work)
{
	struct qcbus_domain *domain = container_of(work, struct qcbus_domain, wake);

	wake_up_interruptible(&domain->readers);
}

/**
 * qcbus_domain_new() - a domain with a clock that stands at zero, without lines
 *
 * Context: process.
 * Return: the domain, which qcbus_domain_end() ends; an error as a pointer.
 */
struct qcbus_domain *qcbus_domain_new(void)
{
	struct qcbus_domain *domain;
	int err = -ENOMEM;

	domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	kref_init(&domain->refs);
	mutex_init(&domain->control);
	raw_spin_lock_init(&domain->lock);
	init_irq_work(&domain->wake, wake_readers);
	init_waitqueue_head(&domain->readers);

	domain->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!domain->page)
		goto no_page;
	domain->clock = page_address(domain->page);
	qcbus_clock_init(domain->clock);

	err = ida_alloc(&ids, GFP_KERNEL);
	if (err < 0)
		goto no_id;
	domain->id = err;

	domain->dev = qcbus_sysfs_add(domain);
	if (IS_ERR(domain->dev)) {
		err = PTR_ERR(domain->dev);
		goto no_dev;
	}
	return domain;

no_dev:
	ida_free(&ids, domain->id);
no_id:
	__free_page(domain->page);
no_page:
	kfree(domain);
	return ERR_PTR(err);
}

/**
 * qcbus_domain_end() - leaves the bus and sysfs; programs keep the page
 * @domain: what the agent had open
 *
 * Context: process.
 */
void qcbus_domain_end(struct qcbus_domain *domain)
{
	/* First, so that nobody holds the bus through it any more. */
	qcbus_sysfs_remove(domain->dev);
	qcbus_domain_detach(domain);
	put_device(domain->dev);
	irq_work_sync(&domain->wake);
	ida_free(&ids, domain->id);
	qcbus_domain_put(domain);
}

struct qcbus_domain *qcbus_domain_get(struct qcbus_domain *domain)
{
	kref_get(&domain->refs);
	return domain;
}

static void domain_free(struct kref *refs)
{
	struct qcbus_domain *domain = container_of(refs, struct qcbus_domain, refs);

	__free_page(domain->page);
	kfree(domain);
}

void qcbus_domain_put(struct qcbus_domain *domain)
{
	kref_put(&domain->refs, domain_free);
}

static void stop_clock(struct qcbus_domain *domain, struct qcbus_event *event)
{
	struct qcbus_stop stop;

	lockdep_assert_held(&domain->lock);
	if (!qcbus_clock_stop(domain->clock, &stop)) {
		event->flags = QCBUS_STOP_ASKED;
		return;
	}
	event->flags = QCBUS_STOPPED;
	event->stopped_ns = stop.stopped_ns;
	event->virtual_ns = stop.virtual_ns;
	event->latency_ns = stop.changed_ns - event->edge_ns;
	domain->latencies[domain->stops++ % QCBUS_LATENCIES] = event->latency_ns;
}

static void report(struct qcbus_domain *domain, struct qcbus_event *event)
{
	lockdep_assert_held(&domain->lock);
	if (domain->next - domain->first == QCBUS_EVENTS) {
		domain->first++;
		domain->lost++;
	}
	domain->events[domain->next++ % QCBUS_EVENTS] = *event;
	irq_work_queue(&domain->wake);
}

/**
 * qcbus_domain_edge() - the bus became asserted, which stops the clock, or was released
 * @domain: the domain
 * @asserted: which of both; nothing happens if it is so already
 * @edge_ns: host time of the edge
 *
 * Context: any.
 */
void qcbus_domain_edge(struct qcbus_domain *domain, bool asserted, s64 edge_ns)
{
	struct qcbus_event event = { .edge_ns = edge_ns };
	unsigned long flags;

	raw_spin_lock_irqsave(&domain->lock, flags);
	if (domain->asserted == asserted)
		goto unlock;
	domain->asserted = asserted;
	if (asserted) {
		event.edge = QCBUS_EDGE_ASSERTED;
		domain->rounds++;
		stop_clock(domain, &event);
	} else {
		event.edge = QCBUS_EDGE_RELEASED;
	}
	event.round = domain->rounds;
	report(domain, &event);
unlock:
	raw_spin_unlock_irqrestore(&domain->lock, flags);
}

/* Whether there is an event that nobody has read. Context: any. */
bool qcbus_domain_has_event(struct qcbus_domain *domain)
{
	unsigned long flags;
	bool has;

	raw_spin_lock_irqsave(&domain->lock, flags);
	has = domain->first != domain->next;
	raw_spin_unlock_irqrestore(&domain->lock, flags);
	return has;
}

/* Takes the oldest event, if there is one. Context: any. */
bool qcbus_domain_take_event(struct qcbus_domain *domain, struct qcbus_event *event)
{
	unsigned long flags;
	bool has;

	raw_spin_lock_irqsave(&domain->lock, flags);
	has = domain->first != domain->next;
	if (has) {
		*event = domain->events[domain->first++ % QCBUS_EVENTS];
		event->lost = domain->lost;
		domain->lost = 0;
	}
	raw_spin_unlock_irqrestore(&domain->lock, flags);
	return has;
}

/**
 * qcbus_domain_hold() - asserts the bus or lets go of it; without lines the domain is a bus of
 * its own
 * @domain: the domain
 * @hold: which of both
 *
 * Context: process.
 * Return: zero or an error.
 */
int qcbus_domain_hold(struct qcbus_domain *domain, bool hold)
{
	s64 now = ktime_get();

	mutex_lock(&domain->control);
	if (domain->lines)
		qcbus_lines_drive(domain->lines, hold);
	else
		qcbus_domain_edge(domain, hold, now);
	domain->held = hold;
	mutex_unlock(&domain->control);
	return 0;
}

/**
 * qcbus_domain_attach() - takes a place on a bus
 * @domain: the domain
 * @attach: which lines; from user space, and checked here
 *
 * Context: process.
 * Return: zero or an error, as QCBUS_ATTACH says.
 */
int qcbus_domain_attach(struct qcbus_domain *domain, const struct qcbus_attach *attach)
{
	struct qcbus_lines *lines;
	int err = 0;

	mutex_lock(&domain->control);
	if (domain->lines || domain->held) {
		err = -EBUSY;
		goto unlock;
	}
	lines = qcbus_lines_new(domain, attach);
	if (IS_ERR(lines)) {
		err = PTR_ERR(lines);
		/* The first line may have seen an edge before the second one failed. */
		qcbus_domain_edge(domain, false, ktime_get());
	} else {
		domain->lines = lines;
	}
unlock:
	mutex_unlock(&domain->control);
	return err;
}

/**
 * qcbus_domain_detach() - releases the bus and gives the lines back
 * @domain: the domain
 *
 * Context: process.
 * Return: zero, or -ENOENT if there are no lines.
 */
int qcbus_domain_detach(struct qcbus_domain *domain)
{
	int err = 0;

	mutex_lock(&domain->control);
	if (domain->lines) {
		qcbus_lines_free(domain->lines);
		domain->lines = NULL;
		domain->held = false;
		qcbus_domain_edge(domain, false, ktime_get());
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&domain->control);
	return err;
}
