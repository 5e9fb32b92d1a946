// Sums and sums of squares of columns, per class, at about the speed of reading the cells once.
//
// A block takes a tile of rows and sorts them by class in shared memory, the row numbers alone, so that each warp adds
// rows of one class in registers and writes them out only where the class changes: the cost hardly grows with the number
// of classes. A lane has two columns. Everything is added in an order that depends on the rows alone, so the result is
// the same to the last bit in every run: the rows of a class keep their order; a class whose rows begin or end in the
// middle of a warp's share is added up after the tile by one thread per column, warp by warp.
//
// Cells are taken relative to an anchor, a typical number of the column in the class, so that squares do not cancel.
//
// The host puts before the source, beside the names of cells.cuh:
//   WARPS, TILE, UNROLL   the warps of a block, the most rows of a tile, the rows that a lane loads at once
//   BLOCKS                the blocks that a multiprocessor is to run at once
//   IN_SHARED             1 if the sums of a block are in shared memory, 0 if in its part of `scratch`
//   WEIGHTED              1 if rows have weights; then the weight of the known cells is a third sum
//   NEIGHBOURS            1 if the columns are the first of the table, in its order
//   PAIRS                 1 if a lane's two columns are neighbours that one load brings
//   EXACT                 1 if what rounding leaves out is kept beside every sum, as on the host: the result then is, but
//                         for the last of some 100 bits, the sum itself

#define STRIP 64
#define CODES (TILE / WARPS / 32)  // rows of a tile that a lane sorts
#define SUMS (WEIGHTED ? 3 : 2)
#define PARTS (EXACT ? 2 * SUMS : SUMS)

struct Lane { double high[SUMS][2], low[SUMS][2]; };
template <int n_bytes> struct Word;
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<16> { typedef uint4 type; };
union Pair {
    Word<2 * sizeof(TYPE)>::type word;
    TYPE cell[2];
};

// Add a number to a sum; what rounding leaves out goes to `low` where it is kept.
__device__ __forceinline__ void add_to(double& high, double& low, double term, double error) {
#if EXACT
    const double total = high + term, rounded = total - high;
    low += ((high - (total - rounded)) + (term - rounded)) + error;
    high = total;
#else
    high += term;
#endif
}

__device__ __forceinline__ void add_cell(Lane& lane, int side, TYPE cell, double anchor, double weight, int& n_missing) {
    if (is_missing(cell)) {
        n_missing++;
        return;
    }
    const double value = as_double(cell), distance = value - anchor;
#if EXACT
    const double taken = distance - value;  // what is left out of the distance, and of the products below
    const double left = (value - (distance - taken)) - (anchor + taken);
#if WEIGHTED
    const double weighed = weight * distance, rest = fma(weight, distance, -weighed) + weight * left;
#else
    const double weighed = distance, rest = left;
#endif
    const double product = weighed * distance;
    add_to(lane.high[0][side], lane.low[0][side], weighed, rest);
    add_to(lane.high[1][side], lane.low[1][side], product,
           fma(weighed, distance, -product) + rest * distance + weighed * left);
#if WEIGHTED
    add_to(lane.high[2][side], lane.low[2][side], weight, 0.0);
#endif
#elif WEIGHTED
    const double weighed = weight * distance;
    lane.high[0][side] += weighed;
    lane.high[1][side] = fma(weighed, distance, lane.high[1][side]);
    lane.high[2][side] += weight;
#else
    lane.high[0][side] += distance;
    lane.high[1][side] = fma(distance, distance, lane.high[1][side]);
#endif
}

// Where a block's sum of a class and a column of the strip is.
__device__ __forceinline__ double* place_of(double* sums, int64 stride, int code, int part, int column) {
#if IN_SHARED
    return sums + (code * PARTS + part) * STRIP + column;
#else
    return sums + ((int64)part * stride) + (int64)code * STRIP + column;
#endif
}

// Add to a block's sum of a class and a column.
__device__ __forceinline__ void add_part(
    double* sums, int64 stride, int code, int part, int column, double high, double low
) {
    double* at = place_of(sums, stride, code, part, column);
#if EXACT
    double* rest = place_of(sums, stride, code, SUMS + part, column);
    double total = *at, error = *rest;
    add_to(total, error, high, low);
    *at = total;
    *rest = error;
#elif IN_SHARED
    *at += high;
#else
    atomicAdd(at, high);  // nobody waits for it; one after the other adds to it, a barrier between, so the order is fixed
#endif
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, BLOCKS) class_moments(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, const double* __restrict__ weights, const double* __restrict__ anchors, int64 n_rows,
    int n_classes, int tile, double* __restrict__ scratch, uint64* __restrict__ missing
) {
    extern __shared__ double shared[];
    double* border = shared;                                       // (WARPS, 2, PARTS, STRIP)
    double* own = border + WARPS * 2 * PARTS * STRIP;              // (n_classes, PARTS, STRIP) where IN_SHARED
    int* first = (int*)(own + (IN_SHARED ? n_classes * PARTS * STRIP : 0));  // (n_classes + 1)
    int* border_class = first + n_classes + 1;                     // (WARPS, 2)
    unsigned short* of_warp = (unsigned short*)(border_class + WARPS * 2);   // (WARPS, n_classes)
    unsigned short* order = of_warp + WARPS * n_classes;           // (TILE)

    const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    const int strip = blockIdx.y * STRIP;
    const int n_strips = gridDim.y;
    // a block's part of scratch: (blocks, strips, PARTS, n_classes, STRIP)
    double* mine = scratch + ((int64)blockIdx.x * n_strips + blockIdx.y) * PARTS * n_classes * STRIP;
    const int64 stride = (int64)n_classes * STRIP;
#if IN_SHARED
    double* sums = own;
    for (int i = thread; i < n_classes * PARTS * STRIP; i += WARPS * 32) own[i] = 0.0;
#else
    double* sums = mine;
#endif
    const int place[2] = {PAIRS ? 2 * lane : lane, PAIRS ? 2 * lane + 1 : lane + 32};
    const bool on[2] = {strip + place[0] < n_columns, strip + place[1] < n_columns};
    int64 offset[2];
    for (int side = 0; side < 2; side++)
        offset[side] = NEIGHBOURS ? strip + place[side] : on[side] ? columns[strip + place[side]] : 0;

    for (int64 start = (int64)blockIdx.x * tile; start < n_rows; start += (int64)gridDim.x * tile) {
        const int n = (int)min((int64)tile, n_rows - start);

        // -- the rows of the tile in the order of their classes
        int code_of[CODES];  // then the rank among the warp's rows of the class, too
#pragma unroll
        for (int u = 0; u < CODES; u++) {
            const int row = warp * (TILE / WARPS) + 32 * u + lane;
            code_of[u] = row < n ? codes[start + row] : -1;
        }
        for (int i = thread; i < WARPS * n_classes; i += WARPS * 32) of_warp[i] = 0;
        __syncthreads();
#pragma unroll
        for (int u = 0; u < CODES; u++) {
            const unsigned peers = __match_any_sync(~0u, code_of[u]);
            unsigned short* count = of_warp + warp * n_classes + max(code_of[u], 0);
            const int before = *count;
            __syncwarp();
            if (code_of[u] >= 0) {
                if (lane == __ffs(peers) - 1) *count = before + __popc(peers);
                code_of[u] |= (before + __popc(peers & ((1u << lane) - 1))) << 16;
            }
            __syncwarp();
        }
        __syncthreads();
        for (int code = thread; code < n_classes; code += WARPS * 32) {
            int before = 0;
            for (int w = 0; w < WARPS; w++) {
                int here = of_warp[w * n_classes + code];
                of_warp[w * n_classes + code] = before;
                before += here;
            }
            first[code] = before;
        }
        __syncthreads();
        if (warp == 0) {
            int carry = 0;
            for (int base = 0; base <= n_classes; base += 32) {
                int code = base + lane, here = code < n_classes ? first[code] : 0, up = here;
                for (int step = 1; step < 32; step <<= 1) {
                    int below = __shfl_up_sync(~0u, up, step);
                    if (lane >= step) up += below;
                }
                if (code <= n_classes) first[code] = carry + up - here;
                carry += __shfl_sync(~0u, up, 31);
            }
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < CODES; u++) {
            if (code_of[u] < 0) continue;
            const int code = code_of[u] & 0xffff, rank = code_of[u] >> 16;
            order[first[code] + of_warp[warp * n_classes + code] + rank] = warp * (TILE / WARPS) + 32 * u + lane;
        }
        __syncthreads();

        // -- each warp adds its share of the ordered rows
        const int known = first[n_classes];
        const int begin = (int)((int64)known * warp / WARPS), end = (int)((int64)known * (warp + 1) / WARPS);
        if (lane < 2) border_class[warp * 2 + lane] = -1;
        int i = begin, code = 0;
        if (begin < end) {
            int low = 0, high = n_classes;  // the class of row i: the last that begins no later and has rows
            while (high - low > 1) {
                int middle = (low + high) / 2;
                if (first[middle] <= i) low = middle; else high = middle;
            }
            code = low;
        }
        auto load = [&](int at, double& weight) {
            const int64 row = start + order[at];
            const TYPE* from = cells + row * row_stride;
            Pair pair = {};
#if PAIRS
            if (on[1]) pair.word = __ldcs((const Word<2 * sizeof(TYPE)>::type*)(from + offset[0]));
#else
            if (on[0]) pair.cell[0] = __ldcs(from + offset[0]);
            if (on[1]) pair.cell[1] = __ldcs(from + offset[1]);
#endif
            weight = WEIGHTED ? weights[row] : 1.0;
            return pair;
        };
        while (i < end) {
            while (first[code + 1] <= i) code++;
            const int stop = min(first[code + 1], end);
            Lane lane_sums = {};
            int n_missing[2] = {0, 0};
            double anchor[2];
            for (int side = 0; side < 2; side++)
                anchor[side] = on[side] ? anchors[(int64)code * n_columns + strip + place[side]] : 0.0;
            for (; i < stop; i += UNROLL) {
                Pair loaded[UNROLL];
                double weight[UNROLL];
                bool all_known = on[1] && i + UNROLL <= stop;
#pragma unroll
                for (int u = 0; u < UNROLL; u++) loaded[u] = load(min(i + u, stop - 1), weight[u]);
#pragma unroll
                for (int u = 0; u < UNROLL; u++) all_known &= !is_missing(loaded[u].cell[0]) & !is_missing(loaded[u].cell[1]);
                if (all_known) {  // as a rule
                    int none = 0;
#pragma unroll
                    for (int u = 0; u < UNROLL; u++)
#pragma unroll
                        for (int side = 0; side < 2; side++)
                            add_cell(lane_sums, side, loaded[u].cell[side], anchor[side], weight[u], none);
                    continue;
                }
#pragma unroll
                for (int u = 0; u < UNROLL; u++) {
                    if (i + u >= stop) break;
#pragma unroll
                    for (int side = 0; side < 2; side++)
                        if (on[side]) add_cell(lane_sums, side, loaded[u].cell[side], anchor[side], weight[u], n_missing[side]);
                }
            }
            i = stop;
            for (int side = 0; side < 2; side++)
                if (n_missing[side])
                    atomicAdd(&missing[(int64)code * n_columns + strip + place[side]], (uint64)n_missing[side]);
            // A class that other warps have rows of, too, waits for the end of the tile.
            const bool alone = first[code] >= begin && first[code + 1] <= end;
            const int slot = warp * 2 + (first[code] <= begin ? 0 : 1);
            double* to = border + slot * PARTS * STRIP;
            if (!alone && lane == 0) border_class[slot] = code;
#pragma unroll
            for (int part = 0; part < SUMS; part++)
#pragma unroll
                for (int side = 0; side < 2; side++) {
                    if (alone) {
                        add_part(sums, stride, code, part, place[side], lane_sums.high[part][side], lane_sums.low[part][side]);
                    } else {
                        to[part * STRIP + place[side]] = lane_sums.high[part][side];
                        if (EXACT) to[(SUMS + part) * STRIP + place[side]] = lane_sums.low[part][side];
                    }
                }
        }
        __syncthreads();
        for (int item = thread; item < SUMS * STRIP; item += WARPS * 32) {
            const int part = item / STRIP, column = item % STRIP;
            for (int slot = 0; slot < WARPS * 2; slot++) {
                const double* from = border + slot * PARTS * STRIP + item;
                if (border_class[slot] >= 0)
                    add_part(sums, stride, border_class[slot], part, column, *from, EXACT ? from[SUMS * STRIP] : 0.0);
            }
        }
        __syncthreads();
    }
#if IN_SHARED
    for (int item = thread; item < n_classes * PARTS * STRIP; item += WARPS * 32) {
        const int code = item / (PARTS * STRIP), part = item / STRIP % PARTS, column = item % STRIP;
        mine[part * stride + (int64)code * STRIP + column] = own[item];
    }
#endif
}

// Add up the parts of all blocks, a warp for each sum, in an order that the number of blocks alone decides; what rounding
// leaves out is kept.
extern "C" __global__ void merge_blocks(
    const double* __restrict__ scratch, int n_blocks, int n_strips, int n_classes, int n_columns,
    double* __restrict__ high, double* __restrict__ low
) {
    const int64 item = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;  // (part, class, column)
    const int lane = threadIdx.x & 31;
    if (item >= (int64)SUMS * n_classes * n_columns) return;
    const int column = item % n_columns, code = item / n_columns % n_classes, part = item / n_columns / n_classes;
    const int64 strip_size = (int64)PARTS * n_classes * STRIP;
    const double* at = scratch + (column / STRIP) * strip_size + ((int64)part * n_classes + code) * STRIP + column % STRIP;
    double total = 0.0, error = 0.0;
    for (int block = lane; block < n_blocks; block += 32) {
        const double* here = at + (int64)block * n_strips * strip_size;
        const double term = *here, rest = EXACT ? here[(int64)SUMS * n_classes * STRIP] : 0.0;
        const double sum = total + term, rounded = sum - total;
        error += ((total - (sum - rounded)) + (term - rounded)) + rest;
        total = sum;
    }
    for (int step = 16; step; step >>= 1) {
        const double term = __shfl_down_sync(~0u, total, step), rest = __shfl_down_sync(~0u, error, step);
        const double sum = total + term, rounded = sum - total;
        error += ((total - (sum - rounded)) + (term - rounded)) + rest;
        total = sum;
    }
    if (lane == 0) {
        high[item] = total;
        low[item] = error;
    }
}

// The cells of the first row of each class among rows that are `step` apart, 0 where there is none or it is no finite
// number; and zeros in `missing`. Every block looks for all classes, until they are found, and has its share of the cells.
extern "C" __global__ void __launch_bounds__(1024) first_cells(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, int64 step, int n_rows, int n_classes, double* __restrict__ anchors,
    uint64* __restrict__ missing
) {
    extern __shared__ int row_of[];  // (n_classes)
    __shared__ int n_found;
    if (threadIdx.x == 0) n_found = 0;
    for (int code = threadIdx.x; code < n_classes; code += blockDim.x) row_of[code] = n_rows;
    __syncthreads();
    for (int base = threadIdx.x; ; base += 4 * blockDim.x) {
        int code[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int row = base + u * blockDim.x;
            code[u] = row < n_rows ? codes[row * step] : -1;
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int row = base + u * blockDim.x;
            if (code[u] >= 0 && row < row_of[code[u]] && atomicMin(&row_of[code[u]], row) == n_rows) atomicAdd(&n_found, 1);
        }
        __syncthreads();
        const bool done = n_found == n_classes || base - (int)threadIdx.x + 4 * (int)blockDim.x >= n_rows;
        __syncthreads();
        if (done) break;
    }
    for (int item = blockIdx.x * blockDim.x + threadIdx.x; item < n_classes * n_columns; item += gridDim.x * blockDim.x) {
        const int row = row_of[item / n_columns], column = item % n_columns;
        const int64 place = NEIGHBOURS ? column : columns[column];
        const double anchor = row < n_rows ? as_double(cells[row * step * row_stride + place]) : 0.0;
        anchors[item] = fabs(anchor) < 1.7976931348623157e308 ? anchor : 0.0;
        missing[item] = 0;
    }
}
