// Scores of rows whose columns all are polynomials of the second degree, as a product of matrices on the tensor cores,
// which multiply float64 at twice the rate of the other units: scores = [t, t * t] @ coefficients, t being the distances
// of the cells to the anchors of their columns.
//
// A warp multiplies GROUPS groups of 16 rows at a time. Four lanes have a row, and each of them loads 16 bytes of it,
// so that cells go from memory to where the tensor core wants them without a stop. One product takes one cell of each
// lane, of two rows, and its square. Coefficients come from shared memory in the order in which the lanes read them.
//
// The host puts before the source, beside the names of cells.cuh:
//   TILES     eighths of classes that a block has: 1 or 2
//   OUT       the type of the answers

#define THREADS 128
#ifndef GROUPS
#define GROUPS 2
#endif
#ifndef BLOCKS
#define BLOCKS 3
#endif
#define HALVES (2 * GROUPS)             // a lane has cells of so many rows
#define VECTOR (16 / (int)sizeof(TYPE))  // cells of one load
#define STEP (4 * VECTOR)               // columns that the four lanes of a row load at once

union Cells { uint4 bits; TYPE cell[VECTOR]; };

// c += a @ b: a is 16 x 8 (rows x terms), b is 8 x 8 (terms x classes). A lane has of a the rows lane / 4 and 8 more, the
// terms lane % 4 and 4 more; of b the terms alike, the class lane / 4; of c the rows alike, the classes 2 * (lane % 4) and next.
__device__ __forceinline__ void multiply(double (&c)[4], double a0, double a1, double a2, double a3, double2 b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b.x), "d"(b.y));
}

// Scores of a row, of which a lane has 2 * TILES classes, as probabilities; false if no class could have produced the row.
__device__ __forceinline__ bool to_probabilities(
    double (&score)[2 * TILES], int first_class, int n_classes, const double* prior
) {
    const double lowest = __longlong_as_double(0xfff0000000000000LL);
    double best = lowest;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
        if (i / 2 * 8 + first_class + i % 2 >= n_classes) score[i] = lowest;
        best = fmax(best, score[i]);
    }
    best = fmax(best, __shfl_xor_sync(~0u, best, 1));
    best = fmax(best, __shfl_xor_sync(~0u, best, 2));
    const bool possible = best != lowest;
    if (!possible) {  // the answer is the prior
        for (int k = 0; k < n_classes; k++) best = fmax(best, prior[k]);
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++) {
            const int k = i / 2 * 8 + first_class + i % 2;
            if (k < n_classes) score[i] = prior[k];
        }
    }
    OUT share[2 * TILES], total = 0;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) total += share[i] = exp((OUT)(score[i] - best));
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const OUT scale = (OUT)1 / total;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) score[i] = (double)(share[i] * scale);
    return possible;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) multiply_polynomials(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const double* __restrict__ column_anchors, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ base,
    const double* __restrict__ prior, int n_classes, int finish, int64* __restrict__ bad, int* __restrict__ n_impossible,
    OUT* __restrict__ out
) {
    extern __shared__ double2 coefficients[];  // (columns of a step, TILES, 32), of b.x and b.y; then anchors (columns)
    const int n_steps = (n_columns + STEP - 1) / STEP, lane = threadIdx.x & 31, quarter = lane & 3;
    double* anchors = (double*)(coefficients + n_steps * VECTOR * TILES * 32);
    const int chunk = blockIdx.y * 8 * TILES, n = min(8 * TILES, n_classes - chunk);
    for (int i = threadIdx.x; i < n_steps * VECTOR * TILES * 32; i += THREADS) {
        const int tile = i / 32 % TILES, e = i / 32 / TILES % VECTOR, step = i / 32 / TILES / VECTOR;
        const int column = step * STEP + (i & 3) * VECTOR + e, k = tile * 8 + i % 32 / 4;
        const bool there = column < n_columns && k < n;
        const double2 c = there ? polynomials[(int64)column * n_classes + chunk + k] : make_double2(0.0, 0.0);
        coefficients[i] = make_double2(c.y, c.x);  // of t, and of its square
    }
    for (int i = threadIdx.x; i < n_steps * STEP; i += THREADS) anchors[i] = i < n_columns ? column_anchors[i] : 0.0;
    __syncthreads();

    const int64 n_groups = (n_rows + 16 * GROUPS - 1) / (16 * GROUPS);
    const int64 stride = (int64)gridDim.x * (THREADS / 32);
    int64 group = (int64)blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    if (group >= n_groups) return;
    Cells next[HALVES];
    auto load = [&](int64 of_group, int step) {
        const int column = step * STEP + quarter * VECTOR;
#pragma unroll
        for (int h = 0; h < HALVES; h++) {
            const int64 row = of_group * 16 * GROUPS + h * 8 + (lane >> 2);
            next[h].bits = make_uint4(0, 0, 0, 0);
            if (row < n_rows && column < n_columns) next[h].bits = __ldcs((const uint4*)(cells + row * row_stride + column));
        }
    };
    load(group, 0);
    for (; group < n_groups; group += stride) {
        double c[GROUPS][TILES][4];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int k = tile * 8 + 2 * quarter + i;
                const double start = k < n ? base[chunk + k] : 0.0;
#pragma unroll
                for (int g = 0; g < GROUPS; g++) c[g][tile][i] = c[g][tile][2 + i] = start;
            }
        for (int step = 0; step < n_steps; step++) {
            Cells now[HALVES];
#pragma unroll
            for (int h = 0; h < HALVES; h++) now[h] = next[h];
            if (step + 1 < n_steps) load(group, step + 1);
            else if (group + stride < n_groups) load(group + stride, 0);
            unsigned unknown = 0;  // a bit for each cell that is missing, or infinite
#pragma unroll
            for (int e = 0; e < VECTOR; e++) {
                const double anchor = anchors[step * STEP + quarter * VECTOR + e];
                double t[HALVES];
#pragma unroll
                for (int h = 0; h < HALVES; h++) {
                    t[h] = as_double(now[h].cell[e]) - anchor;
#if FLOATS
                    if (!(fabs(t[h]) < 1.7976931348623157e308)) {
                        t[h] = 0.0;
                        unknown |= 1u << (h * VECTOR + e);
                    }
#endif
                }
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    const double2 b = coefficients[((step * VECTOR + e) * TILES + tile) * 32 + lane];
#pragma unroll
                    for (int g = 0; g < GROUPS; g++)
                        multiply(c[g][tile], t[2 * g], t[2 * g + 1], t[2 * g] * t[2 * g], t[2 * g + 1] * t[2 * g + 1], b);
                }
            }
#if FLOATS
            if (__any_sync(~0u, unknown)) {  // what the column says of its anchor was in the start: take it out
#pragma unroll
                for (int h = 0; h < HALVES; h++) {
                    for (int other = 0; other < 4; other++) {
                        const unsigned bits = __shfl_sync(~0u, unknown, (lane & ~3) | other) >> (h * VECTOR);
#pragma unroll
                        for (int e = 0; e < VECTOR; e++) {
                            if (!(bits >> e & 1)) continue;
                            const int64 column = step * STEP + other * VECTOR + e;
                            const int64 row = group * 16 * GROUPS + h * 8 + (lane >> 2);
                            if (other == quarter && !is_missing(now[h].cell[e])) atomicMin(bad, row * n_columns + column);
#pragma unroll
                            for (int tile = 0; tile < TILES; tile++)
#pragma unroll
                                for (int i = 0; i < 2; i++) {
                                    const int k = tile * 8 + 2 * quarter + i;
                                    if (k < n) c[h / 2][tile][h % 2 * 2 + i] -= constants[column * n_classes + chunk + k];
                                }
                        }
                    }
                }
            }
#endif
        }
#pragma unroll
        for (int h = 0; h < HALVES; h++) {
            const int64 row = group * 16 * GROUPS + h * 8 + (lane >> 2);
            double score[2 * TILES];
#pragma unroll
            for (int i = 0; i < 2 * TILES; i++) score[i] = c[h / 2][i / 2][h % 2 * 2 + i % 2];
            if (finish && !to_probabilities(score, 2 * quarter, n, prior) && quarter == 0 && row < n_rows)
                atomicAdd(n_impossible, 1);
#pragma unroll
            for (int i = 0; i < 2 * TILES; i++) {
                const int k = i / 2 * 8 + 2 * quarter + i % 2;
                if (row < n_rows && k < n) out[row * n_classes + chunk + k] = (OUT)score[i];
            }
        }
    }
}
