// Scores of rows whose columns all are polynomials of the second degree, as a product of matrices on the tensor cores,
// which multiply float64 at twice the rate of the other units: scores = [t, t * t] @ coefficients, t being the distances
// of the cells to the anchors of their columns.
//
// A warp multiplies 16 rows at a time. Four lanes have a row, and each of them copies 16 bytes of it at a time to a place
// of its own in shared memory, STAGES copies ahead of the one that it works on; no thread waits for another. One product
// takes one cell of each lane, of two rows, and its square. Coefficients come from shared memory in the order in which the
// lanes read them.
//
// The host puts before the source, beside the names of cells.cuh:
//   TILES     eighths of classes that a block has: 1 or 2
//   OUT       the type of the answers
//   STAGES    copies that are under way, or ready
//   BLOCKS    blocks that a multiprocessor is to run at once

#define THREADS 128
#define LOWEST __longlong_as_double(0xfff0000000000000LL)  // minus infinity
#define VECTOR (16 / (int)sizeof(TYPE))  // cells of one copy
#define STEP (4 * VECTOR)                // columns that the four lanes of a row copy at once

union Cells { uint4 bits; TYPE cell[VECTOR]; };
struct alignas(2 * sizeof(OUT)) Pair { OUT first, second; };

// c += a @ b: a is 16 x 8 (rows x terms), b is 8 x 8 (terms x classes). A lane has of a the rows lane / 4 and 8 more, the
// terms lane % 4 and 4 more; of b the terms alike, the class lane / 4; of c the rows alike, the classes 2 * (lane % 4) and next.
__device__ __forceinline__ void multiply(double (&c)[4], double a0, double a1, double a2, double a3, double2 b) {
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b.x), "d"(b.y));
}

// Scores of a row, of which a lane has 2 * TILES classes, as probabilities; false if no class could have produced the row.
// The largest score is taken out first; rounded to float32, which is quicker to find, where that is near enough.
__device__ __forceinline__ bool to_probabilities(
    const double (&score)[2 * TILES], OUT (&share)[2 * TILES], int first_class, int n_classes, const double* prior
) {
    float near = __int_as_float(0xff800000);
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++)
        if (i / 2 * 8 + first_class + i % 2 < n_classes) near = fmaxf(near, (float)score[i]);  // NaN, of inf - inf, is none
    near = fmaxf(near, __shfl_xor_sync(~0u, near, 1));
    near = fmaxf(near, __shfl_xor_sync(~0u, near, 2));
    double most = (double)near;
    if (__any_sync(~0u, !(fabsf(near) < 1e8f))) {
        most = LOWEST;
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++)
            if (i / 2 * 8 + first_class + i % 2 < n_classes) most = fmax(most, score[i]);
        most = fmax(most, __shfl_xor_sync(~0u, most, 1));
        most = fmax(most, __shfl_xor_sync(~0u, most, 2));
    }
    const bool possible = most != LOWEST;
    if (!possible)  // the answer is the prior
        for (int k = 0; k < n_classes; k++) most = fmax(most, prior[k]);
    OUT total = 0;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) {
        const int k = i / 2 * 8 + first_class + i % 2;
        const double said = possible ? score[i] : k < n_classes ? prior[k] : 0.0;
        share[i] = k < n_classes && said == said ? exp((OUT)(said - most)) : (OUT)0;
        total += share[i];
    }
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    const OUT scale = (OUT)1 / total;
#pragma unroll
    for (int i = 0; i < 2 * TILES; i++) share[i] *= scale;
    return possible;
}

// Whether a cell is missing or infinite.
__device__ __forceinline__ bool is_no_number(TYPE cell) {
#if !FLOATS
    return false;
#elif HALF == 1
    return (cell & 0x7c00) == 0x7c00;
#elif HALF == 2
    return (cell & 0x7f80) == 0x7f80;
#else
    return !(fabs(cell) <= (TYPE)(sizeof(TYPE) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308));
#endif
}

// Whether any cell of two copies is: nothing else, times zero, is not zero.
__device__ __forceinline__ bool has_no_number(const Cells (&now)[2]) {
#if FLOATS && HALF == 0
    TYPE nothing = 0;
#pragma unroll
    for (int i = 0; i < 2 * VECTOR; i++) nothing = fma(now[i / VECTOR].cell[i % VECTOR], (TYPE)0, nothing);
    return nothing != nothing;
#else
    bool any = false;
#pragma unroll
    for (int i = 0; i < 2 * VECTOR; i++) any |= is_no_number(now[i / VECTOR].cell[i % VECTOR]);
    return any;
#endif
}

// Add what the columns of a step say for 16 rows. Where a cell is no number its place in `unknown` tells (a row's VECTOR
// bits, then those of the row 8 below): its distance is 0, and so it says nothing here.
template <bool SOME_UNKNOWN> __device__ __forceinline__ void add_step(
    double (&c)[TILES][4], const Cells (&now)[2], unsigned unknown, const double* anchors, const double2* coefficients
) {
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
        double t[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            t[h] = as_double(now[h].cell[e]) - anchors[e];
            if (SOME_UNKNOWN && (unknown >> (h * VECTOR + e) & 1)) t[h] = 0.0;
        }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            multiply(c[tile], t[0], t[1], t[0] * t[0], t[1] * t[1], coefficients[(e * TILES + tile) * 32]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) multiply_polynomials(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const double* __restrict__ column_anchors, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ base,
    const double* __restrict__ prior, int n_classes, int finish, int64* __restrict__ bad, int* __restrict__ n_impossible,
    OUT* __restrict__ out
) {
    extern __shared__ uint4 room[];  // copies (STAGES, 2, THREADS)
    double2* coefficients = (double2*)(room + STAGES * 2 * THREADS);  // (columns of a step, TILES, 32), of t and of t * t
    const int n_steps = (n_columns + STEP - 1) / STEP, lane = threadIdx.x & 31, quarter = lane & 3;
    double* anchors = (double*)(coefficients + n_steps * VECTOR * TILES * 32);  // (columns)
    const int chunk = blockIdx.y * 8 * TILES, n = min(8 * TILES, n_classes - chunk);
    for (int i = threadIdx.x; i < n_steps * VECTOR * TILES * 32; i += THREADS) {
        const int tile = i / 32 % TILES, e = i / 32 / TILES % VECTOR, step = i / 32 / TILES / VECTOR;
        const int column = step * STEP + (i & 3) * VECTOR + e, k = tile * 8 + i % 32 / 4;
        const bool there = column < n_columns && k < n;
        const double2 c = there ? polynomials[(int64)column * n_classes + chunk + k] : make_double2(0.0, 0.0);
        coefficients[i] = make_double2(c.y, c.x);
    }
    for (int i = threadIdx.x; i < n_steps * STEP; i += THREADS) anchors[i] = i < n_columns ? column_anchors[i] : 0.0;
    __syncthreads();

    const int64 n_groups = (n_rows + 15) / 16, stride = (int64)gridDim.x * (THREADS / 32);
    int64 group = (int64)blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    int64 next_group = group;
    int next_step = 0, next_stage = 0, stage = 0;
    auto copy_next = [&]() {
        const int column = next_step * STEP + quarter * VECTOR;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64 row = next_group * 16 + h * 8 + (lane >> 2);
            const bool there = row < n_rows && column < n_columns;  // zeros else
            const TYPE* from = there ? cells + row * row_stride + column : cells;
            const unsigned to = (unsigned)__cvta_generic_to_shared(room + (next_stage * 2 + h) * THREADS + threadIdx.x);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (++next_step == n_steps) { next_step = 0; next_group += stride; }
        if (++next_stage == STAGES) next_stage = 0;
    };
    for (int i = 0; i < STAGES - 1; i++) copy_next();
    for (; group < n_groups; group += stride) {
        double c[TILES][4];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int k = tile * 8 + 2 * quarter + i;
                c[tile][i] = c[tile][2 + i] = k < n ? base[chunk + k] : 0.0;
            }
        for (int step = 0; step < n_steps; step++) {
            copy_next();
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
            Cells now[2];
#pragma unroll
            for (int h = 0; h < 2; h++) now[h].bits = room[(stage * 2 + h) * THREADS + threadIdx.x];
            if (++stage == STAGES) stage = 0;
            const double* my_anchors = anchors + step * STEP + quarter * VECTOR;
            const double2* b = coefficients + step * VECTOR * TILES * 32 + lane;
            if (!__any_sync(~0u, has_no_number(now))) {
                add_step<false>(c, now, 0, my_anchors, b);
                continue;
            }
            unsigned unknown = 0;
#pragma unroll
            for (int i = 0; i < 2 * VECTOR; i++) unknown |= (unsigned)is_no_number(now[i / VECTOR].cell[i % VECTOR]) << i;
            add_step<true>(c, now, unknown, my_anchors, b);
            for (int other = 0; other < 4; other++) {  // what a column says of its anchor was in the start: take it out
                const unsigned bits = __shfl_sync(~0u, unknown, (lane & ~3) | other);
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    for (int e = 0; e < VECTOR; e++) {
                        if (!(bits >> (h * VECTOR + e) & 1)) continue;
                        const int64 column = step * STEP + other * VECTOR + e;
                        const int64 row = group * 16 + h * 8 + (lane >> 2);
                        if (other == quarter && !is_missing(cells[row * row_stride + column]))
                            atomicMin(bad, row * n_columns + column);
#pragma unroll
                        for (int i = 0; i < 2 * TILES; i++) {
                            const int k = i / 2 * 8 + 2 * quarter + i % 2;
                            if (k < n) c[i / 2][h * 2 + i % 2] -= constants[column * n_classes + chunk + k];
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64 row = group * 16 + h * 8 + (lane >> 2);
            double score[2 * TILES];
#pragma unroll
            for (int i = 0; i < 2 * TILES; i++) score[i] = c[i / 2][h * 2 + i % 2];
            OUT answer[2 * TILES];
#pragma unroll
            for (int i = 0; i < 2 * TILES; i++) answer[i] = (OUT)(isnan(score[i]) ? LOWEST : score[i]);  // NaN: inf - inf
            if (finish && !to_probabilities(score, answer, 2 * quarter, n, prior) && quarter == 0 && row < n_rows)
                atomicAdd(n_impossible, 1);
            if (row >= n_rows) continue;
            OUT* to = out + row * n_classes + chunk + 2 * quarter;
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                const int k = tile * 8 + 2 * quarter;
                if (n_classes % 2 == 0 && k + 1 < n) {
                    *(Pair*)(to + tile * 8) = {answer[2 * tile], answer[2 * tile + 1]};
                } else {
                    if (k < n) to[tile * 8] = answer[2 * tile];
                    if (k + 1 < n) to[tile * 8 + 1] = answer[2 * tile + 1];
                }
            }
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}
