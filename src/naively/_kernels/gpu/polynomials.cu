// Scores of rows whose columns all are polynomials of the second degree, as a product of matrices on the tensor cores,
// which multiply float64 at twice the rate of the other units: scores = [t, t * t] @ coefficients, t being the distances
// of the cells to the anchors of their columns.
//
// A warp has 32 rows at a time, two products of 16, which share the coefficients that it reads: shared memory is nearly as
// busy as the tensor cores. SLAB * 16 bytes of each row are copied there while those before are worked on, so that whole
// lines of memory are asked for at once; no warp waits for another. Four lanes have a row, and each of them reads 16 bytes
// of it at a time. One product takes one cell of each lane, of two rows, and its square. Coefficients come from shared
// memory in the order in which the lanes read them. At the end every lane has the scores of one row.
//
// The tensor cores take classes by eights. Probabilities do not change if one class's polynomial is taken out of all: nine
// classes become eight and one that has none. A tenth is added up by ordinary sums, which is quicker than to multiply eight
// for its sake.
//
// The host puts before the source, beside the names of cells.cuh:
//   CLASSES   classes that a block has, at most 16
//   BESIDE    the last of them that are not multiplied: 0; 1 or 2 where coefficients are relative to those of the last
//   ALL       1 if these are all there are
//   OUT       the type of the answers
//   WARPS     warps of a block
//   STAGES    copies that are under way, or worked on
//   BLOCKS    blocks that a multiprocessor is to run at once
//   SLAB      lanes that copy a row: 8 or 16

#define THREADS (32 * WARPS)
#define TILES ((CLASSES - BESIDE + 7) / 8)
#define SUMMED (BESIDE == 2)             // whether a class is added up by ordinary sums
constexpr int UNROLLED = SUMMED ? 1 : 2;  // steps: the registers hold no more of both kinds of sums
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

__device__ __forceinline__ float power_of_e(double x, float) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"((float)x * 1.44269504f));
    return power;
}
__device__ __forceinline__ double power_of_e(double x, double) { return exp(x); }

// Scores of a row as probabilities; false if no class could have produced the row. The largest score is taken out first;
// rounded to float32, which is quicker to find, where that is near enough.
__device__ __forceinline__ bool to_probabilities(double (&score)[CLASSES], OUT (&share)[CLASSES], int n, const double* prior) {
    float near = __int_as_float(0xff800000);
#pragma unroll
    for (int k = 0; k < CLASSES; k++) if (k < n) near = fmaxf(near, (float)score[k]);  // NaN, of inf - inf, is none
    double most = (double)near;
    bool possible = true;
    if (__any_sync(~0u, !(fabsf(near) < 1e8f))) {
        most = LOWEST;
#pragma unroll
        for (int k = 0; k < CLASSES; k++) if (k < n) most = fmax(most, score[k]);
        possible = most != LOWEST;
        if (!possible) {  // the answer is the prior
#pragma unroll
            for (int k = 0; k < CLASSES; k++) {
                if (k >= n) break;
                score[k] = prior[k];
                most = fmax(most, score[k]);
            }
        }
    }
    OUT total = 0;
#pragma unroll
    for (int k = 0; k < CLASSES; k++) {
        const OUT power = power_of_e(score[k] - most, (OUT)0);
        share[k] = k < n && power >= 0 ? power : (OUT)0;  // NaN is nothing
        total += share[k];
    }
    const OUT scale = (OUT)1 / total;
#pragma unroll
    for (int k = 0; k < CLASSES; k++) share[k] *= scale;
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

// Whether any cell of two rows is, or some are so large that products of two are; which one it is, and whether, is asked
// then.
__device__ __forceinline__ bool has_no_number(const Cells& one, const Cells& other, TYPE& sum) {
    bool any = false;
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
#if FLOATS && HALF == 0
        sum = fma(one.cell[e], other.cell[e], sum);
#else
        any |= is_no_number(one.cell[e]) || is_no_number(other.cell[e]);
#endif
    }
    return any;
}

// The sums of 32 rows: of each product of 16, the accumulators of a tile, and of a class of ordinary sums the lane's part.
struct Sums { double tile[2][TILES][4], part[2][2]; };

// Add what the columns of a step say for 32 rows. Where a cell is no number its place in `unknown` tells (VECTOR bits for
// each row of the lane): its distance is 0, and so it says nothing here.
template <bool SOME_UNKNOWN> __device__ __forceinline__ void add_step(
    Sums& sums, const Cells (&now)[4], unsigned unknown, const double* anchors, const double2* coefficients,
    const double2* summed
) {
#pragma unroll
    for (int e = 0; e < VECTOR; e++) {
        double t[4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            t[r] = as_double(now[r].cell[e]) - anchors[e];
            if (SOME_UNKNOWN && (unknown >> (r * VECTOR + e) & 1)) t[r] = 0.0;
        }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const double2 b = coefficients[(e * TILES + tile) * 32];
#pragma unroll
            for (int g = 0; g < 4; g += 2)
                multiply(sums.tile[g / 2][tile], t[g], t[g + 1], t[g] * t[g], t[g + 1] * t[g + 1], b);
        }
#if SUMMED
        const double2 b = summed[e * 4];
#pragma unroll
        for (int r = 0; r < 4; r++) sums.part[r / 2][r % 2] = fma(t[r], fma(t[r], b.y, b.x), sums.part[r / 2][r % 2]);
#endif
    }
}

// The whole sums of which the four lanes of a row have parts: that of its own row to each lane.
__device__ __forceinline__ double whole_sum(const double (&part)[2][2], int lane) {
    const bool upper = lane & 2, odd = lane & 1;
    double half[2];
#pragma unroll
    for (int h = 0; h < 2; h++)
        half[h] = (upper ? part[1][h] : part[0][h]) + __shfl_xor_sync(~0u, upper ? part[0][h] : part[1][h], 2);
    const double whole = (odd ? half[1] : half[0]) + __shfl_xor_sync(~0u, odd ? half[0] : half[1], 1);
    return __shfl_sync(~0u, whole, (lane & 7) * 4 + (lane >> 3));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) multiply_polynomials(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const double* __restrict__ column_anchors, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ base,
    const double* __restrict__ prior, int n_classes, int finish, int64* __restrict__ bad, int* __restrict__ n_impossible,
    OUT* __restrict__ out
) {
    extern __shared__ uint4 room[];  // copies (WARPS, STAGES, 32, SLAB)
    double2* coefficients = (double2*)(room + WARPS * STAGES * 32 * SLAB);  // (columns of a step, TILES, 32), of t and t * t
    const int n_steps = (n_columns + STEP * STEPS - 1) / (STEP * STEPS) * STEPS, lane = threadIdx.x & 31, quarter = lane & 3;
    double2* summed = coefficients + n_steps * VECTOR * TILES * 32;  // (columns of a step, 4) where SUMMED
    double* anchors = (double*)(summed + SUMMED * n_steps * STEP);     // (columns)
    double* starts = anchors + n_steps * STEP;                         // (8 * TILES + BESIDE)
    const int chunk = blockIdx.y * CLASSES, n = ALL ? CLASSES : min(CLASSES, n_classes - chunk);
    for (int i = threadIdx.x; i < n_steps * VECTOR * TILES * 32; i += THREADS) {
        const int tile = i / 32 % TILES, e = i / 32 / TILES % VECTOR, step = i / 32 / TILES / VECTOR;
        const int column = step * STEP + (i & 3) * VECTOR + e, k = tile * 8 + i % 32 / 4;
        const bool there = column < n_columns && k < n - BESIDE;
        const double2 c = there ? polynomials[(int64)column * n_classes + chunk + k] : make_double2(0.0, 0.0);
        coefficients[i] = make_double2(c.y, c.x);
    }
    for (int i = threadIdx.x; i < n_steps * STEP; i += THREADS) {
        anchors[i] = i < n_columns ? column_anchors[i] : 0.0;
        if (!SUMMED) continue;
        const int column = i / STEP * STEP + (i & 3) * VECTOR + i / 4 % VECTOR;
        const double2 c = column < n_columns ? polynomials[(int64)column * n_classes + CLASSES - 2] : make_double2(0.0, 0.0);
        summed[i] = make_double2(c.y, c.x);
    }
    for (int k = threadIdx.x; k < 8 * TILES + BESIDE; k += THREADS) starts[k] = k < n ? base[chunk + k] : 0.0;
    __syncthreads();

    const int64 n_groups = (n_rows + 31) / 32, stride = (int64)gridDim.x * WARPS;
    int64 group = (int64)blockIdx.x * WARPS + (threadIdx.x >> 5);
    int64 next_group = group;
    int next_step = 0, next_stage = 0, stage = 0;
    uint4* copies = room + (threadIdx.x >> 5) * STAGES * 32 * SLAB;
    // A row of odd number has the halves of its eighths of chunks exchanged, so that lanes read from different banks.
    const unsigned to = (unsigned)__cvta_generic_to_shared(copies + lane / SLAB * SLAB + (lane % SLAB ^ (lane / SLAB & 1) << 2));
    const uint4* mine = copies + (lane >> 2) * SLAB;
    const int exchanged = (lane >> 2 & 1) << 2;
    auto copy_next = [&]() {  // the next STEPS steps
        const int column = next_step * STEP + lane % SLAB * VECTOR;
        const int64 row = next_group * 32 + lane / SLAB;
        const int n_there = column < n_columns ? (int)min((int64)32, n_rows - row) : 0;  // zeros else
        const TYPE* from = cells + row * row_stride + column;
#pragma unroll
        for (int r = 0; r < 32; r += 32 / SLAB) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + (next_stage * 32 + r) * SLAB * 16),
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
        Sums sums = {};
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const double2 start = ((const double2*)starts)[tile * 4 + quarter];
#pragma unroll
            for (int g = 0; g < 2; g++) {
                sums.tile[g][tile][0] = sums.tile[g][tile][2] = start.x;
                sums.tile[g][tile][1] = sums.tile[g][tile][3] = start.y;
            }
        }
        for (int first = 0; first < n_steps; first += STEPS) {
            __syncwarp();  // all lanes have read what stood in the place of the next copy
            copy_next();
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
            __syncwarp();
            const uint4* here = mine + stage * 32 * SLAB;
            if (++stage == STAGES) stage = 0;
            auto read = [&](Cells (&now)[4], int s) {
#pragma unroll
                for (int r = 0; r < 4; r++) now[r].bits = here[r * 8 * SLAB + ((s * 4 + quarter) ^ exchanged)];
            };
            bool any = false;
            TYPE sum = 0;
#pragma unroll
            for (int s = 0; s < STEPS; s++) {
                Cells now[4];
                read(now, s);
                any |= has_no_number(now[0], now[1], sum);
                any |= has_no_number(now[2], now[3], sum);
            }
            const double* my_anchors = anchors + first * STEP + quarter * VECTOR;
            const double2* b = coefficients + first * VECTOR * TILES * 32 + lane;
            const double2* b_summed = summed + first * STEP + quarter;
            if (!__any_sync(~0u, any || is_no_number(sum))) {
#pragma unroll UNROLLED
                for (int s = 0; s < STEPS; s++) {
                    Cells now[4];
                    read(now, s);
                    add_step<false>(sums, now, 0, my_anchors + s * STEP, b + s * VECTOR * TILES * 32, b_summed + s * STEP);
                }
                continue;
            }
#pragma unroll 1
            for (int s = 0; s < STEPS; s++) {
                const int step = first + s;
                Cells now[4];
                read(now, s);
                unsigned unknown = 0;
#pragma unroll
                for (int i = 0; i < 4 * VECTOR; i++) unknown |= (unsigned)is_no_number(now[i / VECTOR].cell[i % VECTOR]) << i;
                add_step<true>(sums, now, unknown, my_anchors + s * STEP, b + s * VECTOR * TILES * 32, b_summed + s * STEP);
                for (int other = 0; other < 4; other++) {  // what a column says of its anchor was in the start: take it out
                    const unsigned bits = __shfl_sync(~0u, unknown, (lane & ~3) | other);
#pragma unroll
                    for (int r = 0; r < 4; r++) {
                        for (int e = 0; e < VECTOR; e++) {
                            if (!(bits >> (r * VECTOR + e) & 1)) continue;
                            const int64 column = step * STEP + other * VECTOR + e;
                            const int64 row = group * 32 + r * 8 + (lane >> 2);
                            const double* constant = constants + column * n_classes + chunk;
                            if (other == quarter && !is_missing(cells[row * row_stride + column]))
                                atomicMin(bad, row * n_columns + column);
#pragma unroll
                            for (int i = 0; i < 2 * TILES; i++) {
                                const int k = i / 2 * 8 + 2 * quarter + i % 2;
                                if (k < n - BESIDE) sums.tile[r / 2][i / 2][r % 2 * 2 + i % 2] -= constant[k];
                            }
                            if (SUMMED && quarter == 0) sums.part[r / 2][r % 2] -= constant[CLASSES - 2];
                        }
                    }
                }
            }
        }
        // -- a lane takes a row, through the place of a copy that has been read; rows are shifted to different banks
        double2* scores = (double2*)(copies + (stage ? stage - 1 : STAGES - 1) * 32 * SLAB);  // (32, 4 * TILES)
        auto place = [&](int row, int i) { return row * 4 * TILES + (i ^ (((row & 1) << 2 | (row >> 1 & 3)) & (4 * TILES - 1))); };
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 4 * TILES; i++) {
            const int tile = i / 4, r = i % 4;
            const double (&of)[4] = sums.tile[r / 2][tile];
            scores[place(r * 8 + (lane >> 2), tile * 4 + quarter)] = make_double2(of[r % 2 * 2], of[r % 2 * 2 + 1]);
        }
        __syncwarp();
        double score[CLASSES];
        OUT answer[CLASSES];
#pragma unroll
        for (int k = 0; k < CLASSES - BESIDE; k += 2) {
            const double2 both = scores[place(lane, k / 2)];
            score[k] = both.x;
            if (k + 1 < CLASSES - BESIDE) score[k + 1] = both.y;
        }
#if SUMMED
        score[CLASSES - 2] = starts[CLASSES - 2] + whole_sum(sums.part, lane);
#endif
#if BESIDE
        score[CLASSES - 1] = starts[CLASSES - 1];
#endif
        if (finish) {
            const bool possible = to_probabilities(score, answer, n, prior);
            if (!possible && group * 32 + lane < n_rows) atomicAdd(n_impossible, 1);
        } else {
#pragma unroll
            for (int k = 0; k < CLASSES; k++) answer[k] = (OUT)(isnan(score[k]) ? LOWEST : score[k]);  // NaN: inf - inf
        }
        OUT* answers = (OUT*)scores;  // (32, CLASSES)
        __syncwarp();
#pragma unroll
        for (int k = 0; k < CLASSES; k++) answers[lane * CLASSES + k] = answer[k];
        __syncwarp();
        OUT* at = out + group * 32 * n_classes + chunk;
        if (ALL && group * 32 + 32 <= n_rows) {
#pragma unroll
            for (int p = 0; p < 2 * CLASSES * (int)sizeof(OUT); p += 32)
                if (p + lane < 2 * CLASSES * (int)sizeof(OUT)) ((uint4*)at)[p + lane] = ((const uint4*)answers)[p + lane];
            continue;
        }
        const int n_here = (int)min((int64)32, n_rows - group * 32) * CLASSES;
        for (int i = lane; i < n_here; i += 32)
            if (i % CLASSES < n) at[i / CLASSES * n_classes + i % CLASSES] = answers[i];
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}
