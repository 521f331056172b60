// SPDX-License-Identifier: GPL-2.0
/*
 * A GPIO chip for the tests whose lines do not sleep, as those of a board's processor and
 * unlike those of a guest: line 0 drives a wire that lines 1 and 2 watch. Its interrupts are
 * hard ones. The kernel's own simulated chip sleeps, and Debian does not build it.
 */
#include <linux/bits.h>
#include <linux/gpio/driver.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#define LINES 3

static struct gpio_chip chip;
static struct irq_work edge;
static struct platform_device *parent;
static int level;
static unsigned int types[LINES];
static unsigned long watched;

/* In a hard interrupt, as generic_handle_domain_irq() wants it. */
static void tell(struct irq_work *work)
{
	unsigned int type = READ_ONCE(level) ? IRQ_TYPE_EDGE_RISING : IRQ_TYPE_EDGE_FALLING;
	unsigned int line;

	for_each_set_bit(line, &watched, LINES)
		if (types[line] & type)
			generic_handle_domain_irq(chip.irq.domain, line);
}

static int chip_get(struct gpio_chip *gc, unsigned int line)
{
	return READ_ONCE(level);
}

static void chip_set(struct gpio_chip *gc, unsigned int line, int value)
{
	if (level == !!value)
		return;
	WRITE_ONCE(level, !!value);
	irq_work_queue(&edge);
	irq_work_sync(&edge);
}

static int chip_output(struct gpio_chip *gc, unsigned int line, int value)
{
	chip_set(gc, line, value);
	return 0;
}

static int chip_input(struct gpio_chip *gc, unsigned int line)
{
	return 0;
}

static void chip_mask(struct irq_data *data)
{
	clear_bit(irqd_to_hwirq(data), &watched);
	gpiochip_disable_irq(&chip, irqd_to_hwirq(data));
}

static void chip_unmask(struct irq_data *data)
{
	gpiochip_enable_irq(&chip, irqd_to_hwirq(data));
	set_bit(irqd_to_hwirq(data), &watched);
}

static int chip_set_type(struct irq_data *data, unsigned int type)
{
	types[irqd_to_hwirq(data)] = type;
	return 0;
}

static const struct irq_chip interrupts = {
	.name = "fastwire",
	.irq_mask = chip_mask,
	.irq_unmask = chip_unmask,
	.irq_set_type = chip_set_type,
	.flags = IRQCHIP_IMMUTABLE,
	GPIOCHIP_IRQ_RESOURCE_HELPERS,
};

static int __init fastwire_init(void)
{
	int err;

	parent = platform_device_register_simple("fastwire", -1, NULL, 0);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	edge = IRQ_WORK_INIT_HARD(tell);
	chip.label = "fastwire";
	chip.parent = &parent->dev;
	chip.owner = THIS_MODULE;
	chip.base = -1;
	chip.ngpio = LINES;
	chip.get = chip_get;
	chip.set = chip_set;
	chip.direction_output = chip_output;
	chip.direction_input = chip_input;
	gpio_irq_chip_set_chip(&chip.irq, &interrupts);
	chip.irq.handler = handle_simple_irq;
	chip.irq.default_type = IRQ_TYPE_NONE;
	err = gpiochip_add_data(&chip, NULL);
	if (err)
		platform_device_unregister(parent);
	return err;
}

static void __exit fastwire_exit(void)
{
	gpiochip_remove(&chip);
	platform_device_unregister(parent);
}

module_init(fastwire_init);
module_exit(fastwire_exit);

MODULE_DESCRIPTION("Three GPIO lines on one wire that do not sleep");
MODULE_LICENSE("GPL");
