/* Flags of the kernel's page allocator in its own words: combinations that have a name first. */
#include "sink/script.h"

enum {
	DMA = 0x1,
	HIGHMEM = 0x2,
	DMA32 = 0x4,
	MOVABLE = 0x8,
	RECLAIMABLE = 0x10,
	HIGH = 0x20,
	IO = 0x40,
	FS = 0x80,
	ZERO = 0x100,
	DIRECT = 0x400,
	KSWAPD = 0x800,
	WRITE = 0x1000,
	NOWARN = 0x2000,
	RETRY = 0x4000,
	NOFAIL = 0x8000,
	NORETRY = 0x10000,
	MEMALLOC = 0x20000,
	COMP = 0x40000,
	NOMEMALLOC = 0x80000,
	HARDWALL = 0x100000,
	THISNODE = 0x200000,
	ACCOUNT = 0x400000,
	ZEROTAGS = 0x800000,
	RECLAIM = DIRECT | KSWAPD,
	KERNEL = RECLAIM | IO | FS,
	USER = KERNEL | HARDWALL,
	HUGE = (USER & ~RECLAIM) | HIGHMEM | MOVABLE | COMP | NOMEMALLOC | NOWARN,
};

static const struct {
	uint64_t flags;
	const char *name;
} names[] = {
    {HUGE | DIRECT, "GFP_TRANSHUGE"},
    {HUGE, "GFP_TRANSHUGE_LIGHT"},
    {USER | HIGHMEM | MOVABLE, "GFP_HIGHUSER_MOVABLE"},
    {USER | HIGHMEM, "GFP_HIGHUSER"},
    {USER, "GFP_USER"},
    {KERNEL | ACCOUNT, "GFP_KERNEL_ACCOUNT"},
    {KERNEL, "GFP_KERNEL"},
    {RECLAIM | IO, "GFP_NOFS"},
    {HIGH | KSWAPD, "GFP_ATOMIC"},
    {RECLAIM, "GFP_NOIO"},
    {KSWAPD, "GFP_NOWAIT"},
    {DMA, "GFP_DMA"},
    {HIGHMEM, "__GFP_HIGHMEM"},
    {DMA32, "GFP_DMA32"},
    {HIGH, "__GFP_HIGH"},
    {IO, "__GFP_IO"},
    {FS, "__GFP_FS"},
    {NOWARN, "__GFP_NOWARN"},
    {RETRY, "__GFP_RETRY_MAYFAIL"},
    {NOFAIL, "__GFP_NOFAIL"},
    {NORETRY, "__GFP_NORETRY"},
    {COMP, "__GFP_COMP"},
    {ZERO, "__GFP_ZERO"},
    {NOMEMALLOC, "__GFP_NOMEMALLOC"},
    {MEMALLOC, "__GFP_MEMALLOC"},
    {HARDWALL, "__GFP_HARDWALL"},
    {THISNODE, "__GFP_THISNODE"},
    {RECLAIMABLE, "__GFP_RECLAIMABLE"},
    {MOVABLE, "__GFP_MOVABLE"},
    {ACCOUNT, "__GFP_ACCOUNT"},
    {WRITE, "__GFP_WRITE"},
    {DIRECT, "__GFP_DIRECT_RECLAIM"},
    {ZEROTAGS, "__GFP_ZEROTAGS"},
};

void fsc_script_gfp(uint64_t flags, struct fsc_buf *b)
{
	const char *between = "";

	if (!flags)
		fsc_buf_puts(b, "0");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((flags & names[i].flags) != names[i].flags)
			continue;
		fsc_buf_printf(b, "%s%s", between, names[i].name);
		flags &= ~names[i].flags;
		between = "|";
	}
	if (flags)
		fsc_buf_printf(b, "%s0x%llx", between, (unsigned long long)flags);
}
