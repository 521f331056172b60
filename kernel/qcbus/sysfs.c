// SPDX-License-Identifier: GPL-2.0
/*
 * Domains in sysfs: /sys/class/qcbus/qcbus0 and so on, each as long as its agent has it open.
 * README.md says what the files mean.
 */
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "domain.h"
#include "sysfs.h"

static ssize_t hold_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct qcbus_domain *domain = dev_get_drvdata(dev);

	return sysfs_emit(text, "%d\n", READ_ONCE(domain->held));
}

static ssize_t hold_store(struct device *dev, struct device_attribute *attr, const char *text,
			  size_t size)
{
	bool hold;
	int err;

	err = kstrtobool(text, &hold);
	if (err)
		return err;
	qcbus_domain_hold(dev_get_drvdata(dev), hold);
	return size;
}
static DEVICE_ATTR_RW(hold);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct qcbus_domain *domain = dev_get_drvdata(dev);

	return sysfs_emit(text, "%s\n", READ_ONCE(domain->asserted) ? "asserted" : "released");
}
static DEVICE_ATTR_RO(state);

static ssize_t rounds_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct qcbus_domain *domain = dev_get_drvdata(dev);
	unsigned long flags;
	u64 rounds;

	raw_spin_lock_irqsave(&domain->lock, flags);
	rounds = domain->rounds;
	raw_spin_unlock_irqrestore(&domain->lock, flags);
	return sysfs_emit(text, "%llu\n", rounds);
}
static DEVICE_ATTR_RO(rounds);

static ssize_t latency_ns_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct qcbus_domain *domain = dev_get_drvdata(dev);
	unsigned long flags;
	u64 at, end;
	s64 latency;
	int size = 0;

	raw_spin_lock_irqsave(&domain->lock, flags);
	end = domain->stops;
	raw_spin_unlock_irqrestore(&domain->lock, flags);
	at = end > QCBUS_LATENCIES ? end - QCBUS_LATENCIES : 0;
	for (; at < end; at++) {
		raw_spin_lock_irqsave(&domain->lock, flags);
		latency = domain->latencies[at % QCBUS_LATENCIES];
		raw_spin_unlock_irqrestore(&domain->lock, flags);
		size += sysfs_emit_at(text, size, "%lld\n", latency);
	}
	return size;
}
static DEVICE_ATTR_RO(latency_ns);

static struct attribute *domain_attrs[] = {
	&dev_attr_hold.attr,
	&dev_attr_state.attr,
	&dev_attr_rounds.attr,
	&dev_attr_latency_ns.attr,
	NULL
};
ATTRIBUTE_GROUPS(domain);

static struct class domains = {
	.name = "qcbus",
};

int qcbus_sysfs_init(void)
{
	return class_register(&domains);
}

void qcbus_sysfs_exit(void)
{
	class_unregister(&domains);
}

/* The folder of a domain; an error as a pointer. Context: process. */
struct device *qcbus_sysfs_add(struct qcbus_domain *domain)
{
	return device_create_with_groups(&domains, NULL, MKDEV(0, 0), domain, domain_groups,
					 "qcbus%d", domain->id);
}

/* Removes it, once nobody uses one of its files any more; its name stays. Context: process. */
void qcbus_sysfs_remove(struct device *dev)
{
	device_del(dev);
}
