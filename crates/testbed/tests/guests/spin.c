/* Reads the clock all the time and publishes what it reads in a shared file: how many readings
 * there were, and the last of them in nanoseconds. Ends with 1 if time went back, and when its
 * input ends with 0.
 *
 *   spin FILE */
#include "guest.h"

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	volatile int64_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct pollfd input = { 0, POLLIN, 0 };
	int64_t last = 0;
	print_line("ready");
	for (int64_t count = 1;; count++) {
		int64_t now = now_ns(CLOCK_MONOTONIC);
		if (now < last)
			return 1;
		last = now;
		__atomic_store_n(&page[1], now, __ATOMIC_RELEASE);
		__atomic_store_n(&page[0], count, __ATOMIC_RELEASE);
		if (count % 4096 == 0 && poll(&input, 1, 0))
			return 0;
	}
}
