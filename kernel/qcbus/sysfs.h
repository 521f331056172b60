/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _QCBUS_SYSFS_H
#define _QCBUS_SYSFS_H

struct device;
struct qcbus_domain;

int qcbus_sysfs_init(void);
void qcbus_sysfs_exit(void);
struct device *qcbus_sysfs_add(struct qcbus_domain *domain);
void qcbus_sysfs_remove(struct device *dev);

#endif /* _QCBUS_SYSFS_H */
