// Sums of the stored cells of CSR rows, per class and column, as whole numbers of a unit: the order means nothing.
//
// The host puts before the source, beside the names of cells.cuh:
//   SQUARES   1 if squares are added up, too
//   COUNT     the type of the sums
//   ROW       the type of the number of a row

extern "C" __global__ void sparse_sums(
    const TYPE* __restrict__ data, const int* __restrict__ indices, const int64* __restrict__ row_starts,
    const int* __restrict__ codes, const double* __restrict__ weights, int64 n_rows, int n_columns, double unit,
    double square_unit, COUNT* __restrict__ sums, COUNT* __restrict__ squares, int* __restrict__ strange
) {
    // A warp adds a row.
    const int lane = threadIdx.x & 31;
    const int64 warp = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, n_warps = ((int64)gridDim.x * blockDim.x) >> 5;
    for (int64 row = warp; row < n_rows; row += n_warps) {
        const int code = codes[row];
        if (code < 0) continue;
        const double weight = weights ? weights[row] : 1.0;
        const int64 stop = row_starts[row + 1];
        for (int64 i = row_starts[row] + lane; i < stop; i += 32) {
            const double value = as_double(data[i]);
            const double units = weight * value * unit;
            if (is_missing(data[i]) || fabs(units) > 4.0e18) { *strange = 1; continue; }
            const int64 at = (int64)code * n_columns + indices[i];
            const int64 whole = (int64)rint(units);
            if ((double)whole != units) *strange = 2;  // not exact in this unit
            atomicAdd(sums + at, (COUNT)whole);
#if SQUARES
            const double square = weight * value * value * square_unit;
            if (fabs(square) > 4.0e18) { *strange = 1; continue; }
            const int64 whole_square = (int64)rint(square);
            if ((double)whole_square != square) *strange = 2;
            atomicAdd(squares + at, (COUNT)whole_square);
#endif
        }
    }
}

// Small whole numbers, as counts of words are: rows come class by class (order.cu), and the sums of one class stand in
// shared memory, `width` columns of them, where adding costs a fraction of what it costs in a table of all classes.
// `strange` tells that a cell is no whole number from 0 to LARGEST, or that a sum may have been too large for 32 bits.

#define LARGEST 1023
#define ROWS_AT_ONCE 8  // of a warp
#define WARPS 32
#define LOADS 4         // cells of a row that a lane loads at once

__device__ __forceinline__ void add_whole(TYPE cell, unsigned* sum, unsigned& of_lane, bool& is_strange) {
    const double value = as_double(cell);
    const unsigned whole = value > 0.0 ? (unsigned)fmin(value, 65536.0) : 0u;
    if (whole > LARGEST || (double)whole != value) { is_strange = true; return; }
    atomicAdd(sum, whole);
    of_lane += whole;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) class_sums(
    const TYPE* __restrict__ data, const int* __restrict__ indices, const int64* __restrict__ row_starts,
    const ROW* __restrict__ order, const int64* __restrict__ begins, int n_classes, int n_columns, int width,
    uint64* __restrict__ sums, int* __restrict__ strange
) {
    extern __shared__ unsigned room[];  // (width)
    const int first_column = blockIdx.y * width, here = min(width, n_columns - first_column);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int i = threadIdx.x; i < here; i += WARPS * 32) room[i] = 0;
    __syncthreads();
    const int64 n_known = begins[n_classes], end = n_known * (blockIdx.x + 1) / gridDim.x;
    int64 i = n_known * blockIdx.x / gridDim.x;
    bool is_strange = false;
    while (i < end) {
        const int code = class_at(begins, n_classes, i);
        const int64 stop = min(begins[code + 1], end);
        unsigned of_lane = 0;
        for (int64 at = i + warp * ROWS_AT_ONCE; at < stop; at += WARPS * ROWS_AT_ONCE) {
            const int64 mine = at + (lane & (ROWS_AT_ONCE - 1));
            const int64 row = (int64)order[min(mine, stop - 1)];
            const int64 row_start = row_starts[row], row_stop = mine < stop ? row_starts[row + 1] : row_start;
            for (int r = 0; r < ROWS_AT_ONCE; r += 2) {  // two rows at a time, so that more loads are under way
                int64 from[2], to[2];
                for (int side = 0; side < 2; side++) {
                    from[side] = __shfl_sync(~0u, row_start, r + side) + lane;
                    to[side] = __shfl_sync(~0u, row_stop, r + side);
                }
                while (from[0] < to[0] || from[1] < to[1]) {
                    TYPE cell[2][LOADS];
                    int word[2][LOADS];
#pragma unroll
                    for (int side = 0; side < 2; side++)
#pragma unroll
                        for (int u = 0; u < LOADS; u++) {
                            const int64 place = from[side] + 32 * u;
                            word[side][u] = place < to[side] ? __ldcs(indices + place) - first_column : -1;
                            if (place < to[side]) cell[side][u] = __ldcs(data + place);
                        }
#pragma unroll
                    for (int side = 0; side < 2; side++) {
#pragma unroll
                        for (int u = 0; u < LOADS; u++)
                            if ((unsigned)word[side][u] < (unsigned)here)
                                add_whole(cell[side][u], room + word[side][u], of_lane, is_strange);
                        from[side] += 32 * LOADS;
                    }
                }
            }
        }
        if (of_lane > 0xffffffffu / (WARPS * 32)) is_strange = true;
        __syncthreads();
        for (int j = threadIdx.x; j < here; j += WARPS * 32) {
            if (!room[j]) continue;
            atomicAdd(sums + (int64)code * n_columns + first_column + j, (uint64)room[j]);
            room[j] = 0;
        }
        __syncthreads();
        i = stop;
    }
    if (is_strange) *strange = 1;
}
