// SPDX-License-Identifier: GPL-2.0
/*
 * The GPIO lines of a domain: one that drives the bus, one or two that watch it.
 *
 * An edge is taken in the hard interrupt where that can tell what the bus is: if two lines
 * share the edges, or the level can be read without sleeping. Else (one line of an expander or
 * of a virtual machine) the interrupt keeps the time, and its thread reads the level.
 *
 * Which edges count is decided in edges.h. At the end of a debounce time the level is read
 * again: by the timer, or by a work item if reading sleeps.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/gpio/consumer.h>
#include <linux/gpio/machine.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "domain.h"
#include "edges.h"
#include "lines.h"

/* Names of the lines within a lookup table. */
#define OUTPUT "output"
#define INPUT "input"

#define INPUTS_MAX 2

/**
 * struct qcbus_input - a line that watches the bus
 * @lines: the lines that it is one of
 * @desc: the line
 * @irq: its interrupt
 * @asserted: what its edge means if there are two lines
 * @edge_ns: host time of the interrupt for its thread; zero if there was none before the thread
 */
struct qcbus_input {
	struct qcbus_lines *lines;
	struct gpio_desc *desc;
	int irq;
	bool asserted;
	atomic64_t edge_ns;
};

/**
 * struct qcbus_lines - the place of a domain on a bus
 * @domain: the domain
 * @output: drives the bus
 * @inputs: watch it
 * @count: of the inputs
 * @sleeps: whether reading the level may sleep
 * @lock: for the two words below
 * @edges: which edges count
 * @closing: set once no timer may be started any more
 * @timer: ends a debounce time
 * @work: reads the level then, if reading sleeps
 */
struct qcbus_lines {
	struct qcbus_domain *domain;
	struct gpio_desc *output;
	struct qcbus_input inputs[INPUTS_MAX];
	unsigned int count;
	bool sleeps;
	raw_spinlock_t lock;
	struct qcbus_edges edges;
	bool closing;
	struct hrtimer timer;
	struct work_struct work;
};

/* The bus was seen at a level. Context: any. */
static void see(struct qcbus_lines *lines, bool asserted, s64 edge_ns)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lines->lock, flags);
	switch (qcbus_edges_see(&lines->edges, asserted, edge_ns)) {
	case QCBUS_CHANGED:
		/* Under the lock, so that edges reach the domain in their order. */
		qcbus_domain_edge(lines->domain, asserted, edge_ns);
		break;
	case QCBUS_LOOK_AGAIN:
		if (!lines->closing)
			hrtimer_start(&lines->timer, lines->edges.quiet_until,
				      HRTIMER_MODE_ABS_HARD);
		break;
	case QCBUS_SAME:
		break;
	}
	raw_spin_unlock_irqrestore(&lines->lock, flags);
}

/* Reads the level and acts on it. Context: as reading allows. */
static void look(struct qcbus_lines *lines, s64 edge_ns)
{
	struct gpio_desc *desc = lines->inputs[0].desc;
	int level = lines->sleeps ? gpiod_get_value_cansleep(desc) : gpiod_get_value(desc);

	if (level >= 0)
		see(lines, level, edge_ns);
}

static irqreturn_t input_hard(int irq, void *data)
{
	struct qcbus_input *input = data;
	struct qcbus_lines *lines = input->lines;
	s64 now = ktime_get();

	if (lines->count == INPUTS_MAX) {
		see(lines, input->asserted, now);
		return IRQ_HANDLED;
	}
	if (!lines->sleeps) {
		look(lines, now);
		return IRQ_HANDLED;
	}
	atomic64_set(&input->edge_ns, now);
	return IRQ_WAKE_THREAD;
}

/* Behind an expander on a slow bus, this is all that is called. */
static irqreturn_t input_thread(int irq, void *data)
{
	struct qcbus_input *input = data;
	s64 edge_ns = atomic64_xchg(&input->edge_ns, 0) ?: ktime_get();

	if (input->lines->count == INPUTS_MAX)
		see(input->lines, input->asserted, edge_ns);
	else
		look(input->lines, edge_ns);
	return IRQ_HANDLED;
}

static enum hrtimer_restart quiet_ended(struct hrtimer *timer)
{
	struct qcbus_lines *lines = container_of(timer, struct qcbus_lines, timer);

	if (lines->sleeps)
		queue_work(system_highpri_wq, &lines->work);
	else
		look(lines, ktime_get());
	return HRTIMER_NORESTART;
}

static void look_later(struct work_struct *work)
{
	look(container_of(work, struct qcbus_lines, work), ktime_get());
}

static bool is_known(const struct qcbus_line *line, u32 flags)
{
	size_t length = strnlen(line->chip, sizeof(line->chip));

	/* The greatest number of 16 bits means something else in a lookup table. */
	return length && length < sizeof(line->chip) && line->offset < U16_MAX &&
	       !(line->flags & ~flags);
}

static int check(const struct qcbus_attach *attach)
{
	if (attach->inputs < 1 || attach->inputs > INPUTS_MAX)
		return -EINVAL;
	if (attach->debounce_us > QCBUS_DEBOUNCE_US_MAX)
		return -EINVAL;
	if (attach->reserved[0] || attach->reserved[1])
		return -EINVAL;
	if (!is_known(&attach->output, QCBUS_ACTIVE_LOW | QCBUS_OPEN_DRAIN) ||
	    !is_known(&attach->input, QCBUS_ACTIVE_LOW))
		return -EINVAL;
	if (attach->inputs == INPUTS_MAX &&
	    (!is_known(&attach->input_released, QCBUS_ACTIVE_LOW) ||
	     attach->input_released.flags != attach->input.flags))
		return -EINVAL;
	return 0;
}

static struct gpiod_lookup lookup(const struct qcbus_line *line, const char *name,
				  unsigned int index)
{
	unsigned long flags = 0;

	if (line->flags & QCBUS_ACTIVE_LOW)
		flags |= GPIO_ACTIVE_LOW;
	if (line->flags & QCBUS_OPEN_DRAIN)
		flags |= GPIO_OPEN_DRAIN;
	return (struct gpiod_lookup)GPIO_LOOKUP_IDX(line->chip, line->offset, name, index, flags);
}

/* A line of a lookup table that exists; a chip that is not there is not waited for. */
static struct gpio_desc *line_get(struct device *dev, const char *name, unsigned int index,
				  enum gpiod_flags flags)
{
	struct gpio_desc *desc = gpiod_get_index(dev, name, index, flags);

	return desc == ERR_PTR(-EPROBE_DEFER) || desc == ERR_PTR(-ENOENT) ? ERR_PTR(-ENODEV) : desc;
}

static void lines_put(struct qcbus_lines *lines)
{
	unsigned int i;

	for (i = 0; i < lines->count; i++)
		if (!IS_ERR_OR_NULL(lines->inputs[i].desc))
			gpiod_put(lines->inputs[i].desc);
	if (!IS_ERR_OR_NULL(lines->output))
		gpiod_put(lines->output);
}

/* Finds the lines by labels of chips and numbers, as board files do. */
static int lines_get(struct qcbus_lines *lines, const struct qcbus_attach *attach)
{
	struct device *dev = lines->domain->dev;
	struct gpiod_lookup_table *table;
	struct gpio_desc *desc;
	unsigned int i;
	int err = 0;

	table = kzalloc(struct_size(table, table, 2 + INPUTS_MAX), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->dev_id = dev_name(dev);
	table->table[0] = lookup(&attach->output, OUTPUT, 0);
	table->table[1] = lookup(&attach->input, INPUT, 0);
	if (lines->count == INPUTS_MAX)
		table->table[2] = lookup(&attach->input_released, INPUT, 1);
	gpiod_add_lookup_table(table);

	for (i = 0; i < lines->count && !err; i++) {
		desc = line_get(dev, INPUT, i, GPIOD_IN);
		lines->inputs[i].desc = desc;
		err = PTR_ERR_OR_ZERO(desc);
	}
	if (!err) {
		/* Released, whatever its level was. */
		lines->output = line_get(dev, OUTPUT, 0, GPIOD_OUT_LOW);
		err = PTR_ERR_OR_ZERO(lines->output);
	}
	gpiod_remove_lookup_table(table);
	kfree(table);
	if (err)
		lines_put(lines);
	return err;
}

static unsigned long trigger(const struct qcbus_input *input)
{
	bool rising = input->asserted != gpiod_is_active_low(input->desc);

	if (input->lines->count < INPUTS_MAX)
		return IRQF_TRIGGER_RISING | IRQF_TRIGGER_FALLING;
	return rising ? IRQF_TRIGGER_RISING : IRQF_TRIGGER_FALLING;
}

static void irqs_free(struct qcbus_lines *lines, unsigned int count)
{
	while (count--)
		free_irq(lines->inputs[count].irq, &lines->inputs[count]);
}

static int irqs_request(struct qcbus_lines *lines)
{
	struct qcbus_input *input;
	unsigned int i;
	int err;

	for (i = 0; i < lines->count; i++) {
		input = &lines->inputs[i];
		input->irq = gpiod_to_irq(input->desc);
		/* A line without an interrupt cannot watch; the reasons that chips give differ. */
		err = input->irq > 0 ? 0 : -EINVAL;
		if (!err)
			err = request_threaded_irq(input->irq, input_hard, input_thread,
						   trigger(input) | IRQF_NO_THREAD,
						   dev_name(lines->domain->dev), input);
		if (err) {
			irqs_free(lines, i);
			return err;
		}
	}
	return 0;
}

/* Once the interrupts are freed, nothing of these lines runs after this. */
static void quiesce(struct qcbus_lines *lines)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lines->lock, flags);
	lines->closing = true;
	raw_spin_unlock_irqrestore(&lines->lock, flags);
	hrtimer_cancel(&lines->timer);
	cancel_work_sync(&lines->work);
}

/**
 * qcbus_lines_new() - takes lines; if the bus is asserted, that is an edge
 * @domain: what the edges go to
 * @attach: which lines; from user space, and checked here
 *
 * Context: process.
 * Return: the lines, for qcbus_lines_free(); an error as a pointer.
 */
struct qcbus_lines *qcbus_lines_new(struct qcbus_domain *domain, const struct qcbus_attach *attach)
{
	struct qcbus_lines *lines;
	unsigned int i;
	int err;

	err = check(attach);
	if (err)
		return ERR_PTR(err);
	lines = kzalloc(sizeof(*lines), GFP_KERNEL);
	if (!lines)
		return ERR_PTR(-ENOMEM);
	lines->domain = domain;
	lines->count = attach->inputs;
	lines->edges.debounce_ns = (s64)attach->debounce_us * NSEC_PER_USEC;
	raw_spin_lock_init(&lines->lock);
	hrtimer_setup(&lines->timer, quiet_ended, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	INIT_WORK(&lines->work, look_later);
	for (i = 0; i < INPUTS_MAX; i++) {
		lines->inputs[i].lines = lines;
		lines->inputs[i].asserted = !i;
	}

	err = lines_get(lines, attach);
	if (err)
		goto no_lines;
	lines->sleeps = gpiod_cansleep(lines->inputs[0].desc);
	err = irqs_request(lines);
	if (err)
		goto no_irqs;
	look(lines, ktime_get());
	return lines;

no_irqs:
	/* The first of two interrupts may have come already. */
	quiesce(lines);
	lines_put(lines);
no_lines:
	kfree(lines);
	return ERR_PTR(err);
}

/* Drives the bus, or lets go of it. Context: process. */
void qcbus_lines_drive(struct qcbus_lines *lines, bool asserted)
{
	gpiod_set_value_cansleep(lines->output, asserted);
}

/**
 * qcbus_lines_free() - releases the bus and gives the lines back
 * @lines: the lines; no edge of theirs comes after this
 *
 * Context: process.
 */
void qcbus_lines_free(struct qcbus_lines *lines)
{
	qcbus_lines_drive(lines, false);
	irqs_free(lines, lines->count);
	quiesce(lines);
	lines_put(lines);
	kfree(lines);
}
