// Counts of the cells of histograms (see statistics/_histogram.py: keys, levels), in one hash table for each column.
//
// A cell of a column is its key, an integer in the order of the numbers, without its lowest `levels[column]` bits. Slots are
// taken by whoever comes first, but the counts of a key are integers: the result does not depend on the order. A column
// whose table gets too full is marked, and counted again by the host on a coarser level.
//
// The host puts before the source, beside the names of cells.cuh:
//   WEIGHTED  1 if rows have units, 0 if each counts one

#define FREE (-9223372036854775807LL - 1)  // the key of no number
#define GOLDEN 0x9E3779B97F4A7C15ULL

__device__ __forceinline__ int64 key_of(double number) {
    const int64 bits = __double_as_longlong(number);
    const int64 key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFFLL);
    return key + (key == -1);  // of -0.0
}

extern "C" __global__ void count_cells(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, const uint64* __restrict__ units, int64 n_rows, int n_classes,
    const int* __restrict__ levels, int n_slots, int shift, int most, int64* __restrict__ slots,
    COUNT* __restrict__ counts, int* __restrict__ occupied
) {
    // A block has eight columns, whose keys stay in the first cache, and a thread one; the table of a column is
    // (n_slots, n_classes). Blocks that stand next to each other read the same rows.
    const int n_groups = (n_columns + 7) / 8, group = blockIdx.x % n_groups;
    const int column = group * 8 + (threadIdx.x & 7);
    if (column >= n_columns) return;
    const int64 warp = ((int64)(blockIdx.x / n_groups) * blockDim.x + threadIdx.x) >> 3;
    const int64 n_warps = ((int64)(gridDim.x / n_groups) * blockDim.x) >> 3;
    const int level = levels[column];
    const int64 at = columns[column];
    int64* my_slots = slots + (int64)column * n_slots;
    COUNT* my_counts = counts + (int64)column * n_slots * n_classes;
    for (int64 base = warp; base < n_rows; base += 4 * n_warps) {
        TYPE loaded[4];
        int code[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int64 row = base + u * n_warps;
            code[u] = row < n_rows ? codes[row] : -1;
            if (code[u] >= 0) loaded[u] = __ldcs(cells + row * row_stride + at);
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            if (code[u] < 0 || is_missing(loaded[u])) continue;
            const int64 key = key_of(as_double(loaded[u])) >> level;
            int slot = (int)(((uint64)key * GOLDEN) >> shift);
            while (true) {
                int64 found = my_slots[slot];
                if (found == FREE) {  // or so it was when this cache last looked
                    if (*(volatile int*)(occupied + column) > most) break;  // too full: the host counts it again
                    found = (int64)atomicCAS((uint64*)(my_slots + slot), (uint64)FREE, (uint64)key);
                    if (found == FREE) { atomicAdd(occupied + column, 1); found = key; }
                }
                if (found == key) {
#if WEIGHTED
                    atomicAdd(my_counts + (int64)slot * n_classes + code[u], (COUNT)units[base + u * n_warps]);
#else
                    atomicAdd(my_counts + (int64)slot * n_classes + code[u], (COUNT)1);
#endif
                    break;
                }
                slot = (slot + 1) & (n_slots - 1);
            }
        }
    }
}
