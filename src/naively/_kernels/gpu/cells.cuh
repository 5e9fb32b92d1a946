// How cells are read, and rows that come class by class. The host puts these names before the source:
//   TYPE      the type of a cell in memory
//   FLOATS    1 if a cell can be NaN, which is a missing cell
//   HALF      1 if TYPE holds the bits of a float16, 2 if those of a bfloat16

typedef long long int64;
typedef unsigned long long uint64;

__device__ __forceinline__ double as_double(TYPE cell) {
#if HALF == 1
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(cell));
    return (double)value;
#elif HALF == 2
    return (double)__uint_as_float((unsigned)cell << 16);
#else
    return (double)cell;
#endif
}

__device__ __forceinline__ bool is_missing(TYPE cell) {
#if !FLOATS
    return false;
#elif HALF == 1
    return (cell & 0x7fff) > 0x7c00;
#elif HALF == 2
    return (cell & 0x7fff) > 0x7f80;
#else
    return cell != cell;
#endif
}

// The class of row i among rows in the order of their classes, those of class k from `begins[k]` on.
__device__ __forceinline__ int class_at(const int64* begins, int n_classes, int64 i) {
    int low = 0, high = n_classes;
    while (high - low > 1) {
        const int middle = (low + high) >> 1;
        if (begins[middle] <= i) low = middle; else high = middle;
    }
    return low;
}
