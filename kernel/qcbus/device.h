/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _QCBUS_DEVICE_H
#define _QCBUS_DEVICE_H

int qcbus_device_init(void);
void qcbus_device_exit(void);

#endif /* _QCBUS_DEVICE_H */
