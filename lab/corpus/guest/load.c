/*
 * A load on two memory nodes that says, once a second, where its pages are and how many of its accesses were slow.
 *
 *   load MIB HUGE SLOW_NS FLOOD_MIB_PER_S ACT...
 *   ACT = HOT_MIB:MOVE_S:SECONDS[:flood|:fill]
 *
 * MIB of anonymous memory are touched once, then read and written for ever: 95 % of the accesses go to the hot pages of
 * the running act, the others to any page. Hot pages lie anywhere; every MOVE_S seconds others become hot (0: never).
 * An act with `flood` reads the disk from end to end beside, so that the page cache asks for memory. In one with `fill`
 * other memory, touched once, takes what node 1 has free, until nothing can be demoted to it.
 *
 * Both nodes are the same memory of the machine below, so an access to a page that was last seen on another node than 0
 * waits SLOW_NS. Where pages are is what move_pages(2) answers when it is asked to move nothing, every two seconds or
 * every LOOK_S of the environment.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)
#define PAGES_PER_MIB (MIB / PAGE)
#define PAGES_PER_HUGE 512ul
#define ASKED 2048ul
#define MAX_ACTS 8
#define HOT_PERCENT 95
#define WRITE_PERCENT 30
#define DISK "/dev/vda"
#define FEW_PAGES 32ul

enum place { FAST, SLOW, ABSENT, SWAPPED, PLACES };

struct act {
	size_t hot_pages;
	int move_s, seconds, flood, fill;
};

static struct act acts[MAX_ACTS];
static char *memory, *filler;
static size_t pages, filler_room;
static uint32_t *page_of_rank;
static uint8_t *place_of;
static long slow_ns;
static double flood_mib_per_s;
static double ticks_per_ns;

static _Atomic size_t hot_pages, hot_begin;
static _Atomic int flooding, filling, ended;
static _Atomic size_t filler_pages;
static _Atomic uint64_t accesses, slow, absent, flooded_bytes;
static _Atomic uint64_t all_at[PLACES], hot_at[PLACES], filler_slow, went_down, came_up, swapped_out, swapped_in;
static int page_map = -1;
static uint64_t look_ns = 2000000000ull;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static inline uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

static uint64_t state = 0x9E3779B97F4A7C15ull;

static inline uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline size_t page_at(size_t rank, size_t begin)
{
	rank += begin;
	return page_of_rank[rank < pages ? rank : rank - pages];
}

/* Ranks in the order of a random permutation of pages, or of huge pages where memory is in those. */
static void scatter(size_t unit)
{
	size_t units = pages / unit;
	uint32_t *order = malloc(units * sizeof *order);

	for (size_t i = 0; i < units; i++)
		order[i] = i;
	for (size_t i = units - 1; i > 0; i--) {
		size_t other = draw() % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (size_t rank = 0; rank < pages; rank++)
		page_of_rank[rank] = order[rank / unit] * unit + rank % unit;
	free(order);
}

static void *address[ASKED];
static int node[ASKED];

/* The nodes of pages from `first` on; how many were asked for, or 0. */
static size_t ask(char *from, size_t first, size_t end)
{
	size_t here = end - first < ASKED ? end - first : ASKED;

	for (size_t i = 0; i < here; i++)
		address[i] = from + (first + i) * PAGE;
	return syscall(SYS_move_pages, 0, here, address, NULL, node, 0) < 0 ? 0 : here;
}

/* Pages of the last question that are in swap, which move_pages calls absent as it does pages that it cannot follow. */
static void tell_swapped(char *from, size_t first, size_t asked, uint8_t *place)
{
	static uint64_t entry[ASKED];
	off_t at = ((uintptr_t)from / PAGE + first) * sizeof *entry;

	if (page_map < 0 || pread(page_map, entry, asked * sizeof *entry, at) != (ssize_t)(asked * sizeof *entry))
		return;
	for (size_t i = 0; i < asked; i++)
		if (place[i] == ABSENT && entry[i] >> 62 & 1)
			place[i] = SWAPPED;
}

static void *look(void *unused)
{
	uint8_t *hot = malloc(pages), place_now[ASKED];
	int looked = 0;

	(void)unused;
	while (!ended) {
		uint64_t begun = now_ns(CLOCK_MONOTONIC), all[PLACES] = {0}, of_hot[PLACES] = {0}, took;
		size_t begin = hot_begin, count = hot_pages, filled = filler_pages, filled_slow = 0;
		size_t down = 0, up = 0, out = 0, in = 0;

		memset(hot, 0, pages);
		for (size_t rank = 0; rank < count; rank++)
			hot[page_at(rank, begin)] = 1;
		for (size_t first = 0; first < pages; first += ASKED) {
			size_t here = ask(memory, first, pages);

			for (size_t i = 0; i < here; i++)
				place_now[i] = node[i] < 0 ? ABSENT : node[i] > 0 ? SLOW : FAST;
			tell_swapped(memory, first, here, place_now);
			for (size_t i = 0; i < here; i++) {
				enum place place = place_now[i], before = place_of[first + i];

				down += place == SLOW && before == FAST;
				/* A page that a kernel hides while it is armed is on the slow node. */
				up += place == FAST && (before == SLOW || (before == ABSENT && looked));
				out += place == SWAPPED && before != SWAPPED && looked;
				in += place != SWAPPED && before == SWAPPED;
				place_of[first + i] = place;
				all[place]++;
				of_hot[place] += hot[first + i];
			}
		}
		for (size_t first = 0; first < filled; first += ASKED)
			for (size_t i = 0, here = ask(filler, first, filled); i < here; i++)
				filled_slow += node[i] > 0;
		filler_slow = filled_slow;
		went_down += down;
		came_up += up;
		swapped_out += out;
		swapped_in += in;
		looked = 1;
		for (int place = 0; place < PLACES; place++) {
			all_at[place] = all[place];
			hot_at[place] = of_hot[place];
		}
		took = now_ns(CLOCK_MONOTONIC) - begun;
		if (took < look_ns)
			usleep((look_ns - took) / 1000);
	}
	return NULL;
}

static void *flood(void *unused)
{
	const size_t piece = 256 << 10;
	char *read_to = malloc(piece);
	int disk = open(DISK, O_RDONLY);

	(void)unused;
	while (!ended) {
		ssize_t got;

		if (!flooding || disk < 0) {
			usleep(100000);
			continue;
		}
		got = read(disk, read_to, piece);
		if (got <= 0)
			lseek(disk, 0, SEEK_SET);
		else
			flooded_bytes += got;
		usleep(piece * 1e6 / (flood_mib_per_s * MIB));
	}
	return NULL;
}

struct zone {
	size_t free, min, low, managed;
};

/* The largest zone of a node. */
static struct zone zone_of(int wanted)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	struct zone largest = {0}, zone = {0};
	char line[256];
	int at = -1;

	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Node %d, zone", &at) == 1)
			memset(&zone, 0, sizeof zone);
		sscanf(line, " pages free %zu", &zone.free);
		sscanf(line, " min %zu", &zone.min);
		sscanf(line, " low %zu", &zone.low);
		if (sscanf(line, " managed %zu", &zone.managed) == 1 && at == wanted && zone.managed > largest.managed)
			largest = zone;
	}
	if (file)
		fclose(file);
	return largest;
}

/*
 * Nothing can go up or down where node 1 is at its lowest watermark and node 0 is short. So much is left free in all: with
 * less the kernel itself runs out of memory.
 */
static void *fill(void *unused)
{
	(void)unused;
	while (!ended) {
		struct zone fast = zone_of(0), slow_node = zone_of(1);

		size_t free = fast.free + slow_node.free, kept = fast.low + slow_node.min;
		size_t more = free > kept ? (free - kept) / 2 : 0;

		if (!filling || more < FEW_PAGES || filler_pages + more > filler_room) {
			usleep(100000);
			continue;
		}
		for (size_t i = 0; i < more; i++)
			*(volatile uint64_t *)(filler + (filler_pages + i) * PAGE) = 1;
		filler_pages += more;
	}
	return NULL;
}

static void *touch(void *unused)
{
	uint64_t sum = 0, wait = slow_ns * ticks_per_ns;

	(void)unused;
	while (!ended) {
		size_t begin = hot_begin, hot = hot_pages;

		for (int i = 0; i < 256; i++) {
			size_t rank = draw() % ((int)(draw() % 100) < HOT_PERCENT ? hot : pages);
			size_t page = page_at(rank, begin);
			volatile uint64_t *line = (void *)(memory + page * PAGE + (draw() & 0xfc0));

			if ((int)(draw() % 100) < WRITE_PERCENT)
				*line = sum;
			else
				sum += *line;
			if (place_of[page] == ABSENT) {
				absent++;
			} else if (place_of[page] == SLOW) {
				uint64_t until = ticks() + wait;

				slow++;
				while (ticks() < until)
					;
			}
		}
		accesses += 256;
	}
	return (void *)sum;
}

static void say(int second, int act, int moves, uint64_t *before, double seconds)
{
	uint64_t now[4] = {accesses, slow, absent, flooded_bytes}, wall_ns = now_ns(CLOCK_REALTIME);
	double done = now[0] - before[0];

	printf("ts=%.3f t=%d act=%d phase=%d ops_s=%.0f ", wall_ns / 1e9, second, act, moves, done / seconds);
	if (done > 0)
		printf("slow_frac=%.4f absent_frac=%.4f ", (now[1] - before[1]) / done, (now[2] - before[2]) / done);
	printf("pages_n0=%lu pages_n1=%lu pages_absent=%lu hot_n0=%lu hot_n1=%lu hot_absent=%lu flood_mb_s=%.1f "
	       "filler_n1=%lu went_down=%lu came_up=%lu pages_swap=%lu hot_swap=%lu swapped_out=%lu swapped_in=%lu\n",
	       (unsigned long)all_at[FAST], (unsigned long)all_at[SLOW], (unsigned long)all_at[ABSENT],
	       (unsigned long)hot_at[FAST], (unsigned long)hot_at[SLOW], (unsigned long)hot_at[ABSENT],
	       (now[3] - before[3]) / seconds / MIB, (unsigned long)filler_slow, (unsigned long)went_down,
	       (unsigned long)came_up, (unsigned long)all_at[SWAPPED], (unsigned long)hot_at[SWAPPED],
	       (unsigned long)swapped_out, (unsigned long)swapped_in);
	memcpy(before, now, sizeof now);
}

/* Memory that stays where it is: what this program keeps for itself must not wander between nodes. */
static void *pinned(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	mlock(at, bytes);
	return at;
}

/* A setting of the kernel, -1 where it has none. */
static long setting(const char *path)
{
	FILE *file = fopen(path, "r");
	long value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];
	uint64_t before[4] = {0}, from_ns, last_ns, from_ticks;
	unsigned long slow_mask = 1ul << 1;
	int count = 0, second = 0, moves = 0, huge;
	size_t mib;

	if (argc < 6)
		return 2;
	mib = strtoul(argv[1], NULL, 10);
	huge = atoi(argv[2]);
	slow_ns = atol(argv[3]);
	flood_mib_per_s = atof(argv[4]);
	for (int i = 5; i < argc && count < MAX_ACTS; i++, count++) {
		char word[16] = "";
		size_t hot_mib;

		if (sscanf(argv[i], "%zu:%d:%d:%15s", &hot_mib, &acts[count].move_s, &acts[count].seconds, word) < 3)
			return 2;
		acts[count].hot_pages = hot_mib * PAGES_PER_MIB;
		acts[count].flood = !strcmp(word, "flood");
		acts[count].fill = !strcmp(word, "fill");
	}
	if (getenv("LOOK_S"))
		look_ns = strtoull(getenv("LOOK_S"), NULL, 10) * 1000000000ull;
	setvbuf(stdout, NULL, _IOLBF, 0);
	from_ns = now_ns(CLOCK_MONOTONIC);
	from_ticks = ticks();
	usleep(200000);
	ticks_per_ns = (double)(ticks() - from_ticks) / (now_ns(CLOCK_MONOTONIC) - from_ns);

	pages = mib * PAGES_PER_MIB;
	memory = mmap(NULL, mib * MIB + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memory = (char *)(((uintptr_t)memory + 2 * MIB - 1) & ~(2 * MIB - 1));
	if (huge)
		madvise(memory, mib * MIB, MADV_HUGEPAGE);
	filler_room = zone_of(1).managed;
	filler = mmap(NULL, filler_room * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (filler == MAP_FAILED ||
	    syscall(SYS_mbind, filler, filler_room * PAGE, MPOL_PREFERRED, &slow_mask, 8 * sizeof slow_mask, 0) < 0)
		return 1;
	page_of_rank = pinned(pages * sizeof *page_of_rank);
	place_of = pinned(pages);
	memset(place_of, ABSENT, pages);
	scatter(huge ? PAGES_PER_HUGE : 1);
	page_map = open("/proc/self/pagemap", O_RDONLY);
	printf("# pages=%zu huge=%d slow_ns=%ld hot_percent=%d acts=%d slow_node_pages=%zu balancing=%ld "
	       "promote_limit_mib_per_s=%ld\n",
	       pages, huge, slow_ns, HOT_PERCENT, count, filler_room, setting("/proc/sys/kernel/numa_balancing"),
	       setting("/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"));
	for (size_t page = 0; page < pages; page++)
		for (int word = 0; word < 32; word++)
			((uint64_t *)(memory + page * PAGE))[word * 16] = draw();
	printf("# filled\n");

	hot_pages = acts[0].hot_pages;
	pthread_create(&thread[0], NULL, look, NULL);
	pthread_create(&thread[1], NULL, touch, NULL);
	pthread_create(&thread[2], NULL, flood, NULL);
	pthread_create(&thread[3], NULL, fill, NULL);
	from_ns = last_ns = now_ns(CLOCK_MONOTONIC);
	for (int act = 0; act < count; act++) {
		hot_pages = acts[act].hot_pages;
		flooding = acts[act].flood;
		filling = acts[act].fill;
		for (int left = acts[act].seconds; left > 0; left--) {
			uint64_t due = from_ns + ++second * 1000000000ull, now;
			struct timespec until = {due / 1000000000, due % 1000000000};

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			now = now_ns(CLOCK_MONOTONIC);
			say(second, act, moves, before, (now - last_ns) / 1e9);
			last_ns = now;
			if (acts[act].move_s && second % acts[act].move_s == 0) {
				hot_begin = (hot_begin + acts[act].hot_pages) % pages;
				moves++;
			}
		}
	}
	ended = 1;
	pthread_join(thread[1], NULL);
	return 0;
}
