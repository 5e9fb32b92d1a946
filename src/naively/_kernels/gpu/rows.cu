// Hashes of rows (see statistics/_kept_rows.py): the sum over the columns of the mixed bits of each number.

__device__ __forceinline__ uint64 mixed(uint64 bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
}

// The bits of a number: those of 0.0 for -0.0.
__device__ __forceinline__ uint64 bits_of(TYPE cell) {
    return (uint64)__double_as_longlong(as_double(cell) + 0.0);
}

// A warp adds up the hashes of eight rows. First every lane has a part of each; then lanes give away half of the rows
// that they have parts of, and take the other half, until each has parts of one row: a third of the exchanges that a sum
// over the lanes for every row would take.
extern "C" __global__ void __launch_bounds__(256, 4) row_hashes(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const uint64* __restrict__ salts, int64 n_rows, uint64* __restrict__ hashes
) {
    const int lane = threadIdx.x & 31;
    const int64 warp = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, n_warps = ((int64)gridDim.x * blockDim.x) >> 5;
    for (int64 base = warp * 8; base < n_rows; base += n_warps * 8) {
        const int n = (int)min((int64)8, n_rows - base);  // past the last row, that one is read again
        uint64 hash[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int first = lane; first < n_columns; first += 64) {  // two columns, so that more loads are under way
            TYPE loaded[2][8];
#pragma unroll
            for (int side = 0; side < 2; side++) {
                const TYPE* from = cells + base * row_stride + columns[min(first + 32 * side, n_columns - 1)];
#pragma unroll
                for (int r = 0; r < 8; r++) loaded[side][r] = __ldcs(from + min(r, n - 1) * row_stride);
            }
            TYPE nothing = 0;  // unless a cell is missing, or infinite; integers are none of it
#if FLOATS && HALF == 0
#pragma unroll
            for (int i = 0; i < 16; i++) nothing = fma(loaded[i / 8][i % 8], (TYPE)0, nothing);
#elif FLOATS
            nothing = 1;
#endif
#pragma unroll
            for (int side = 0; side < 2; side++) {
                if (first + 32 * side >= n_columns) continue;
                const uint64 salt = salts[first + 32 * side];
                if (nothing == 0) {
#pragma unroll
                    for (int r = 0; r < 8; r++) hash[r] += mixed(bits_of(loaded[side][r]) ^ salt);
                } else {
#pragma unroll
                    for (int r = 0; r < 8; r++)
                        hash[r] += is_missing(loaded[side][r]) ? 0 : mixed(bits_of(loaded[side][r]) ^ salt);
                }
            }
        }
#pragma unroll
        for (int half = 4; half; half >>= 1) {  // rows that a lane keeps; it exchanges with the lane 4 * half away
            const bool upper = lane & (4 * half);
#pragma unroll
            for (int r = 0; r < half; r++) {
                const uint64 given = upper ? hash[r] : hash[r + half], kept = upper ? hash[r + half] : hash[r];
                hash[r] = kept + __shfl_xor_sync(~0u, given, 4 * half);
            }
        }
        hash[0] += __shfl_xor_sync(~0u, hash[0], 2);
        hash[0] += __shfl_xor_sync(~0u, hash[0], 1);
        const int64 row = base + (lane >> 2);
        if ((lane & 3) == 0 && row < n_rows) hashes[row] = hash[0];
    }
}

// Which rows may be among those that are kept: a hash no larger than the limit of their class.
extern "C" __global__ void below_limits(
    const uint64* __restrict__ hashes, const int* __restrict__ codes, const uint64* __restrict__ limits, int64 n_rows,
    int most, int* __restrict__ n_found, int64* __restrict__ found
) {
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += step) {
        const int code = codes[row];
        if (code < 0 || hashes[row] > limits[code]) continue;
        const int place = atomicAdd(n_found, 1);
        if (place < most) found[place] = row;
    }
}
