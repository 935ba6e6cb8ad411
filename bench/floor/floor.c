/*
 * The floor of a request/response measurement: the shortest loop of blocking read and write over one TCP connection, with
 * one reading of the clock for each transaction.
 *
 *   floor serve ADDRESS PORT BYTES                    answers one connection, and ends with it
 *   floor run   ADDRESS PORT BYTES WARMUP_MS WINDOW_MS
 *   floor version
 *
 * Messages are so short that a read never returns part of one; should it happen, the program fails and says so.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES 1024
#define MOST_PER_SECOND 1000000 /* transactions that are kept */

static char buffer[MOST_BYTES];

static void fail(const char *doing)
{
	fprintf(stderr, "floor: %s: %s\n", doing, strerror(errno));
	exit(1);
}

static long number(const char *text, long most)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (*end != 0 || n < 0 || n > most) {
		fprintf(stderr, "floor: %s: want a number from 0 to %ld\n", text, most);
		exit(2);
	}
	return n;
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_socket(const char *address, const char *port, struct sockaddr_in *to)
{
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	if (s < 0)
		fail("socket");
	memset(to, 0, sizeof *to);
	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)number(port, 65535));
	if (inet_pton(AF_INET, address, &to->sin_addr) != 1) {
		fprintf(stderr, "floor: %s: want an IPv4 address\n", address);
		exit(2);
	}
	if (setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0)
		fail("TCP_NODELAY");
	if (setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0)
		fail("SO_REUSEADDR");
	return s;
}

static int serve(const char *address, const char *port, long bytes)
{
	struct sockaddr_in here;
	int c, one = 1, s = open_socket(address, port, &here);
	ssize_t n;
	if (bind(s, (struct sockaddr *)&here, sizeof here) < 0)
		fail("bind");
	if (listen(s, 1) < 0)
		fail("listen");
	if ((c = accept(s, NULL, NULL)) < 0)
		fail("accept");
	if (setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0)
		fail("TCP_NODELAY");
	while ((n = read(c, buffer, bytes)) == bytes)
		if (write(c, buffer, bytes) != bytes)
			fail("write");
	if (n != 0)
		fail("read");
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* The smallest time that the given part of all, in thousandths, does not exceed. */
static uint32_t quantile(const uint32_t *sorted, size_t count, size_t thousandths)
{
	return sorted[(count * thousandths + 999) / 1000 - 1];
}

/* Carries out transactions until the given time and keeps what each took, unless kept is NULL. */
static size_t transact(int s, long bytes, int64_t until, uint32_t *kept, size_t most)
{
	size_t count = 0;
	int64_t start = now();
	while (start < until && count < most) {
		if (write(s, buffer, bytes) != bytes)
			fail("write");
		if (read(s, buffer, bytes) != bytes)
			fail("read");
		int64_t end = now();
		if (kept)
			kept[count++] = (uint32_t)(end - start);
		start = end;
	}
	return count;
}

static int run(const char *address, const char *port, long bytes, long warmup_ms, long window_ms)
{
	struct sockaddr_in there;
	int s = open_socket(address, port, &there);
	size_t most = (size_t)(window_ms + 1) * (MOST_PER_SECOND / 1000), count;
	uint32_t *kept = malloc(most * sizeof *kept);
	int64_t begin;
	if (!kept)
		fail("memory");
	memset(kept, 1, most * sizeof *kept); /* no page fault in the loop */
	if (connect(s, (struct sockaddr *)&there, sizeof there) < 0)
		fail("connect");
	transact(s, bytes, now() + warmup_ms * 1000000, NULL, 1);
	begin = now();
	count = transact(s, bytes, begin + window_ms * 1000000, kept, most);
	begin = now() - begin;
	if (count == 0) {
		fprintf(stderr, "floor: no transaction within the window\n");
		return 1;
	}
	qsort(kept, count, sizeof *kept, ascending);
	printf("floor: transactions=%zu window_ns=%lld p50_ns=%u p99_ns=%u\n", count, (long long)begin,
	       quantile(kept, count, 500), quantile(kept, count, 990));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "version"))
		return printf("floor, built with %s\n", __VERSION__) < 0;
	if (argc == 5 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argv[3], number(argv[4], MOST_BYTES));
	if (argc == 7 && !strcmp(argv[1], "run"))
		return run(argv[2], argv[3], number(argv[4], MOST_BYTES), number(argv[5], 3600000), number(argv[6], 3600000));
	fprintf(stderr, "floor: serve ADDRESS PORT BYTES | run ADDRESS PORT BYTES WARMUP_MS WINDOW_MS | version\n");
	return 2;
}
