/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _QCBUS_LINES_H
#define _QCBUS_LINES_H

#include <linux/types.h>

struct qcbus_attach;
struct qcbus_domain;
struct qcbus_lines;

struct qcbus_lines *qcbus_lines_new(struct qcbus_domain *domain, const struct qcbus_attach *attach);
void qcbus_lines_drive(struct qcbus_lines *lines, bool asserted);
void qcbus_lines_free(struct qcbus_lines *lines);

#endif /* _QCBUS_LINES_H */
