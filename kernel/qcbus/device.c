// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/qcbus: each open file is a domain; and the descriptors for programs, which map the page
 * of one.
 *
 * All entry points run in the context of a process. The files hold the module.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "device.h"
#include "domain.h"

static int map_page(struct qcbus_domain *domain, struct vm_area_struct *vma)
{
	/* A private copy would be a clock that nobody stops. */
	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	return vm_insert_page(vma, vma->vm_start, domain->page);
}

static int program_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_mod(vma, 0, VM_MAYWRITE);
	return map_page(file->private_data, vma);
}

static int program_release(struct inode *inode, struct file *file)
{
	qcbus_domain_put(file->private_data);
	return 0;
}

static const struct file_operations program_fops = {
	.owner = THIS_MODULE,
	.mmap = program_mmap,
	.release = program_release,
	.llseek = noop_llseek,
};

static int agent_open(struct inode *inode, struct file *file)
{
	struct qcbus_domain *domain = qcbus_domain_new();

	if (IS_ERR(domain))
		return PTR_ERR(domain);
	file->private_data = domain;
	return stream_open(inode, file);
}

static int agent_release(struct inode *inode, struct file *file)
{
	qcbus_domain_end(file->private_data);
	return 0;
}

static int agent_mmap(struct file *file, struct vm_area_struct *vma)
{
	return map_page(file->private_data, vma);
}

static ssize_t agent_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct qcbus_domain *domain = file->private_data;
	struct qcbus_event event;
	size_t done = 0;
	int err;

	if (size < sizeof(event))
		return -EINVAL;
	while (size - done >= sizeof(event)) {
		if (!qcbus_domain_take_event(domain, &event)) {
			if (done)
				break;
			if (file->f_flags & O_NONBLOCK)
				return -EAGAIN;
			err = wait_event_interruptible(domain->readers,
						       qcbus_domain_has_event(domain));
			if (err)
				return err;
			continue;
		}
		if (copy_to_user(to + done, &event, sizeof(event)))
			return done ?: -EFAULT;
		done += sizeof(event);
	}
	return done;
}

static __poll_t agent_poll(struct file *file, poll_table *table)
{
	struct qcbus_domain *domain = file->private_data;

	poll_wait(file, &domain->readers, table);
	return qcbus_domain_has_event(domain) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long info(struct qcbus_domain *domain, void __user *argument)
{
	struct qcbus_info info = { .version = QCBUS_VERSION, .domain = domain->id };

	return copy_to_user(argument, &info, sizeof(info)) ? -EFAULT : 0;
}

static long program(struct qcbus_domain *domain)
{
	int fd;

	qcbus_domain_get(domain);
	fd = anon_inode_getfd("[qcbus]", &program_fops, domain, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		qcbus_domain_put(domain);
	return fd;
}

static long attach(struct qcbus_domain *domain, const void __user *argument)
{
	struct qcbus_attach attach;

	if (copy_from_user(&attach, argument, sizeof(attach)))
		return -EFAULT;
	return qcbus_domain_attach(domain, &attach);
}

static long agent_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct qcbus_domain *domain = file->private_data;

	switch (request) {
	case QCBUS_INFO:
		return info(domain, (void __user *)argument);
	case QCBUS_PROGRAM:
		return program(domain);
	case QCBUS_ATTACH:
		return attach(domain, (const void __user *)argument);
	case QCBUS_DETACH:
		return qcbus_domain_detach(domain);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations agent_fops = {
	.owner = THIS_MODULE,
	.open = agent_open,
	.release = agent_release,
	.read = agent_read,
	.poll = agent_poll,
	.mmap = agent_mmap,
	.unlocked_ioctl = agent_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "qcbus",
	.fops = &agent_fops,
	.mode = 0600,
};

int qcbus_device_init(void)
{
	return misc_register(&device);
}

void qcbus_device_exit(void)
{
	misc_deregister(&device);
}
