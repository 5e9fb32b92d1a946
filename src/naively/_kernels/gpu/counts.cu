// How often whole numbers occur in columns, per class. Counts are integers, so that the order of adding them means
// nothing; a row's weight comes as a whole number of units.
//
// The cells of a column of `sizes[column]` values from `lows[column]` on begin at `offsets[column]`, the last of them for
// cells that are missing (or no whole number) and outside; class by class, `n_cells` apart.
//
// The host puts before the source, beside the names of cells.cuh:
//   LANES     1: tables in shared memory with a copy for each lane, for few and small columns, where no two lanes of a
//             warp meet in a bank; 0: counts go to the table in memory
//   WEIGHTED  1 if rows have units, 0 if each counts one

#define LARGEST_WHOLE 9007199254740992.0

// The cell of a value in its column.
__device__ __forceinline__ int cell_of(TYPE value, int64 low, int size) {
#if FLOATS
    double number = as_double(value);
    if (!(fabs(number) < LARGEST_WHOLE) || number != rint(number)) return size;
    int64 whole = (int64)number - low;
#else
    int64 whole = (int64)value - low;
#endif
    return whole >= 0 && whole < size ? (int)whole : size;
}

extern "C" __global__ void count_in_memory(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, const uint64* __restrict__ units, int64 n_rows, const int64* __restrict__ lows,
    const int* __restrict__ sizes, const int64* __restrict__ offsets, int64 n_cells, uint64* __restrict__ table
) {
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * n_columns; i += step) {
        const int64 row = i / n_columns;
        const int column = (int)(i % n_columns), code = codes[row];
        if (code < 0) continue;
        const int cell = cell_of(cells[row * row_stride + columns[column]], lows[column], sizes[column]);
#if WEIGHTED
        atomicAdd(&table[(int64)code * n_cells + offsets[column] + cell], units[row]);
#else
        atomicAdd(&table[(int64)code * n_cells + offsets[column] + cell], (uint64)1);
#endif
    }
}

#if LANES
// Bytes below `size`, a power of two, with `bits` bits: what is counted is how often two neighbouring columns have a pair
// of values, which takes one addition for two cells; the counts of each column follow from them. Otherwise as below.
extern "C" __global__ void __launch_bounds__(1024) count_byte_pairs(
    const unsigned* __restrict__ quads, int quads_per_row, const int* __restrict__ codes, int64 n_rows, int n_classes,
    int bits, uint64* __restrict__ table, int* __restrict__ too_large
) {
    extern __shared__ unsigned room[];  // pairs (n_classes, 2, size * size, 32), then totals (n_classes, 4, size, 32)
    const int size = 1 << bits, n_pairs = size * size, threads = blockDim.x, lane = threadIdx.x & 31;
    unsigned* totals = room + n_classes * 2 * n_pairs * 32;
    for (int i = threadIdx.x; i < n_classes * (2 * n_pairs + 4 * size) * 32; i += threads) room[i] = 0;
    __syncthreads();
    const int lanes_per_row = min(quads_per_row, 32), rows_per_warp = 32 / lanes_per_row;
    const int quad = blockIdx.y * 32 + lane % lanes_per_row;
    const bool on = quad < quads_per_row;
    const int64 warp = ((int64)blockIdx.x * threads + threadIdx.x) >> 5, n_warps = ((int64)gridDim.x * threads) >> 5;
    const unsigned mask = n_pairs - 1;
    unsigned* mine = room + lane;
    unsigned seen = 0;
    unsigned loaded[8], next[8];
    int code[8], next_code[8];
    const int64 stride = (int64)rows_per_warp * quads_per_row;
    auto load = [&](int64 from) {
        if (on && from + 7 * rows_per_warp < n_rows) {
            const unsigned* at = quads + from * quads_per_row + quad;
#pragma unroll
            for (int u = 0; u < 8; u++) {
                next[u] = __ldcs(at + u * stride);
                next_code[u] = __ldg(codes + from + u * rows_per_warp);
            }
            return;
        }
#pragma unroll
        for (int u = 0; u < 8; u++) {
            const int64 row = from + u * rows_per_warp;
            const bool there = on && row < n_rows;
            next_code[u] = there ? __ldg(codes + row) : -1;
            next[u] = there ? __ldcs(quads + row * quads_per_row + quad) : 0;
        }
    };
    auto count = [&](unsigned word, int code) {
        seen |= word;
        const unsigned pairs = word | word >> (8 - bits);  // values of columns 0 and 1, and of 2 and 3, side by side
        unsigned* at = mine + code * 2 * n_pairs * 32;
        atomicAdd(at + (pairs & mask) * 32, 1u);
        atomicAdd(at + (n_pairs + (pairs >> 16 & mask)) * 32, 1u);
    };
    const int64 step = n_warps * 8 * rows_per_warp;
    int64 base = warp * 8 * rows_per_warp + lane / lanes_per_row;
    load(base);
    for (; base < n_rows; base += step) {
        int all = 0;
#pragma unroll
        for (int u = 0; u < 8; u++) {
            loaded[u] = next[u];
            code[u] = next_code[u];
            all |= code[u];
        }
        load(base + step);  // while these are counted
        if (all >= 0) {  // no row is left out: the rule
#pragma unroll
            for (int u = 0; u < 8; u++) count(loaded[u], code[u]);
        } else {
#pragma unroll
            for (int u = 0; u < 8; u++) if (code[u] >= 0) count(loaded[u], code[u]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_classes * 2 * n_pairs * 32; i += threads) {
        if (!room[i]) continue;
        const int pair = i / 32 % n_pairs, side = i / 32 / n_pairs % 2, code = i / 32 / n_pairs / 2;
        unsigned* at = totals + (code * 4 + 2 * side) * size * 32 + lane;
        atomicAdd(at + (pair & (size - 1)) * 32, room[i]);
        atomicAdd(at + (size + (pair >> bits)) * 32, room[i]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_classes * 128 * size; i += threads) {
        const int value = i / 32 % size, j = i / 32 / size % 4, code = i / 32 / size / 4;
        const int column = 4 * (blockIdx.y * 32 + lane % lanes_per_row) + j;
        if (totals[i]) atomicAdd(&table[((int64)code * quads_per_row * 4 + column) * size + value], (uint64)totals[i]);
    }
    if (seen & ~((size - 1) * 0x01010101u)) *too_large = 1;
}

// Bytes, four columns to a load: `n_columns` is a multiple of 4 and the columns are neighbours. A lane always sees the
// same four columns, since 32 lanes step over whole rows or over whole fourths of one. All columns have `size` values
// from 0 on and one cell for what is outside.
extern "C" __global__ void count_bytes(
    const unsigned* __restrict__ quads, int quads_per_row, const int* __restrict__ codes, int64 n_rows, int n_classes,
    int size, uint64* __restrict__ table
) {
    extern __shared__ unsigned counts[];  // (n_classes, size + 1, 4, 32)
    const int width = (size + 1) * 128;
    for (int i = threadIdx.x; i < n_classes * width; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    const int lane = threadIdx.x & 31;
    const int lanes_per_row = min(quads_per_row, 32), rows_per_warp = 32 / lanes_per_row;
    const int quad = blockIdx.y * 32 + lane % lanes_per_row;
    const int64 warp = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, n_warps = ((int64)gridDim.x * blockDim.x) >> 5;
    const bool on = lane < rows_per_warp * lanes_per_row && quad < quads_per_row;
    const int64 step = n_warps * rows_per_warp;
    for (int64 base = warp * rows_per_warp; base < n_rows; base += 4 * step) {
        unsigned loaded[4];
        int code[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int64 row = base + u * step + lane / lanes_per_row;
            const bool there = on && row < n_rows;
            code[u] = there ? codes[row] : -1;
            loaded[u] = there ? __ldcs(quads + row * quads_per_row + quad) : 0;
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            if (code[u] < 0) continue;
            unsigned* at = counts + code[u] * width + lane;
#pragma unroll
            for (int j = 0; j < 4; j++) atomicAdd(at + (min((loaded[u] >> (8 * j)) & 255u, (unsigned)size) * 4 + j) * 32, 1u);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_classes * width; i += blockDim.x) {
        if (!counts[i]) continue;
        const int from = i % 32, j = i / 32 % 4, value = i / 128 % (size + 1), code = i / width;
        const int column = 4 * (blockIdx.y * 32 + from % lanes_per_row) + j;
        const int64 n_cells = (int64)quads_per_row * 4 * (size + 1);
        atomicAdd(&table[code * n_cells + (int64)column * (size + 1) + value], (uint64)counts[i]);
    }
}
#endif

// The number of rows, or units, of each class. Warps count for themselves in shared memory.
extern "C" __global__ void count_codes(
    const int* __restrict__ codes, const uint64* __restrict__ units, int64 n_rows, int n_classes, uint64* __restrict__ table
) {
    const int64 step = (int64)gridDim.x * blockDim.x;
    const int lane = threadIdx.x & 31;
    for (int64 base = (int64)blockIdx.x * blockDim.x; base < n_rows; base += step) {
        const int64 row = base + threadIdx.x;
        const int code = row < n_rows ? codes[row] : -1;
#if WEIGHTED
        if (code >= 0) atomicAdd(&table[code], units[row]);
#else
        const unsigned peers = __match_any_sync(~0u, code);
        if (code >= 0 && lane == __ffs(peers) - 1) atomicAdd(&table[(blockIdx.x & 63) * n_classes + code], (uint64)__popc(peers));
#endif
    }
}

// The least and largest whole number of each column among rows that count; a cell that is no whole number is marked.
extern "C" __global__ void whole_bounds(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns, int64 n_rows,
    int64* __restrict__ least, int64* __restrict__ largest, int* __restrict__ fractions
) {
    const int column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= n_columns) return;
    int64 low = 9223372036854775807LL, high = -9223372036854775807LL - 1;
    bool fraction = false;
    for (int64 row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const TYPE cell = cells[row * row_stride + columns[column]];
        if (is_missing(cell)) continue;
#if FLOATS
        const double number = as_double(cell);
        if (!(fabs(number) < LARGEST_WHOLE) || number != rint(number)) { fraction = true; continue; }
        const int64 whole = (int64)number;
#else
        const int64 whole = (int64)cell;
#endif
        low = min(low, whole);
        high = max(high, whole);
    }
    atomicMin(&least[column], low);
    atomicMax(&largest[column], high);
    if (fraction) atomicOr(&fractions[column], 1);
}
