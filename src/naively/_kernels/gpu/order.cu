// The rows in the order of their classes, for kernels that add whole numbers class by class: a block then has the table
// of one class alone, which fits into its shared memory. Rows of a class come in any order: of whole numbers the sum is
// the same.
//
// The host puts before the source, beside the names of cells.cuh:
//   ROW   the type of the number of a row

#define ITEMS 16

// `next` holds where the rows of each class begin in `order`; each block takes what it needs of every class at once.
extern "C" __global__ void __launch_bounds__(1024) order_by_class(
    const int* __restrict__ codes, int64 n_rows, int n_classes, uint64* __restrict__ next, ROW* __restrict__ order
) {
    extern __shared__ uint64 to[];  // (n_classes): where the rows of the block go
    unsigned* n_here = (unsigned*)(to + n_classes);  // (n_classes)
    for (int i = threadIdx.x; i < n_classes; i += blockDim.x) n_here[i] = 0;
    __syncthreads();
    const int lane = threadIdx.x & 31;
    const int64 start = (int64)blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    int code[ITEMS];
    unsigned rank[ITEMS];
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        const int64 row = start + u * blockDim.x;
        code[u] = row < n_rows ? codes[row] : -1;
    }
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        const unsigned peers = __match_any_sync(~0u, code[u]);
        const int leader = __ffs(peers) - 1;
        unsigned before = 0;
        if (code[u] >= 0 && lane == leader) before = atomicAdd(&n_here[code[u]], (unsigned)__popc(peers));
        rank[u] = __shfl_sync(~0u, before, leader) + __popc(peers & ((1u << lane) - 1));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_classes; i += blockDim.x)
        if (n_here[i]) to[i] = atomicAdd(&next[i], (uint64)n_here[i]);
    __syncthreads();
#pragma unroll
    for (int u = 0; u < ITEMS; u++) if (code[u] >= 0) order[to[code[u]] + rank[u]] = (ROW)(start + u * blockDim.x);
}
