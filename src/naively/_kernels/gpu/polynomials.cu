// Scores of rows whose columns all are polynomials of the second degree, as a product of matrices on the tensor cores,
// which multiply float64 at twice the rate of the other units: scores = [t, t * t] @ coefficients, t being the distances
// of the cells to the anchors of their columns.
//
// A warp multiplies 16 rows at a time. It copies SLAB * 16 bytes of each to shared memory, STAGES copies ahead of the one
// that it works on, so that whole lines of memory are asked for at once; no warp waits for another. Four lanes have a row,
// and each of them reads 16 bytes of it at a time. One product takes one cell of each lane, of two rows, and its square.
// Coefficients come from shared memory in the order in which the lanes read them.
//
// The host puts before the source, beside the names of cells.cuh:
//   CLASSES   classes that a block has, at most 16
//   ALL       1 if these are all there are
//   OUT       the type of the answers
//   WARPS     warps of a block
//   STAGES    copies that are under way, or ready
//   BLOCKS    blocks that a multiprocessor is to run at once
//   SLAB      lanes that copy a row: 8 or 16

#define THREADS (32 * WARPS)
#define TILES ((CLASSES + 7) / 8)
#define WIDTH ((CLASSES + 1) / 2 * 2)     // scores of a row in shared memory
#define LOWEST __longlong_as_double(0xfff0000000000000LL)  // minus infinity
#define VECTOR (16 / (int)sizeof(TYPE))  // cells of one copy
#define STEP (4 * VECTOR)                // columns that the four lanes of a row read at once
#define STEPS (SLAB / 4)                 // steps of a copy

union Cells { uint4 bits; TYPE cell[VECTOR]; };

// c += a @ b: a is 16 x 8 (rows x terms), b is 8 x 8 (terms x classes). A lane has of a the rows lane / 4 and 8 more, the
// terms lane % 4 and 4 more; of b the terms alike, the class lane / 4; of c the rows alike, the classes 2 * (lane % 4) and next.
__device__ __forceinline__ void multiply(double (&c)[4], double a0, double a1, double a2, double a3, double2 b) {
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b.x), "d"(b.y));
}

__device__ __forceinline__ float power_of_e(double x, float) { return exp2f((float)(x * 1.4426950408889634)); }
__device__ __forceinline__ double power_of_e(double x, double) { return exp(x); }

// Scores of a row, of which two neighbouring lanes have every other one, as probabilities; false if no class could have
// produced the row. The largest score is taken out first; rounded to float32, which is quicker to find, where that is near
// enough.
__device__ __forceinline__ bool to_probabilities(
    double (&score)[WIDTH / 2], OUT (&share)[WIDTH / 2], int side, int n, const double* prior
) {
    float near = __int_as_float(0xff800000);
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) if (2 * i + side < n) near = fmaxf(near, (float)score[i]);  // NaN, of inf - inf, is none
    near = fmaxf(near, __shfl_xor_sync(~0u, near, 1));
    double most = (double)near;
    if (__any_sync(~0u, !(fabsf(near) < 1e8f))) {
        most = LOWEST;
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) if (2 * i + side < n) most = fmax(most, score[i]);
        most = fmax(most, __shfl_xor_sync(~0u, most, 1));
    }
    const bool possible = most != LOWEST;
    if (!possible) {  // the answer is the prior
        for (int k = 0; k < n; k++) most = fmax(most, prior[k]);
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) if (2 * i + side < n) score[i] = prior[2 * i + side];
    }
    OUT total = 0;
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) {
        const OUT power = power_of_e(score[i] - most, (OUT)0);
        share[i] = 2 * i + side < n && !isnan(score[i]) ? power : (OUT)0;
        total += share[i];
    }
    total += __shfl_xor_sync(~0u, total, 1);
    const OUT scale = (OUT)1 / total;
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) share[i] *= scale;
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

// Whether any cell is, or some are so large that products of two are; which one it is, and whether, is asked then.
__device__ __forceinline__ bool has_no_number(const Cells (&now)[STEPS][2]) {
    TYPE sum = 0;
    bool any = false;
#pragma unroll
    for (int i = 0; i < STEPS * VECTOR; i++) {
        const TYPE cell = now[i / VECTOR][0].cell[i % VECTOR], below = now[i / VECTOR][1].cell[i % VECTOR];
#if FLOATS && HALF == 0
        sum = fma(cell, below, sum);
#else
        any |= is_no_number(cell) || is_no_number(below);
#endif
    }
    return any || is_no_number(sum);
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
    extern __shared__ uint4 room[];  // copies (WARPS, STAGES, 16, SLAB)
    double2* coefficients = (double2*)(room + WARPS * STAGES * 16 * SLAB);  // (columns of a step, TILES, 32), of t and t * t
    const int n_steps = (n_columns + STEP * STEPS - 1) / (STEP * STEPS) * STEPS, lane = threadIdx.x & 31, quarter = lane & 3;
    double* anchors = (double*)(coefficients + n_steps * VECTOR * TILES * 32);  // (columns)
    double* starts = anchors + n_steps * STEP;                                  // (8 * TILES)
    const int chunk = blockIdx.y * CLASSES, n = ALL ? CLASSES : min(CLASSES, n_classes - chunk);
    for (int i = threadIdx.x; i < n_steps * VECTOR * TILES * 32; i += THREADS) {
        const int tile = i / 32 % TILES, e = i / 32 / TILES % VECTOR, step = i / 32 / TILES / VECTOR;
        const int column = step * STEP + (i & 3) * VECTOR + e, k = tile * 8 + i % 32 / 4;
        const bool there = column < n_columns && k < n;
        const double2 c = there ? polynomials[(int64)column * n_classes + chunk + k] : make_double2(0.0, 0.0);
        coefficients[i] = make_double2(c.y, c.x);
    }
    for (int i = threadIdx.x; i < n_steps * STEP; i += THREADS) anchors[i] = i < n_columns ? column_anchors[i] : 0.0;
    for (int k = threadIdx.x; k < 8 * TILES; k += THREADS) starts[k] = k < n ? base[chunk + k] : 0.0;
    __syncthreads();

    const int64 n_groups = (n_rows + 15) / 16, stride = (int64)gridDim.x * WARPS;
    int64 group = (int64)blockIdx.x * WARPS + (threadIdx.x >> 5);
    int64 next_group = group;
    int next_step = 0, next_stage = 0, stage = 0;
    uint4* copies = room + (threadIdx.x >> 5) * STAGES * 16 * SLAB;
    // A row of odd number has the halves of its eighths of chunks exchanged, so that lanes read from different banks.
    const unsigned to = (unsigned)__cvta_generic_to_shared(copies + lane / SLAB * SLAB + (lane % SLAB ^ (lane / SLAB & 1) << 2));
    const uint4* mine = copies + (lane >> 2) * SLAB;
    const int exchanged = (lane >> 2 & 1) << 2;
    auto copy_next = [&]() {  // the next STEPS steps
        const int column = next_step * STEP + lane % SLAB * VECTOR;
        const int64 row = next_group * 16 + lane / SLAB;
        const int n_there = column < n_columns ? (int)min((int64)16, n_rows - row) : 0;  // zeros else
        const TYPE* from = cells + row * row_stride + column;
#pragma unroll
        for (int r = 0; r < 16; r += 32 / SLAB) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + (next_stage * 16 + r) * SLAB * 16),
                         "l"(from), "r"(r < n_there ? 16 : 0) : "memory");
            from += 32 / SLAB * row_stride;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        next_step += STEPS;
        if (next_step == n_steps) { next_step = 0; next_group += stride; }
        if (++next_stage == STAGES) next_stage = 0;
    };
    for (int i = 0; i < STAGES - 1; i++) copy_next();
    for (; group < n_groups; group += stride) {
        double c[TILES][4];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const double2 start = ((const double2*)starts)[tile * 4 + quarter];
            c[tile][0] = c[tile][2] = start.x;
            c[tile][1] = c[tile][3] = start.y;
        }
        for (int first = 0; first < n_steps; first += STEPS) {
            __syncwarp();  // all lanes have read what stood in the place of the next copy
            copy_next();
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
            __syncwarp();
            const uint4* here = mine + stage * 16 * SLAB;
            Cells now[STEPS][2];
#pragma unroll
            for (int i = 0; i < STEPS * 2; i++)
                now[i / 2][i % 2].bits = here[i % 2 * 8 * SLAB + ((i / 2 * 4 + quarter) ^ exchanged)];
            if (++stage == STAGES) stage = 0;
            const double* my_anchors = anchors + first * STEP + quarter * VECTOR;
            const double2* b = coefficients + first * VECTOR * TILES * 32 + lane;
            if (!__any_sync(~0u, has_no_number(now))) {
#pragma unroll
                for (int s = 0; s < STEPS; s++) add_step<false>(c, now[s], 0, my_anchors + s * STEP, b + s * VECTOR * TILES * 32);
                continue;
            }
#pragma unroll 1
            for (int s = 0; s < STEPS; s++) {
                const int step = first + s;
                Cells again[2];
#pragma unroll
                for (int h = 0; h < 2; h++) again[h].bits = here[h * 8 * SLAB + ((s * 4 + quarter) ^ exchanged)];
                unsigned unknown = 0;
#pragma unroll
                for (int i = 0; i < 2 * VECTOR; i++) unknown |= (unsigned)is_no_number(again[i / VECTOR].cell[i % VECTOR]) << i;
                add_step<true>(c, again, unknown, my_anchors + s * STEP, b + s * VECTOR * TILES * 32);
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
        }
        // -- two lanes take a row, through the place of a copy that has been read
        double* scores = (double*)(copies + (stage ? stage - 1 : STAGES - 1) * 16 * SLAB);  // (16, WIDTH)
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++) {
            const int tile = i / 2, h = i % 2, k = tile * 8 + 2 * quarter;
            if (k < WIDTH) *(double2*)(scores + (h * 8 + (lane >> 2)) * WIDTH + k) = make_double2(c[tile][2 * h], c[tile][2 * h + 1]);
        }
        __syncwarp();
        const int side = lane & 1;
        double score[WIDTH / 2];
        OUT answer[WIDTH / 2];
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) score[i] = scores[(lane >> 1) * WIDTH + 2 * i + side];
        if (finish) {
            const bool possible = to_probabilities(score, answer, side, n, prior);
            if (!possible && side == 0 && group * 16 + (lane >> 1) < n_rows) atomicAdd(n_impossible, 1);
        } else {
#pragma unroll
            for (int i = 0; i < WIDTH / 2; i++) answer[i] = (OUT)(isnan(score[i]) ? LOWEST : score[i]);  // NaN: inf - inf
        }
        OUT* answers = (OUT*)scores;  // (16, CLASSES)
        __syncwarp();
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) if (2 * i + side < CLASSES) answers[(lane >> 1) * CLASSES + 2 * i + side] = answer[i];
        __syncwarp();
        const int n_here = (int)min((int64)16, n_rows - group * 16) * CLASSES;
        OUT* at = out + group * 16 * n_classes + chunk;
#pragma unroll
        for (int p = 0; p < 16 * CLASSES; p += 32) {
            const int i = p + lane;
            if (i < n_here && i % CLASSES < n) at[ALL ? i : i / CLASSES * n_classes + i % CLASSES] = answers[i];
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}
