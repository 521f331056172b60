// SPDX-License-Identifier: GPL-2.0
/*
 * The clock page as the kernel changes it: it stops the clock, and does nothing else. qcclock.h
 * says how two may write to one page.
 *
 * The agent can write anything at any time. What is read here is data, never a reason to wait
 * for long or to fail.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/processor.h>

#include "clock.h"
#include "qcclock.h"
#include "qcline.h"

/*
 * The agent makes a page odd for less than a microsecond unless it loses its processor
 * meanwhile, perhaps to this very interrupt: then waiting helps nobody.
 */
#define TRY_NS 5000

/* A clock that stands at zero, as ClockPage::new in Rust. */
void qcbus_clock_init(struct qcclock *clock)
{
	clock->magic = QCCLOCK_MAGIC;
	clock->version = QCCLOCK_VERSION;
	clock->size = QCCLOCK_SIZE;
	clock->horizon = S64_MAX;
	clock->tdf_millionths = 1000000;
	clock->shift_until = S64_MIN;
	clock->limit = S64_MAX;
}

/* Makes an even sequence odd. */
static bool try_take(struct qcclock *clock, u32 *sequence)
{
	*sequence = READ_ONCE(clock->sequence);
	return !(*sequence & 1) && cmpxchg(&clock->sequence, *sequence, *sequence + 1) == *sequence;
}

static bool take(struct qcclock *clock, u32 *sequence)
{
	s64 begun = ktime_get();

	do {
		if (try_take(clock, sequence))
			return true;
		cpu_relax();
	} while (ktime_get() - begun < TRY_NS);

	WRITE_ONCE(clock->stop_asked, 1);
	/* Either the agent, which looks behind its even sequence, sees this, or we see that. */
	smp_mb();
	if (!try_take(clock, sequence))
		return false;
	WRITE_ONCE(clock->stop_asked, 0);
	return true;
}

static struct qcline line_of(const struct qcclock *clock)
{
	return (struct qcline) {
		.base_host = READ_ONCE(clock->base_host),
		.base_virtual = READ_ONCE(clock->base_virtual),
		.base_fraction = READ_ONCE(clock->base_fraction),
		.rate_whole = READ_ONCE(clock->rate_whole),
		.rate_fraction = READ_ONCE(clock->rate_fraction),
		.horizon = READ_ONCE(clock->horizon),
		.limit = READ_ONCE(clock->limit),
	};
}

/* The host clock, once no reader can still use the page as it was before. */
static s64 settled(void)
{
	s64 now, begun = ktime_get();

	do {
		cpu_relax();
		now = ktime_get();
	} while (now - begun < QCCLOCK_SETTLE_NS);
	return now;
}

/**
 * qcbus_clock_stop() - stops the clock where it is
 * @clock: the page
 * @stop: receives how
 *
 * Context: any, with interrupts off: readers wait while the page is odd. Takes some
 * microseconds at most.
 * Return: false if the agent was changing the page all the time; it was asked to stop the clock
 * then.
 */
bool qcbus_clock_stop(struct qcclock *clock, struct qcbus_stop *stop)
{
	struct qcline_time time;
	struct qcline line;
	u32 sequence;

	lockdep_assert_irqs_disabled();
	if (!take(clock, &sequence))
		return false;
	stop->stopped_ns = settled();
	line = line_of(clock);
	time = qcline_at(&line, stop->stopped_ns);
	stop->virtual_ns = time.ns;

	WRITE_ONCE(clock->base_host, stop->stopped_ns);
	WRITE_ONCE(clock->base_virtual, time.ns);
	WRITE_ONCE(clock->base_fraction, time.fraction);
	WRITE_ONCE(clock->rate_whole, 0);
	WRITE_ONCE(clock->rate_fraction, 0);
	WRITE_ONCE(clock->shift_until, S64_MIN);
	WRITE_ONCE(clock->stops, READ_ONCE(clock->stops) + 1);
	/* Who sees it even sees all of the above. */
	smp_store_release(&clock->sequence, sequence + 2);
	stop->changed_ns = ktime_get();
	return true;
}
