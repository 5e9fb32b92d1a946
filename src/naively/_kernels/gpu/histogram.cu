// Counts of the cells of histograms (see statistics/_histogram.py: keys, levels).
//
// A cell of a column is its key, an integer in the order of the numbers, without its lowest `level` bits. A sample of
// the rows tells the level of each column and a window of cells on either side of zero that nearly all numbers fall
// into. Rows come class by class (order.cu), so that the counts of one class and eight columns stand in the shared memory
// of a block, where a number finds its cell by a shift. The few numbers outside the windows go to one hash table for
// each column. Slots are taken by whoever comes first, but counts are integers: the result does not depend on the
// order. A column whose hash table gets too full is marked, and counted again by the host on a coarser level.
//
// The host puts before the source, beside the names of cells.cuh:
//   WEIGHTED  1 if rows have units, 0 if each counts one; with units there are no windows
//   COUNT     the type of the counts in hash tables
//   ROW       the type of the number of a row

#define FREE (-9223372036854775807LL - 1)  // the key of no number
#define GOLDEN 0x9E3779B97F4A7C15ULL
#define DROPPED 6                          // low bits that keys of the sample do without, for the number of their column
#define ZERO (1ULL << 57)                  // the shortened key of zero
#define MISSING ((1ULL << 58) - 1)
#define THREADS 512
#define GROUP 8                            // columns of a block
#define UNROLL 8

struct Window {
    int64 low[2];  // the least magnitude, without `shift` bits, of the cells above and below zero
    uint64 exact;  // bits of a magnitude that are zero in all numbers of the window
    int size[2];   // how many cells there are above and below zero
    int shift, level;
};

__device__ __forceinline__ int64 key_of(double number) {
    const int64 bits = __double_as_longlong(number);
    const int64 key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFFLL);
    return key + (key == -1);  // of -0.0
}

// The shortened keys of some rows, each below the number of its column: sorted, they stand column by column.
extern "C" __global__ void sample_keys(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, int64 step, int n_sampled, uint64* __restrict__ keys
) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (int64)n_sampled * n_columns) return;
    const int64 row = i / n_columns * step;
    const int column = (int)(i % n_columns);
    const TYPE cell = cells[row * row_stride + columns[column]];
    const uint64 key = (uint64)key_of(as_double(cell)) ^ (1ULL << 63);
    keys[i] = (uint64)column << 58 | (is_missing(cell) || codes[row] < 0 ? MISSING : key >> DROPPED);
}

// How many of the ascending keys of a column are below a bound.
__device__ __forceinline__ int count_below(const uint64* keys, int n, uint64 bound) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if ((keys[middle] & MISSING) < bound) low = middle + 1; else high = middle;
    }
    return low;
}

// The finest level on which the sample of a column has at most `cap` cells (all rows have no fewer), and the window of
// its numbers: an empty one, if it would be wider than `most` cells. A block has a column.
extern "C" __global__ void find_windows(
    const uint64* __restrict__ sorted, int n_sampled, int cap, int most, Window* __restrict__ windows
) {
    __shared__ int n_of_length[64];
    __shared__ uint64 used;  // bits that are set in any magnitude
    const uint64* keys = sorted + (int64)blockIdx.x * n_sampled;
    if (threadIdx.x < 64) n_of_length[threadIdx.x] = 0;
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    uint64 mine = 0;
    for (int i = threadIdx.x; i < n_sampled; i += blockDim.x) {
        const uint64 key = keys[i] & MISSING;
        if (key == MISSING) break;
        mine |= key >= ZERO ? key - ZERO : ZERO - 1 - key;
        if (i) atomicAdd(&n_of_length[64 - __clzll((int64)(keys[i] ^ keys[i - 1]))], 1);  // of the bits that differ
    }
    if (mine) atomicOr(&used, mine);
    __syncthreads();
    if (threadIdx.x) return;
    int level = 0;
    for (int length = 58, n_cells = 1; length > 0; length--) {
        n_cells += n_of_length[length];  // neighbours that differ on the level below
        if (n_cells > cap) { level = length + DROPPED; break; }
    }
    const int less = max(level - DROPPED, 0), zeros = used >> less ? __ffsll((int64)(used >> less)) - 1 : 0;
    const int n_below = count_below(keys, n_sampled, ZERO), n_to_zero = count_below(keys, n_sampled, ZERO + 1);
    const int n_known = count_below(keys, n_sampled, MISSING);
    Window window = {{0, 0}, 0, {0, 0}, less + zeros + DROPPED, level};
    window.exact = ((1ULL << window.shift) - 1) & ~((1ULL << level) - 1);
    int64 size[2] = {0, 0};
    if (n_to_zero < n_known) {
        window.low[0] = (int64)(((keys[n_to_zero] & MISSING) - ZERO) >> (less + zeros));
        size[0] = (int64)(((keys[n_known - 1] & MISSING) - ZERO) >> (less + zeros)) - window.low[0] + 1;
    }
    if (n_below) {
        window.low[1] = (int64)((ZERO - 1 - (keys[n_below - 1] & MISSING)) >> (less + zeros));
        size[1] = (int64)((ZERO - 1 - (keys[0] & MISSING)) >> (less + zeros)) - window.low[1] + 1;
    }
    if (1 + size[0] + size[1] <= most)
        for (int side = 0; side < 2; side++) window.size[side] = (int)size[side];
    windows[blockIdx.x] = window;
}

// The cell of a number in the window: 0 for zero, then those above, then those below; -1 outside.
__device__ __forceinline__ int cell_of(double number, const Window& window) {
    const uint64 magnitude = (uint64)__double_as_longlong(number) & 0x7FFFFFFFFFFFFFFFULL;
    if (magnitude == 0) return 0;
    const bool below = number < 0;
    const uint64 cell = (magnitude >> window.shift) - (uint64)(below ? window.low[1] : window.low[0]);
    if (cell >= (uint64)(below ? window.size[1] : window.size[0]) || (magnitude & window.exact)) return -1;
    return 1 + (below ? window.size[0] : 0) + (int)cell;
}

// Add to the count of a key in the hash table of its column.
__device__ __noinline__ void count_key(
    int64 key, int code, COUNT weight, int n_classes, int n_slots, int shift, int most, int64* slots, COUNT* counts,
    int* occupied
) {
    int slot = (int)(((uint64)key * GOLDEN) >> shift);
    while (true) {
        int64 found = slots[slot];
        if (found == FREE) {  // or so it was when this cache last looked
            if (*(volatile int*)occupied > most) return;  // too full: the host counts it again
            found = (int64)atomicCAS((uint64*)(slots + slot), (uint64)FREE, (uint64)key);
            if (found == FREE) { atomicAdd(occupied, 1); found = key; }
        }
        if (found == key) {
            atomicAdd(counts + (int64)slot * n_classes + code, weight);
            return;
        }
        slot = (slot + 1) & (n_slots - 1);
    }
}

// Neighbouring blocks have the same rows and other columns, so that what one reads of a row the cache has for the others.
extern "C" __global__ void __launch_bounds__(THREADS, 2) count_cells(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const ROW* __restrict__ order, const int64* __restrict__ begins, const uint64* __restrict__ units, int n_classes,
    const Window* __restrict__ windows, int width, unsigned* __restrict__ table, int n_slots, int shift, int most,
    int64* __restrict__ slots, COUNT* __restrict__ counts, int* __restrict__ occupied
) {
    extern __shared__ unsigned room[];  // (GROUP, width)
    const int n_groups = (n_columns + GROUP - 1) / GROUP, first_column = blockIdx.x % n_groups * GROUP;
    const int n_parts = gridDim.x / n_groups, part = blockIdx.x / n_groups;
    const int column = first_column + (threadIdx.x & (GROUP - 1));
    const bool on = column < n_columns;
    const Window window = windows[on ? column : 0];
    const TYPE* from = cells + columns[on ? column : 0];
    unsigned* mine = room + (threadIdx.x & (GROUP - 1)) * width;
    for (int i = threadIdx.x; i < GROUP * width; i += THREADS) room[i] = 0;
    __syncthreads();

    const int64 n_known = begins[n_classes], end = n_known * (part + 1) / n_parts;
    int64 i = n_known * part / n_parts;
    while (i < end) {
        const int code = class_at(begins, n_classes, i);
        const int64 stop = min(begins[code + 1], end);
        constexpr int rows_at_once = THREADS / GROUP;
        int64 at = i + threadIdx.x / GROUP;
        ROW row[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) row[u] = order[min(at + u * rows_at_once, stop - 1)];
        for (; at < stop; at += UNROLL * rows_at_once) {
            TYPE loaded[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) loaded[u] = __ldg(from + (int64)row[u] * row_stride);
#if WEIGHTED
            uint64 unit[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) unit[u] = units[row[u]];
#endif
#pragma unroll
            for (int u = 0; u < UNROLL; u++)  // of the next round, while the cells of this one are under way
                row[u] = order[min(at + (UNROLL + u) * rows_at_once, stop - 1)];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                if (!on || at + u * rows_at_once >= stop || is_missing(loaded[u])) continue;
                const double number = as_double(loaded[u]);
#if WEIGHTED
                const COUNT weight = (COUNT)unit[u];
                const int cell = -1;
#else
                const COUNT weight = 1;
                const int cell = width ? cell_of(number, window) : -1;
#endif
                if (cell >= 0) atomicAdd(mine + cell, 1u);
                else count_key(key_of(number) >> window.level, code, weight, n_classes, n_slots, shift, most,
                               slots + (int64)column * n_slots, counts + (int64)column * n_slots * n_classes,
                               occupied + column);
            }
        }
        __syncthreads();
        for (int j = threadIdx.x; j < GROUP * width; j += THREADS) {
            if (!room[j]) continue;
            atomicAdd(table + ((int64)(first_column + j / width) * n_classes + code) * width + j % width, room[j]);
            room[j] = 0;
        }
        __syncthreads();
        i = stop;
    }
}
