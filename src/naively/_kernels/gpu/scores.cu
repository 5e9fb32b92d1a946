// Evidence of dense rows, added up over the columns, with the prior, to what is asked for.
//
// A block reads a tile of rows and columns into shared memory; a thread has some rows and a chunk of the classes. What a
// column says is one of: a polynomial of the second degree in the distance of x to the column's anchor; or a table that is
// looked up by x: labels (exactly equal), steps (the last cut that is not above x) or a curve (between two knots).
//
// The host puts before the source, beside the names of cells.cuh:
//   CLASSES   classes of a chunk, in registers
//   ROWS      rows of a thread
//   OUT       the type of the answers
// and for each formula that is no polynomial, a function `formula` of its number, of x, and of its parameters.

#define THREADS 128
#define TILE_COLUMNS (sizeof(TYPE) > 4 ? 8 : 16)

struct Column {
    int kind;         // 0: polynomial, 1: labels, 2: steps, 3: curve, 4: nothing, 5: another formula
    int size;         // entries of `points`; the number of the formula
    int64 position;   // in a row; -1: the table does not have the column
    int64 points;     // where its values, cuts or knots begin
    int64 table;      // where its evidence begins, (entries + 2, n_classes): the entries, then unknown, then missing
    double anchor;
    int64 least;      // cells that are refused beside infinite ones: 0: none, 1: those below 0, 2: those not above 0
};

// Remember the first cell that no family reads.
__device__ __forceinline__ void check(TYPE cell, const Column& column, int64 place, int64* bad) {
    if (is_missing(cell)) return;
#if FLOATS
    const bool infinite = isinf(as_double(cell));
#else
    const bool infinite = false;
#endif
    if (infinite || (column.least && (column.least == 1 ? as_double(cell) < 0 : as_double(cell) <= 0))) atomicMin(bad, place);
}

// The number of points that are no larger than x.
__device__ __forceinline__ int count_up_to(const double* points, int size, double x) {
    int low = 0, high = size;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (points[middle] <= x) low = middle + 1; else high = middle;
    }
    return low;
}

// Add what a cell says for CLASSES classes from `chunk` on.
__device__ __forceinline__ void add_evidence(
    double (&scores)[CLASSES], const Column& column, TYPE cell, const double2* polynomial, const double* constants,
    const double* points, const double* tables, int chunk, int n_classes
) {
    if (column.kind == 4) return;
    const bool missing = column.position < 0 || is_missing(cell);
    if (column.kind == 0) {
        if (missing) {
            for (int k = 0; k < CLASSES; k++) scores[k] -= constants[k];
            return;
        }
        const double x = as_double(cell) - column.anchor;
#pragma unroll
        for (int k = 0; k < CLASSES; k++) {
            const double2 c = polynomial[k];
            scores[k] = fma(fma(c.x, x, c.y), x, scores[k]);
        }
        return;
    }
    const double x = missing ? 0.0 : as_double(cell);
    if (column.kind == 5) {
        if (missing) return;
        // parameters: (parameters, n_classes)
        for (int k = 0; k < CLASSES; k++)
            if (chunk + k < n_classes) scores[k] += formula(column.size, x, tables + column.table + chunk + k, n_classes);
        return;
    }
    const double* at = points + column.points;
    int entry = column.size + 1;  // missing
    double share = 0.0;
    if (column.kind == 2) entry = column.size + 2;
    if (!missing) {
        const int below = count_up_to(at, column.size, x);
        if (column.kind == 1) entry = below > 0 && at[below - 1] == x ? below - 1 : column.size;
        else if (column.kind == 2) entry = below;
        else {
            entry = min(max(below - 1, 0), max(column.size - 2, 0));
            const double left = at[entry], right = at[min(entry + 1, column.size - 1)];
            share = right > left ? fmin(fmax((x - left) / (right - left), 0.0), 1.0) : 0.0;
        }
    }
    const double* row = tables + column.table + (int64)entry * n_classes + chunk;
    const int n = min(CLASSES, n_classes - chunk);
    if (column.kind == 3 && !missing) {
        const double* next = column.size > 1 ? row + n_classes : row;
#pragma unroll
        for (int k = 0; k < CLASSES; k++) if (k < n) scores[k] += (1.0 - share) * row[k] + share * next[k];
    } else {
#pragma unroll
        for (int k = 0; k < CLASSES; k++) if (k < n) scores[k] += row[k];
    }
}

// Shared memory that first holds cells and then answers.
template <typename Cells, int n_columns> union Room {
    Cells cells[n_columns];
    OUT staged[THREADS * CLASSES];
};

// Turn scores into what is asked for, and write them, through shared memory, so that neighbours write neighbours.
__device__ __forceinline__ void finish_rows(
    double (&scores)[ROWS][CLASSES], int64 start, int64 n_rows, int chunk, int n_classes, const double* prior, int finish,
    int* n_impossible, OUT* staged, OUT* __restrict__ out
) {
    const int n = min(CLASSES, n_classes - chunk);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int64 first = start + r * THREADS, row = first + threadIdx.x;
        if (finish && row < n_rows) {  // one chunk holds all classes
            const double lowest = __longlong_as_double(0xfff0000000000000LL);
            double best = lowest;
#pragma unroll
            for (int k = 0; k < CLASSES; k++) if (k < n) best = fmax(best, scores[r][k]);
            if (best == lowest) {  // no class could have produced the row: the answer is the prior
                atomicAdd(n_impossible, 1);
#pragma unroll
                for (int k = 0; k < CLASSES; k++) if (k < n) { scores[r][k] = prior[k]; best = fmax(best, prior[k]); }
            }
            OUT total = 0;
            OUT share[CLASSES];
#pragma unroll
            for (int k = 0; k < CLASSES; k++) if (k < n) { share[k] = exp((OUT)(scores[r][k] - best)); total += share[k]; }
            const OUT scale = (OUT)1 / total;
#pragma unroll
            for (int k = 0; k < CLASSES; k++) if (k < n) scores[r][k] = (double)(share[k] * scale);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < CLASSES; k++) if (k < n) staged[threadIdx.x * n + k] = (OUT)scores[r][k];
        __syncthreads();
        const int n_here = (int)max((int64)0, min((int64)THREADS, n_rows - first));
        for (int i = threadIdx.x; i < n_here * n; i += THREADS) out[(first + i / n) * n_classes + chunk + i % n] = staged[i];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) add_scores(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const Column* __restrict__ columns, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ points,
    const double* __restrict__ tables, const double* __restrict__ base, const double* __restrict__ prior, int n_classes,
    int finish, int64* __restrict__ bad, int* __restrict__ n_impossible, OUT* __restrict__ out
) {
    typedef TYPE Cells[THREADS * ROWS + 1];
    __shared__ Room<Cells, TILE_COLUMNS> room;
    Cells* tile = room.cells;
    __shared__ double2 coefficients[TILE_COLUMNS][CLASSES];
    __shared__ double at_anchor[TILE_COLUMNS][CLASSES];
    __shared__ Column described[TILE_COLUMNS];
    const int chunk = blockIdx.y * CLASSES, n = min(CLASSES, n_classes - chunk);
    const int64 start = (int64)blockIdx.x * THREADS * ROWS;
    double scores[ROWS][CLASSES];
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < CLASSES; k++) scores[r][k] = k < n ? base[chunk + k] : 0.0;

    for (int first = 0; first < n_columns; first += TILE_COLUMNS) {
        const int width = min(TILE_COLUMNS, n_columns - first);
        __syncthreads();
        for (int i = threadIdx.x; i < width; i += THREADS) described[i] = columns[first + i];
        for (int i = threadIdx.x; i < width * CLASSES; i += THREADS) {
            const int j = i / CLASSES, k = i % CLASSES;
            const int64 at = (int64)(first + j) * n_classes + chunk + k;
            coefficients[j][k] = k < n ? polynomials[at] : make_double2(0.0, 0.0);
            at_anchor[j][k] = k < n ? constants[at] : 0.0;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < THREADS * ROWS * TILE_COLUMNS; i += THREADS) {
            const int r = i / TILE_COLUMNS, j = i % TILE_COLUMNS;
            if (j >= width || start + r >= n_rows || described[j].position < 0) continue;
            const TYPE cell = __ldcs(cells + (start + r) * row_stride + described[j].position);
            check(cell, described[j], (start + r) * n_columns + first + j, bad);
            tile[j][r] = cell;
        }
        __syncthreads();
        for (int j = 0; j < width; j++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                add_evidence(scores[r], described[j], tile[j][r * THREADS + threadIdx.x], coefficients[j], at_anchor[j],
                             points, tables, chunk, n_classes);
        }
    }
    finish_rows(scores, start, n_rows, chunk, n_classes, prior, finish, n_impossible, room.staged, out);
}

// Copy a cell to shared memory; cells of 4 and 8 bytes on their own way, so that many are under way at once.
__device__ __forceinline__ void copy_cell(TYPE* to, const TYPE* from) {
    if (sizeof(TYPE) == 4 || sizeof(TYPE) == 8) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
                     "n"(sizeof(TYPE) == 8 ? 8 : 4));
    } else {
        *to = __ldcs(from);
    }
}

__device__ __forceinline__ void wait_for_copies() {
    if (sizeof(TYPE) == 4 || sizeof(TYPE) == 8) asm volatile("cp.async.wait_all;" ::: "memory");
}

// Where all columns are polynomials and stand in the order of the table: the usual case, without a look at what they are.
extern "C" __global__ void __launch_bounds__(THREADS) add_polynomials(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const Column* __restrict__ columns, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ points,
    const double* __restrict__ tables, const double* __restrict__ base, const double* __restrict__ prior, int n_classes,
    int finish, int64* __restrict__ bad, int* __restrict__ n_impossible, OUT* __restrict__ out
) {
    constexpr int width_of_tile = sizeof(TYPE) * ROWS > 8 ? 16 : 32;
    typedef TYPE Cells[THREADS * ROWS + 1];
    __shared__ Room<Cells, width_of_tile> room;
    Cells* tile = room.cells;
    __shared__ double2 coefficients[width_of_tile][CLASSES];
    __shared__ double anchors[width_of_tile];
    const int chunk = blockIdx.y * CLASSES, n = min(CLASSES, n_classes - chunk);
    const int64 start = (int64)blockIdx.x * THREADS * ROWS;
    double scores[ROWS][CLASSES];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int k = 0; k < CLASSES; k++) scores[r][k] = k < n ? base[chunk + k] : 0.0;

    for (int first = 0; first < n_columns; first += width_of_tile) {
        const int width = min(width_of_tile, n_columns - first);
        __syncthreads();
        for (int i = threadIdx.x; i < width * CLASSES; i += THREADS) {
            const int j = i / CLASSES, k = i % CLASSES;
            coefficients[j][k] = k < n ? polynomials[(int64)(first + j) * n_classes + chunk + k] : make_double2(0.0, 0.0);
        }
        for (int i = threadIdx.x; i < width; i += THREADS) anchors[i] = columns[first + i].anchor;
        const int column = threadIdx.x % width_of_tile;
        if (column < width) {
            constexpr int step = THREADS / width_of_tile;
            const TYPE* from = cells + (start + threadIdx.x / width_of_tile) * row_stride + first + column;
#pragma unroll 16
            for (int r = threadIdx.x / width_of_tile; r < THREADS * ROWS; r += step) {
                if (start + r < n_rows) copy_cell(&tile[column][r], from);
                from += step * row_stride;
            }
        }
        wait_for_copies();
        __syncthreads();
        for (int j = 0; j < width; j++) {
            double x[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const TYPE cell = tile[j][r * THREADS + threadIdx.x];
                x[r] = as_double(cell) - anchors[j];
#if FLOATS
                if (!(fabs(x[r]) < 1.7976931348623157e308)) {  // missing, or infinite
                    const int64 row = start + r * THREADS + threadIdx.x;
                    if (row < n_rows && !is_missing(cell)) atomicMin(bad, row * n_columns + first + j);
                    for (int k = 0; k < CLASSES; k++)
                        if (k < n) scores[r][k] -= constants[(int64)(first + j) * n_classes + chunk + k];
                    x[r] = 0.0;
                }
#endif
            }
#pragma unroll
            for (int k = 0; k < CLASSES; k++) {
                const double2 c = coefficients[j][k];
#pragma unroll
                for (int r = 0; r < ROWS; r++) scores[r][k] = fma(fma(c.x, x[r], c.y), x[r], scores[r][k]);
            }
        }
    }
    finish_rows(scores, start, n_rows, chunk, n_classes, prior, finish, n_impossible, room.staged, out);
}

// The evidence of every cell, (rows, columns, classes).
extern "C" __global__ void cell_evidence(
    const TYPE* __restrict__ cells, int64 row_stride, int64 n_rows, const Column* __restrict__ columns, int n_columns,
    const double2* __restrict__ polynomials, const double* __restrict__ constants, const double* __restrict__ points,
    const double* __restrict__ tables, int n_classes, int64* __restrict__ bad, double* __restrict__ out
) {
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows * n_columns; i += step) {
        const int64 row = i / n_columns;
        const int j = (int)(i % n_columns);
        const Column column = columns[j];
        TYPE cell = column.position < 0 ? (TYPE)0 : cells[row * row_stride + column.position];
        if (column.position >= 0) check(cell, column, i, bad);
        for (int chunk = 0; chunk < n_classes; chunk += CLASSES) {
            double scores[CLASSES];
            double2 polynomial[CLASSES];
            double constant[CLASSES];
            for (int k = 0; k < CLASSES; k++) {
                const bool there = chunk + k < n_classes;
                polynomial[k] = there ? polynomials[(int64)j * n_classes + chunk + k] : make_double2(0.0, 0.0);
                constant[k] = there ? constants[(int64)j * n_classes + chunk + k] : 0.0;
                scores[k] = column.kind == 0 ? constant[k] : 0.0;
            }
            add_evidence(scores, column, cell, polynomial, constant, points, tables, chunk, n_classes);
            for (int k = 0; k < CLASSES; k++) if (chunk + k < n_classes) out[i * n_classes + chunk + k] = scores[k];
        }
    }
}
