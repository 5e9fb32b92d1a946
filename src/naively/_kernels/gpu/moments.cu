// Sums and sums of squares of columns, per class, at about the speed of reading the cells once.
//
// A block takes a tile of rows and sorts them by class in shared memory, the row numbers alone, so that each warp adds
// rows of one class in registers and writes them out only where the class changes: the cost hardly grows with the number
// of classes. A warp has two columns per lane. Everything is added in an order that depends on the rows alone, so the
// result is the same to the last bit in every run: the rows of a class keep their order; a class whose rows begin or end
// in the middle of a warp's share is added up after the tile by one thread per column, warp by warp.
//
// Cells are taken relative to an anchor, a typical number of the column in the class, so that squares do not cancel.
//
// The host puts before the source, beside the names of cells.cuh:
//   WARPS, TILE, UNROLL   the warps of a block, the rows of a tile, the rows that a lane loads at once
//   IN_SHARED             1 if the sums of a block are in shared memory, 0 if in its part of `scratch`
//   WEIGHTED              1 if rows have weights; then the weight of the known cells is a third sum
//   PAIRS                 1 if a lane's two columns are neighbours that one load brings
//   EXACT                 1 if what rounding leaves out is kept beside every sum, as on the host: the result then is, but
//                         for the last of some 100 bits, the sum itself

#define STRIP 64
#define CODES 16  // classes of rows that a lane loads at once; TILE is a multiple of 32 * CODES * WARPS
#define SUMS (WEIGHTED ? 3 : 2)
#define PARTS (EXACT ? 2 * SUMS : SUMS)

struct Lane { double high[SUMS][2], low[SUMS][2]; };

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

// Add the cells of a lane's two columns; that both are known is the rule, and is asked once.
__device__ __forceinline__ void add_cells(
    Lane& lane, TYPE (&cell)[2], const bool (&on)[2], const double (&anchor)[2], double weight, int (&n_missing)[2]
) {
#if PAIRS
    if (!on[0]) return;
    if (!is_missing(cell[0]) && !is_missing(cell[1])) {
        int none = 0;
        add_cell(lane, 0, cell[0], anchor[0], weight, none);
        add_cell(lane, 1, cell[1], anchor[1], weight, none);
        return;
    }
#endif
    for (int side = 0; side < 2; side++)
        if (on[side]) add_cell(lane, side, cell[side], anchor[side], weight, n_missing[side]);
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

// The classes of rows that a lane has, all asked for at once: -1 past the last row.
__device__ __forceinline__ void take_codes(int (&code)[CODES], const int* codes, int row, int n) {
#pragma unroll
    for (int u = 0; u < CODES; u++) code[u] = row + 32 * u < n ? codes[row + 32 * u] : -1;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, EXACT || WEIGHTED ? 1 : 32 / WARPS) class_moments(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns,
    const int* __restrict__ codes, const double* __restrict__ weights, const double* __restrict__ anchors, int64 n_rows,
    int n_classes, double* __restrict__ scratch, uint64* __restrict__ missing
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
#if PAIRS
    const int place[2] = {2 * lane, 2 * lane + 1};
#else
    const int place[2] = {lane, lane + 32};
#endif
    const bool on[2] = {strip + place[0] < n_columns, strip + place[1] < n_columns};
#if !PAIRS
    int64 offset[2];
    for (int side = 0; side < 2; side++) offset[side] = on[side] ? columns[strip + place[side]] : 0;
#endif

    for (int64 start = (int64)blockIdx.x * TILE; start < n_rows; start += (int64)gridDim.x * TILE) {
        const int n = (int)min((int64)TILE, n_rows - start);

        // -- the rows of the tile in the order of their classes
        for (int i = thread; i < WARPS * n_classes; i += WARPS * 32) of_warp[i] = 0;
        __syncthreads();
        const int share = TILE / WARPS;
        for (int group = 0; group < share; group += 32 * CODES) {
            int code[CODES];
            take_codes(code, codes + start, warp * share + group + lane, n);
#pragma unroll
            for (int u = 0; u < CODES; u++) {
                unsigned peers = __match_any_sync(~0u, code[u]);
                if (code[u] >= 0 && lane == __ffs(peers) - 1) of_warp[warp * n_classes + code[u]] += __popc(peers);
                __syncwarp();
            }
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
        for (int group = 0; group < share; group += 32 * CODES) {
            int code[CODES];
            take_codes(code, codes + start, warp * share + group + lane, n);
#pragma unroll
            for (int u = 0; u < CODES; u++) {
                unsigned peers = __match_any_sync(~0u, code[u]);
                if (code[u] >= 0) {
                    int rank = of_warp[warp * n_classes + code[u]] + __popc(peers & ((1u << lane) - 1));
                    order[first[code[u]] + rank] = (unsigned short)(warp * share + group + 32 * u + lane);
                }
                __syncwarp();
                if (code[u] >= 0 && lane == __ffs(peers) - 1) of_warp[warp * n_classes + code[u]] += __popc(peers);
                __syncwarp();
            }
        }
        __syncthreads();

        // -- each warp adds its share of the ordered rows
        const int known = first[n_classes];
        int i = (int)((int64)known * warp / WARPS);
        const int end = (int)((int64)known * (warp + 1) / WARPS);
        if (lane < 2) border_class[warp * 2 + lane] = -1;
        __syncwarp();
        int code = 0;
        if (i < end) {
            int low = 0, high = n_classes;  // the class of row i: the last that begins no later and has rows
            while (high - low > 1) {
                int middle = (low + high) / 2;
                if (first[middle] <= i) low = middle; else high = middle;
            }
            code = low;
        }
        const int begin = i;
        while (i < end) {
            while (first[code + 1] <= i) code++;
            const int stop = min(first[code + 1], end);
            Lane lane_sums = {};
            int n_missing[2] = {0, 0};
            double anchor[2];
            for (int side = 0; side < 2; side++)
                anchor[side] = on[side] ? anchors[(int64)code * n_columns + strip + place[side]] : 0.0;
            const bool from_begin = i == begin;
            for (; i < stop; i += UNROLL) {
                TYPE loaded[UNROLL][2];
#if WEIGHTED
                double weight[UNROLL];
#endif
#pragma unroll
                for (int u = 0; u < UNROLL; u++) {
                    const int64 row = start + order[min(i + u, stop - 1)];
                    const TYPE* at = cells + row * row_stride;
#if PAIRS
                    if (on[0]) {
                        PAIR pair = __ldcs((const PAIR*)(at + strip) + lane);
                        loaded[u][0] = pair.x;
                        loaded[u][1] = pair.y;
                    }
#else
                    if (on[0]) loaded[u][0] = __ldcs(at + offset[0]);
                    if (on[1]) loaded[u][1] = __ldcs(at + offset[1]);
#endif
#if WEIGHTED
                    weight[u] = weights[row];
#endif
                }
#pragma unroll
                for (int u = 0; u < UNROLL; u++) {
                    if (i + u >= stop) break;
#if WEIGHTED
                    const double w = weight[u];
#else
                    const double w = 1.0;
#endif
                    add_cells(lane_sums, loaded[u], on, anchor, w, n_missing);
                }
            }
            i = stop;
            for (int side = 0; side < 2; side++)
                if (n_missing[side])
                    atomicAdd(&missing[(int64)code * n_columns + strip + place[side]], (uint64)n_missing[side]);
            // A class that other warps have rows of, too, waits for the end of the tile.
            const bool alone = first[code] >= begin && first[code + 1] <= end;
            double* to = border + (warp * 2 + (from_begin ? 0 : 1)) * PARTS * STRIP;
            if (!alone && lane == 0) border_class[warp * 2 + (from_begin ? 0 : 1)] = code;
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

// The first row of each class among the first `n_rows`: `rows` starts at a number that is no row.
extern "C" __global__ void first_rows(const int* __restrict__ codes, int64 n_rows, int* __restrict__ rows) {
    const int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    const int code = codes[row];
    if (code >= 0 && row < rows[code]) atomicMin(&rows[code], (int)row);
}

// The cells of the first row of each class, 0 where there is none or it is no finite number.
extern "C" __global__ void first_cells(
    const TYPE* __restrict__ cells, int64 row_stride, const int64* __restrict__ columns, int n_columns, int n_classes,
    int64 n_rows, const int* __restrict__ rows, double* __restrict__ anchors
) {
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n_classes * n_columns) return;
    const int64 row = rows[item / n_columns];
    double anchor = row < n_rows ? as_double(cells[row * row_stride + columns[item % n_columns]]) : 0.0;
    anchors[item] = fabs(anchor) < 1.7976931348623157e308 ? anchor : 0.0;
}
