// Sums of the stored cells of CSR rows, per class and column, as whole numbers of a unit: the order means nothing.
//
// The host puts before the source, beside the names of cells.cuh:
//   SQUARES   1 if squares are added up, too
//   COUNT     the type of the sums

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
