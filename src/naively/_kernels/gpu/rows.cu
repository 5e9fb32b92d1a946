// Hashes of rows (see statistics/_kept_rows.py): the sum over the columns of the mixed bits of each number.

__device__ __forceinline__ uint64 mixed(uint64 bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
}

// A warp adds up the hashes of eight rows.
extern "C" __global__ void row_hashes(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const uint64* __restrict__ salts, int64 n_rows, uint64* __restrict__ hashes
) {
    const int lane = threadIdx.x & 31;
    const int64 warp = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, n_warps = ((int64)gridDim.x * blockDim.x) >> 5;
    for (int64 base = warp * 8; base < n_rows; base += n_warps * 8) {
        uint64 hash[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int column = lane; column < n_columns; column += 32) {
            const TYPE* from = cells + base * row_stride + columns[column];
            const uint64 salt = salts[column];
            TYPE loaded[8];
#pragma unroll
            for (int r = 0; r < 8; r++) if (base + r < n_rows) loaded[r] = __ldcs(from + r * row_stride);
#pragma unroll
            for (int r = 0; r < 8; r++)
                if (base + r < n_rows && !is_missing(loaded[r]))
                    hash[r] += mixed((uint64)__double_as_longlong(as_double(loaded[r]) + 0.0) ^ salt);
        }
#pragma unroll
        for (int r = 0; r < 8; r++) {
            for (int step = 16; step; step >>= 1) hash[r] += __shfl_xor_sync(~0u, hash[r], step);
            if (lane == r && base + r < n_rows) hashes[base + r] = hash[r];
        }
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
