// SPDX-License-Identifier: GPL-2.0
/*
 * qcbus: virtual clocks of domains, stopped by the edge of a GPIO line.
 */
#include <linux/module.h>

#include "device.h"
#include "sysfs.h"

static int __init qcbus_init(void)
{
	int err;

	err = qcbus_sysfs_init();
	if (err)
		return err;
	err = qcbus_device_init();
	if (err)
		goto no_device;
	return 0;

no_device:
	qcbus_sysfs_exit();
	return err;
}

static void __exit qcbus_exit(void)
{
	qcbus_device_exit();
	qcbus_sysfs_exit();
}

module_init(qcbus_init);
module_exit(qcbus_exit);

MODULE_DESCRIPTION("Stops virtual clocks of domains from the interrupt of a GPIO line");
MODULE_AUTHOR("Quartercycle");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
