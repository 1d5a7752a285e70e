/* Memory whose end is a wall: blocks of some size end where a page does that nobody may touch, and their addresses are
 * never given again. Who reads or writes past an array, or after it is gone, dies there and then. Loaded by LD_PRELOAD
 * in front of glibc's allocator; guarded_memory.py says what for. Behind the last byte of a block there may be up to
 * alignment - 1 bytes before the wall: they hold a mark, which is looked at when the block is freed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN (1ULL << 45) /* of addresses, not of memory */
#define PAGE 4096ULL
#define ALIGNMENT 16ULL
#define LEAST 600 /* smaller blocks are Python's objects, and too many */
#define MARK 0xAB

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

typedef struct {
    uint64_t size, start; /* of the block, and the first byte of its pages */
} Header;                 /* stands before the block */

static uintptr_t base;
static _Atomic uintptr_t next;
static _Atomic long guarded, refused;
static char report[4096];

__attribute__((constructor(101))) static void begin(void) {
    void *span = mmap(0, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const char *file = getenv("GUARDED_REPORT");
    if (span == MAP_FAILED || !file) return;
    snprintf(report, sizeof report, "%s", file);
    unsetenv("LD_PRELOAD"); /* children are not ours */
    next = (uintptr_t)span + PAGE;
    base = (uintptr_t)span;
}

__attribute__((destructor)) static void end(void) {
    FILE *file = base ? fopen(report, "w") : 0;
    if (!file) return;
    fprintf(file, "%ld %ld\n", (long)guarded, (long)refused);
    fclose(file);
}

static void die(const char *words) {
    (void)!write(2, words, strlen(words));
    abort();
}

static int ours(void *block) { return base && (uintptr_t)block >= base && (uintptr_t)block < base + SPAN; }

static Header *header(void *block) { return (Header *)block - 1; }

static void *walled(size_t size, size_t alignment) {
    if (!base || size < LEAST || size > SPAN / 1024 || alignment > PAGE) return 0;
    if (alignment < ALIGNMENT) alignment = ALIGNMENT;
    size_t pages = (size + sizeof(Header) + alignment + PAGE - 1) & ~(PAGE - 1);
    uintptr_t start = atomic_fetch_add(&next, pages + PAGE);
    if (start + pages + PAGE > base + SPAN || mprotect((void *)start, pages, PROT_READ | PROT_WRITE)) {
        refused++; /* the kernel has a greatest number of mappings */
        return 0;
    }
    void *block = (void *)((start + pages - size) & ~(uintptr_t)(alignment - 1));
    header(block)->size = size;
    header(block)->start = start;
    memset((char *)block + size, MARK, start + pages - (uintptr_t)block - size);
    guarded++;
    return block;
}

static void wall_up(void *block) {
    uintptr_t start = header(block)->start, after = (uintptr_t)block + header(block)->size;
    uintptr_t wall = (after + PAGE - 1) & ~(PAGE - 1);
    if (start < base || start > (uintptr_t)block) die("guarded memory: written before a block\n");
    for (unsigned char *at = (unsigned char *)after; at < (unsigned char *)wall; at++)
        if (*at != MARK) die("guarded memory: written behind a block\n");
    int kept = errno;
    mmap((void *)start, wall - start, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    errno = kept;
}

void *malloc(size_t size) {
    void *block = walled(size, ALIGNMENT);
    return block ? block : __libc_malloc(size);
}

void *calloc(size_t count, size_t each) {
    size_t size;
    if (__builtin_mul_overflow(count, each, &size)) return errno = ENOMEM, (void *)0;
    void *block = walled(size, ALIGNMENT); /* new pages are zero */
    return block ? block : __libc_calloc(count, each);
}

void free(void *block) {
    if (ours(block)) wall_up(block);
    else __libc_free(block);
}

size_t malloc_usable_size(void *block) {
    if (ours(block)) return header(block)->size;
    return block ? (((size_t *)block)[-1] & ~(size_t)7) - sizeof(size_t) : 0; /* as glibc keeps it */
}

void *realloc(void *block, size_t size) {
    if (!ours(block) && (size < LEAST || !base)) return __libc_realloc(block, size);
    if (!size) return free(block), (void *)0;
    size_t before = malloc_usable_size(block);
    void *other = malloc(size);
    if (!other) return 0;
    if (block) memcpy(other, block, before < size ? before : size);
    free(block);
    return other;
}

void *memalign(size_t alignment, size_t size) {
    void *block = walled(size, alignment);
    return block ? block : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
    *place = memalign(alignment, size);
    return *place ? 0 : ENOMEM;
}
