/* Unit tests of src/base: arena, errors, processor levels, checked sizes, tensor views, thread pool. */
/* labels: threads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "base/tensor.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------ an allocator that counts, and fails when told */

typedef struct counter {
    size_t calls, live, bytes, fail_at; /* fail_at: number of the call that fails, 0 = none */
} counter;

static void *counting_alloc(void *context, size_t size, size_t alignment)
{
    counter *c = context;
    if (++c->calls == c->fail_at)
        return NULL;
    parley_allocator system = pl_default_allocator();
    void *memory = system.alloc(system.context, size, alignment);
    if (memory) {
        memset(memory, 0xA5, size);
        c->live++;
        c->bytes += size;
    }
    return memory;
}

static void counting_release(void *context, void *memory, size_t size)
{
    counter *c = context;
    c->live--;
    c->bytes -= size;
    free(memory);
}

static parley_allocator counting(counter *c)
{
    return (parley_allocator){counting_alloc, counting_release, c};
}

/* ------------------------------------------------------------------ arena */

static bool all_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void blocks_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 200, 4096, 5000, 7, 100000, 3};
    counter c = {0};
    parley_allocator allocator = counting(&c);
    pl_arena arena;
    pl_arena_init(&arena, &allocator, 4096);
    unsigned char *blocks[COUNT(sizes)];
    for (size_t i = 0; i < COUNT(sizes); i++) {
        blocks[i] = pl_arena_alloc(&arena, sizes[i], 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        assert_true(all_zero(blocks[i], sizes[i]));
        memset(blocks[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], i + 1);
    pl_arena_free(&arena);
    assert_int_equal(c.live, 0);
    assert_int_equal(c.bytes, 0);
}

static void sizes_that_overflow_give_null(void **state)
{
    (void)state;
    counter c = {0};
    parley_allocator allocator = counting(&c);
    pl_arena arena;
    pl_arena_init(&arena, &allocator, 4096);
    assert_null(pl_arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_null(pl_arena_alloc(&arena, SIZE_MAX, 1));
    assert_null(pl_arena_alloc_raw(&arena, SIZE_MAX - 64, 1));
    assert_null(pl_arena_alloc_raw(&arena, SIZE_MAX / 8 + 1, 8));
    assert_null(pl_arena_text(&arena, "a", SIZE_MAX));
    assert_null(pl_alloc(&allocator, SIZE_MAX / 4, 8));
    assert_int_equal(c.live, 0);
    assert_int_equal(arena.used, 0);
    pl_arena_free(&arena);
}

/* The blocks of one step; false when memory ran out. */
static bool step(pl_arena *arena)
{
    static const size_t sizes[] = {100, 3000, 2000, 9000, 64, 64, 4000};
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (!pl_arena_alloc(arena, sizes[i], 1))
            return false;
    return true;
}

static void equal_steps_allocate_once(void **state)
{
    (void)state;
    counter c = {0};
    parley_allocator allocator = counting(&c);
    pl_arena arena;
    pl_arena_init(&arena, &allocator, 4096);
    assert_true(step(&arena));
    size_t calls = c.calls, used = arena.used;
    for (int i = 0; i < 5; i++) {
        pl_arena_reset(&arena);
        assert_int_equal(arena.used, 0);
        assert_true(step(&arena));
        assert_int_equal(arena.used, used);
    }
    assert_int_equal(c.calls, calls);
    assert_int_equal(arena.high_water, used);
    assert_true(arena.held >= used);
    assert_int_equal(arena.held, c.bytes);
    pl_arena_free(&arena);
    assert_int_equal(c.live, 0);
}

static void blocks_are_zeroed_again_after_a_reset(void **state)
{
    (void)state;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 4096);
    memset(pl_arena_alloc(&arena, 1000, 1), 0xFF, 1000);
    pl_arena_reset(&arena);
    assert_true(all_zero(pl_arena_alloc(&arena, 1000, 1), 1000));
    pl_arena_free(&arena);
}

/* What was there before the mark stays, what came after gives way, at the start, within a chunk and over several. */
static void a_mark_is_returned_to(void **state)
{
    (void)state;
    counter c = {0};
    parley_allocator allocator = counting(&c);
    pl_arena arena;
    pl_arena_init(&arena, &allocator, 4096);
    pl_arena_mark start = pl_arena_save(&arena);
    for (int round = 0; round < 3; round++) {
        unsigned char *kept = pl_arena_alloc(&arena, 1000, 1);
        memset(kept, 0x5A, 1000);
        pl_arena_mark mark = pl_arena_save(&arena);
        size_t used = arena.used;
        void *first = pl_arena_alloc(&arena, 100, 1);
        for (int i = 0; i < 4; i++) {
            pl_arena_restore(&arena, mark);
            assert_int_equal(arena.used, used);
            assert_ptr_equal(pl_arena_alloc(&arena, 100, 1), first);
            assert_true(step(&arena));
        }
        for (int i = 0; i < 1000; i++)
            assert_int_equal(kept[i], 0x5A);
        pl_arena_restore(&arena, start);
        assert_int_equal(arena.used, 0);
    }
    size_t calls = c.calls;
    assert_non_null(pl_arena_alloc(&arena, 1000, 1));
    assert_true(step(&arena));
    assert_int_equal(c.calls, calls);
    pl_arena_free(&arena);
    assert_int_equal(c.live, 0);
}

static void high_water_counts_the_largest_step(void **state)
{
    (void)state;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 64);
    assert_non_null(pl_arena_alloc(&arena, 10, 100));
    pl_arena_reset(&arena);
    assert_non_null(pl_arena_alloc(&arena, 1, 1));
    assert_int_equal(arena.used, 64);
    assert_int_equal(arena.high_water, 1024);
    pl_arena_free(&arena);
}

static void a_failing_allocator_leaves_the_arena_usable(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at <= 4; fail_at++) {
        counter c = {.fail_at = fail_at};
        parley_allocator allocator = counting(&c);
        pl_arena arena;
        pl_arena_init(&arena, &allocator, 4096);
        bool first = step(&arena);
        assert_int_equal(first, c.calls < fail_at);
        size_t used = arena.used;
        assert_true(first || pl_arena_alloc(&arena, 1, 1) != NULL);
        assert_true(arena.used >= used);
        pl_arena_reset(&arena);
        assert_true(step(&arena));
        pl_arena_free(&arena);
        assert_int_equal(c.live, 0);
    }
}

static void texts_get_a_nul(void **state)
{
    (void)state;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 64);
    assert_string_equal(pl_arena_text(&arena, "harbour", 4), "harb");
    assert_string_equal(pl_arena_text(&arena, NULL, 0), "");
    int *number = PL_NEW(&arena, int);
    int64_t *numbers = PL_NEW_ARRAY(&arena, int64_t, 9);
    assert_int_equal(*number, 0);
    assert_int_equal(numbers[8], 0);
    pl_arena_free(&arena);
}

static void released_sizes_are_the_allocated_ones(void **state)
{
    (void)state;
    counter c = {0};
    parley_allocator allocator = counting(&c);
    void *a = pl_alloc(&allocator, 3, 7), *b = pl_alloc(&allocator, 0, 8);
    assert_true(a && b && c.bytes == 22);
    pl_release(&allocator, a, 3, 7);
    pl_release(&allocator, b, 0, 8);
    pl_release(&allocator, NULL, 5, 5);
    assert_int_equal(c.bytes, 0);
    assert_int_equal(c.live, 0);
}

/* ------------------------------------------------------------------ errors */

static void statuses_have_names_and_codes(void **state)
{
    (void)state;
#define CHECK_ROW(constant, name, http, exit_code, meaning)           \
    assert_string_equal(parley_status_name(PARLEY_##constant), name); \
    assert_int_equal(parley_status_http(PARLEY_##constant), http);    \
    assert_int_equal(parley_status_exit_code(PARLEY_##constant), exit_code);
    PARLEY_STATUS_LIST(CHECK_ROW)
#undef CHECK_ROW
    assert_string_equal(parley_status_name((parley_status)999), "internal");
    assert_int_equal(parley_status_exit_code((parley_status)-1), 14);
}

static void errors_carry_status_position_and_text(void **state)
{
    (void)state;
    parley_error error = {0};
    assert_int_equal(pl_fail_at(&error, PARLEY_FORMAT, 77, "%s: expected %d", "a.gguf", 3), PARLEY_FORMAT);
    assert_int_equal(error.status, PARLEY_FORMAT);
    assert_int_equal(error.position, 77);
    assert_string_equal(error.text, "a.gguf: expected 3");
    assert_int_equal(pl_fail(&error, PARLEY_IO, "b"), PARLEY_IO);
    assert_int_equal(error.position, 0);
    assert_int_equal(pl_fail_memory(&error, "the cache"), PARLEY_MEMORY);
    assert_non_null(strstr(error.text, "the cache"));
    assert_int_equal(pl_fail(NULL, PARLEY_SHAPE, "no one asks"), PARLEY_SHAPE);
}

static void a_text_may_be_added_to(void **state)
{
    (void)state;
    parley_error error = {0};
    (void)pl_fail(&error, PARLEY_IO, "no such file");
    (void)pl_fail(&error, PARLEY_IO, "codec: %s (%s)", error.text, "again");
    assert_string_equal(error.text, "codec: no such file (again)");
}

static void texts_are_one_line_of_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"a\nb\tc\x7F", "a b c "},
        {"stra\xC3\x9F"
         "e \xE6\x97\xA5 \xF0\x9F\x98\x80",
         "stra\xC3\x9F"
         "e \xE6\x97\xA5 \xF0\x9F\x98\x80"},
        {"\xFF\xC3|\x80", "??|?"},
        {"\xC0\xAF\xE0\x80\x80", "?????"},
        {"\xED\xA0\x80\xF4\x90\x80\x80", "???????"},
        {"\xE6\x97", "??"},
        {"a\xC2\x9B"
         "31m",
         "a  31m"},
        {"\xC2\xA0", "\xC2\xA0"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        parley_error error;
        (void)pl_fail(&error, PARLEY_IO, "%s", rows[i].in);
        assert_string_equal(error.text, rows[i].out);
    }
}

/* Characters of 1 to 4 bytes, moved so that the end of the buffer cuts them at every place. */
static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\xC3\xBC", "\xE6\x97\xA5", "\xF0\x9F\x98\x80"};
    enum { CHARACTERS = 600 };
    char text[4 * CHARACTERS + 8];
    for (size_t n = 1; n <= COUNT(characters); n++)
        for (size_t shift = 0; shift < 5; shift++) {
            memset(text, 'a', shift);
            for (size_t i = 0; i < CHARACTERS; i++)
                memcpy(text + shift + i * n, characters[n - 1], n);
            text[shift + CHARACTERS * n] = '\0';
            parley_error error;
            (void)pl_fail(&error, PARLEY_IO, "%s", text);
            size_t length = sizeof error.text - 1;
            while (((unsigned char)text[length] & 0xC0) == 0x80)
                length--;
            text[length] = '\0';
            assert_string_equal(error.text, text);
        }
}

/* ------------------------------------------------------------------ processor levels, sizes, tensors, clock */

static void level_names_go_round(void **state)
{
    (void)state;
    for (parley_cpu level = PARLEY_CPU_BEST; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        parley_cpu back = (parley_cpu)99;
        assert_true(parley_cpu_from_name(parley_cpu_name(level), &back));
        assert_int_equal(back, level);
    }
    parley_cpu untouched = PARLEY_CPU_NEON;
    assert_false(parley_cpu_from_name("sse9", &untouched));
    assert_false(parley_cpu_from_name("", &untouched));
    assert_false(parley_cpu_from_name("AVX2", &untouched));
    assert_int_equal(untouched, PARLEY_CPU_NEON);
}

static void levels_are_chosen_or_refused(void **state)
{
    (void)state;
    parley_error error;
    parley_cpu best;
    assert_int_equal(pl_cpu_choose(PARLEY_CPU_BEST, &best, &error), PARLEY_OK);
    assert_true(best >= PARLEY_CPU_SCALAR && pl_cpu_has(best));
    for (parley_cpu level = PARLEY_CPU_SCALAR; level <= PARLEY_CPU_I8MM; level = (parley_cpu)(level + 1)) {
        parley_cpu chosen = PARLEY_CPU_BEST;
        parley_status status = pl_cpu_choose(level, &chosen, &error);
        assert_int_equal(status, pl_cpu_has(level) ? PARLEY_OK : PARLEY_DEVICE);
        if (status == PARLEY_OK)
            assert_int_equal(chosen, level);
        else
            assert_non_null(strstr(error.text, parley_cpu_name(level)));
        assert_true(level <= best || !pl_cpu_has(level));
    }
    assert_true(pl_cpu_has(PARLEY_CPU_SCALAR));
    assert_false(pl_cpu_has(PARLEY_CPU_AVX2) && pl_cpu_has(PARLEY_CPU_NEON));
    assert_true(pl_cpu_cores() >= 1);
}

static void sizes_do_not_wrap(void **state)
{
    (void)state;
    size_t size = 0;
    uint64_t wide = 0;
    assert_true(pl_mul_size(SIZE_MAX / 2, 2, &size) && size == SIZE_MAX - 1);
    assert_false(pl_mul_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_true(pl_add_size(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
    assert_false(pl_add_size(SIZE_MAX, 1, &size));
    assert_true(pl_mul_u64(UINT64_MAX, 1, &wide) && wide == UINT64_MAX);
    assert_false(pl_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &wide));
    assert_true(pl_add_u64(UINT64_MAX - 5, 5, &wide) && wide == UINT64_MAX);
    assert_false(pl_add_u64(UINT64_MAX, UINT64_MAX, &wide));
    assert_true(pl_mul_size(0, SIZE_MAX, &size) && size == 0);
}

static void tensor_views_know_their_sizes(void **state)
{
    (void)state;
    assert_int_equal(pl_row_bytes(PL_F32, 7), 28);
    assert_int_equal(pl_row_bytes(PL_Q8_0, 64), 68);
    assert_int_equal(pl_row_bytes(PL_Q4_K, 512), 288);
    assert_string_equal(pl_type_info(PL_Q6_K)->name, "q6_k");
    pl_tensor t = {.rank = 3, .shape = {2, 3, 5}};
    assert_int_equal(pl_tensor_values(&t), 30);
    char text[32];
    pl_shape_text(t.shape, 3, text, sizeof text);
    assert_string_equal(text, "[2, 3, 5]");
    pl_shape_text(t.shape, 0, text, sizeof text);
    assert_string_equal(text, "[]");
    for (size_t size = 1; size <= sizeof "[2, 3, 5]"; size++) {
        memset(text, '#', sizeof text);
        pl_shape_text(t.shape, 3, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_int_equal(text[size], '#');
        assert_memory_equal(text, "[2, 3, 5]", size - 1);
    }
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    double last = pl_seconds();
    for (int i = 0; i < 1000; i++) {
        double now = pl_seconds();
        assert_true(now >= last);
        last = now;
    }
}

/* ------------------------------------------------------------------ thread pool */

enum { TASKS = 97, WIDTH = 61 };

/* Rows of a made-up matrix, one sum each: floating point, so that another order of additions would show. */
typedef struct sums {
    float rows[TASKS];
    int seen[TASKS];
    int in_use[8]; /* by worker number: plain, so that ThreadSanitizer sees two tasks of one worker at once */
    int threads, seed;
    atomic_int faults;
} sums;

static void sum_row(void *context, int task, int worker)
{
    sums *s = context;
    if (worker < 0 || worker >= s->threads || s->in_use[worker]++ != 0)
        atomic_fetch_add(&s->faults, 1);
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += 1.0f / (float)(1 + (task * 31 + i * 17 + s->seed) % 1009);
    s->rows[task] = sum;
    s->seen[task]++;
    s->in_use[worker]--;
}

static pl_pool *pool_of(int threads)
{
    parley_allocator allocator = pl_default_allocator();
    parley_error error;
    pl_pool *pool = NULL;
    assert_int_equal(pl_pool_open(&allocator, threads, &pool, &error), PARLEY_OK);
    assert_int_equal(pl_pool_threads(pool), threads);
    return pool;
}

static void sums_are_the_same_with_any_number_of_threads(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 4, 7};
    sums want = {.threads = 1};
    pl_pool_run(NULL, sum_row, &want, TASKS);
    for (size_t i = 0; i < COUNT(threads); i++) {
        pl_pool *pool = pool_of(threads[i]);
        sums got = {.threads = threads[i]};
        pl_pool_run(pool, sum_row, &got, TASKS);
        assert_memory_equal(got.rows, want.rows, sizeof want.rows);
        assert_memory_equal(got.seen, want.seen, sizeof want.seen);
        assert_int_equal(got.faults, 0);
        pl_pool_close(pool);
    }
    assert_int_equal(pl_pool_threads(NULL), 1);
    pl_pool_close(NULL);
}

/* Thousands of regions of changing size, back to back and with pauses in which the workers fall asleep. */
static void many_regions_lose_no_task(void **state)
{
    (void)state;
    enum { REGIONS = 4000 };
    pl_pool *pool = pool_of(4);
    for (int r = 0; r < REGIONS; r++) {
        sums s = {.threads = 4, .seed = r};
        int tasks = r % (TASKS + 1);
        pl_pool_run(pool, sum_row, &s, tasks);
        for (int i = 0; i < TASKS; i++)
            if (s.seen[i] != (i < tasks))
                fail_msg("region %d: task %d of %d ran %d times", r, i, tasks, s.seen[i]);
        assert_int_equal(s.faults, 0);
        if (r % 500 == 0)
            for (double until = pl_seconds() + 0.005; pl_seconds() < until;)
                ;
    }
    pl_pool_close(pool);
}

typedef struct session {
    pl_pool *pool;
    int seed, wrong;
} session;

static void *run_session(void *argument)
{
    session *own = argument;
    for (int r = 0; r < 500; r++) {
        sums want = {.threads = 1, .seed = own->seed + r}, got = {.threads = 3, .seed = own->seed + r};
        pl_pool_run(NULL, sum_row, &want, TASKS);
        pl_pool_run(own->pool, sum_row, &got, TASKS);
        own->wrong += memcmp(want.rows, got.rows, sizeof want.rows) != 0 || got.faults != 0;
    }
    return NULL;
}

static void sessions_share_a_pool(void **state)
{
    (void)state;
    pl_pool *pool = pool_of(3);
    session sessions[4];
    pthread_t threads[COUNT(sessions)];
    for (size_t i = 0; i < COUNT(sessions); i++) {
        sessions[i] = (session){.pool = pool, .seed = (int)i * 1000};
        assert_int_equal(pthread_create(&threads[i], NULL, run_session, &sessions[i]), 0);
    }
    for (size_t i = 0; i < COUNT(sessions); i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(sessions[i].wrong, 0);
    }
    pl_pool_close(pool);
}

/* A second thread that comes while a region is open runs its tasks itself, as worker 0; so does a task that starts a region. */
typedef struct inner {
    pl_pool *pool;
    pthread_t caller;
    atomic_int ran, strangers;
} inner;

static void note_caller(void *context, int task, int worker)
{
    inner *in = context;
    (void)task;
    atomic_fetch_add(&in->ran, 1);
    if (worker != 0 || !pthread_equal(pthread_self(), in->caller))
        atomic_fetch_add(&in->strangers, 1);
}

static void *run_inner(void *argument)
{
    inner *in = argument;
    in->caller = pthread_self();
    pl_pool_run(in->pool, note_caller, in, 10);
    return NULL;
}

static void start_inner(void *context, int task, int worker)
{
    inner *own = (inner *)context + task;
    (void)worker;
    if (task % 2 == 0) {
        run_inner(own);
        return;
    }
    pthread_t other;
    if (pthread_create(&other, NULL, run_inner, own) == 0)
        pthread_join(other, NULL);
}

static void a_pool_in_use_falls_back_to_the_caller(void **state)
{
    (void)state;
    pl_pool *pool = pool_of(3);
    inner in[6];
    memset(in, 0, sizeof in);
    for (size_t i = 0; i < COUNT(in); i++)
        in[i].pool = pool;
    pl_pool_run(pool, start_inner, in, (int)COUNT(in));
    for (size_t i = 0; i < COUNT(in); i++) {
        assert_int_equal(in[i].ran, 10);
        assert_int_equal(in[i].strangers, 0);
    }
    pl_pool_close(pool);
}

typedef struct waiting_region {
    pl_pool *pool;
    atomic_int started, done, nested;
} waiting_region;

static void count_task(void *context, int task, int worker)
{
    waiting_region *w = context;
    (void)task;
    (void)worker;
    atomic_fetch_add(&w->nested, 1);
}

static void nest_task(void *context, int task, int worker)
{
    waiting_region *w = context;
    (void)task;
    (void)worker;
    pl_pool_run(w->pool, count_task, w, 3);
}

static void *run_region(void *argument)
{
    waiting_region *w = argument;
    atomic_store(&w->started, 1);
    pl_pool_run(w->pool, nest_task, w, 4);
    atomic_store(&w->done, 1);
    return NULL;
}

/* Another thread's region waits while the pool is held; the holder's own run, nested ones too. */
static void a_held_pool_lets_others_wait(void **state)
{
    (void)state;
    static const int threads[] = {1, 3};
    for (size_t i = 0; i < COUNT(threads); i++)
        for (int round = 0; round < 50; round++) {
            waiting_region own = {.pool = pool_of(threads[i])}, other = {.pool = own.pool};
            pthread_t thread;
            pl_pool_hold(own.pool);
            assert_int_equal(pthread_create(&thread, NULL, run_region, &other), 0);
            while (!atomic_load(&other.started))
                sched_yield();
            pl_pool_run(own.pool, nest_task, &own, 4);
            assert_int_equal(own.nested, 12);
            assert_int_equal(atomic_load(&other.nested), 0);
            pl_pool_let_go(own.pool);
            pthread_join(thread, NULL);
            assert_int_equal(other.done, 1);
            assert_int_equal(other.nested, 12);
            pl_pool_hold(own.pool);
            pl_pool_let_go(own.pool);
            pl_pool_close(own.pool);
        }
    pl_pool_hold(NULL);
    pl_pool_let_go(NULL);
}

static void *run_sums(void *argument)
{
    session *own = argument;
    sums *got = calloc(1, sizeof *got);
    for (int r = 0; r < 300; r++) {
        sums want = {.threads = 1, .seed = own->seed + r};
        *got = (sums){.threads = 3, .seed = own->seed + r};
        pl_pool_run(NULL, sum_row, &want, TASKS);
        pl_pool_run(own->pool, sum_row, got, TASKS);
        own->wrong += memcmp(want.rows, got->rows, sizeof want.rows) != 0 || memcmp(want.seen, got->seen, sizeof want.seen) != 0 || got->faults != 0;
    }
    free(got);
    return NULL;
}

/* Regions that are stopped midway, again and again, do each task once. */
static void regions_make_way_and_go_on(void **state)
{
    (void)state;
    static const int threads[] = {1, 3};
    for (size_t i = 0; i < COUNT(threads); i++) {
        pl_pool *pool = pool_of(threads[i]);
        session others[2] = {{.pool = pool, .seed = 1}, {.pool = pool, .seed = 1000}}, own = {.pool = pool, .seed = 2000};
        pthread_t thread[2];
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&thread[k], NULL, run_sums, &others[k]), 0);
        for (int round = 0; round < 200; round++) {
            sums want = {.threads = 1, .seed = round}, got = {.threads = 3, .seed = round};
            pl_pool_hold(pool);
            pl_pool_run(NULL, sum_row, &want, TASKS);
            pl_pool_run(pool, sum_row, &got, TASKS);
            pl_pool_let_go(pool);
            own.wrong += memcmp(want.rows, got.rows, sizeof want.rows) != 0 || got.faults != 0;
            sched_yield();
        }
        for (int k = 0; k < 2; k++) {
            pthread_join(thread[k], NULL);
            assert_int_equal(others[k].wrong, 0);
        }
        assert_int_equal(own.wrong, 0);
        pl_pool_close(pool);
    }
}

static void no_memory_for_a_pool_is_an_error(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at <= 2; fail_at++) {
        counter c = {.fail_at = fail_at};
        parley_allocator allocator = counting(&c);
        parley_error error = {0};
        pl_pool *pool = NULL;
        assert_int_equal(pl_pool_open(&allocator, 4, &pool, &error), PARLEY_MEMORY);
        assert_null(pool);
        assert_int_equal(c.live, 0);
    }
    parley_allocator allocator = pl_default_allocator();
    pl_pool *pool = NULL;
    assert_int_equal(pl_pool_open(&allocator, 0, &pool, NULL), PARLEY_ARGUMENT);
    counter c = {0};
    allocator = counting(&c);
    assert_int_equal(pl_pool_open(&allocator, 4, &pool, NULL), PARLEY_OK);
    pl_pool_close(pool);
    assert_int_equal(c.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_apart),
        cmocka_unit_test(sizes_that_overflow_give_null),
        cmocka_unit_test(equal_steps_allocate_once),
        cmocka_unit_test(blocks_are_zeroed_again_after_a_reset),
        cmocka_unit_test(a_mark_is_returned_to),
        cmocka_unit_test(high_water_counts_the_largest_step),
        cmocka_unit_test(a_failing_allocator_leaves_the_arena_usable),
        cmocka_unit_test(texts_get_a_nul),
        cmocka_unit_test(released_sizes_are_the_allocated_ones),
        cmocka_unit_test(statuses_have_names_and_codes),
        cmocka_unit_test(errors_carry_status_position_and_text),
        cmocka_unit_test(a_text_may_be_added_to),
        cmocka_unit_test(texts_are_one_line_of_utf8),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(level_names_go_round),
        cmocka_unit_test(levels_are_chosen_or_refused),
        cmocka_unit_test(sizes_do_not_wrap),
        cmocka_unit_test(tensor_views_know_their_sizes),
        cmocka_unit_test(the_clock_goes_forward),
        cmocka_unit_test(sums_are_the_same_with_any_number_of_threads),
        cmocka_unit_test(many_regions_lose_no_task),
        cmocka_unit_test(sessions_share_a_pool),
        cmocka_unit_test(a_pool_in_use_falls_back_to_the_caller),
        cmocka_unit_test(a_held_pool_lets_others_wait),
        cmocka_unit_test(regions_make_way_and_go_on),
        cmocka_unit_test(no_memory_for_a_pool_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
