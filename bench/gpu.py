"""The GPU engine against the time of reading the bytes, and against the straightforward way in CuPy.

Usage: python -m bench.gpu [--quick]. It needs a GPU and CuPy, and prints a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

FLOOR = r"""
extern "C" __global__ void read(const float4* X, float* out, long long n) {
    float a = 0;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, s = (long long)gridDim.x * blockDim.x;
    for (; i + 3 * s < n; i += 4 * s) {
        float4 v = __ldcs(X + i), w = __ldcs(X + i + s), x = __ldcs(X + i + 2 * s), y = __ldcs(X + i + 3 * s);
        a += v.x + v.y + v.z + v.w + w.x + w.y + w.z + w.w + x.x + x.y + x.z + x.w + y.x + y.y + y.z + y.w;
    }
    for (; i < n; i += s) { float4 v = __ldcs(X + i); a += v.x + v.y + v.z + v.w; }
    if (a == 1e38f) out[0] = a;
}"""


def milliseconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """The median time of some work on the GPU, the host's part included."""
    import time

    import cupy

    for _ in range(2):
        work()
    times = []
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times))


def device_milliseconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """The median time between two marks on the GPU, before and after some work."""
    import cupy

    times = []
    for _ in range(repeats + 2):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop))
    return float(np.median(times[2:]))


def floor_of(*arrays: Any) -> float:
    """The time of reading these arrays once."""
    import cupy

    read, out, total = cupy.RawKernel(FLOOR, "read"), cupy.zeros(1, cupy.float32), 0.0
    for array in arrays:
        n = np.int64(array.nbytes // 16)
        launches = [lambda m=m, a=array, n=n: read((132 * m,), (512,), (a, out, n)) for m in (4, 8, 16)]
        total += min(device_milliseconds(launch, 5) for launch in launches)
    return total


def rows_of(X: Any, y: Any, n_classes: int) -> Any:
    """The rows as the engine counts them."""
    from naively._table.device import device_table
    from naively.engines._gpu_rows import DeviceRows

    return DeviceRows(device_table(X), y, None, n_classes)


class Report:
    """Prints a row for each measurement."""

    def __init__(self) -> None:
        print(
            "| work | floor ms | ours ms | ours / floor | aim | met | CuPy ms |\n|---|---|---|---|---|---|---|",
            flush=True,
        )

    def row(self, what: str, floor: float, ours: float, aim: float, peer: float | None = None) -> None:
        """One row."""
        met = "yes" if ours <= aim * floor else "no"
        other = "" if peer is None else f"{peer:.1f}"
        print(f"| {what} | {floor:.2f} | {ours:.2f} | {ours / floor:.2f} | {aim} | {met} | {other} |", flush=True)


def moments(report: Report, n: int, dtype: Any, classes: dict[int, float], d: int = 64) -> None:
    """Class moments of random numbers."""
    import cupy

    from naively import NaiveBayes
    from naively.engines._gpu_moments import class_moments, first_cells, summed_about

    X = cupy.random.standard_normal((n, d), dtype=dtype)
    floor, places = floor_of(X), np.arange(d)
    for k, aim in classes.items():
        y = cupy.random.randint(0, k, n, dtype=cupy.int32)
        rows = rows_of(X, y, k)
        what = f"{n // 10**6}M x {d} {np.dtype(dtype).name}, {k} classes"
        peer = milliseconds(lambda y=y, k=k: _masked(X, y, min(k, 10)), 1) * k / min(k, 10)
        ours = device_milliseconds(lambda rows=rows: summed_about(rows, places, *first_cells(rows, places)))
        report.row(f"class moments {what}", floor, ours, aim, peer)
        whole = milliseconds(lambda rows=rows: class_moments(rows, places), 3)
        fit = milliseconds(lambda y=y: NaiveBayes("textbook").fit(X, y), 3)
        print(f"(as statistics on the host {whole:.2f} ms; the whole fit {fit:.2f} ms)", flush=True)


def _masked(X: Any, y: Any, k: int) -> None:
    """Moments by a mask for each class, as libraries on array interfaces do it."""
    for code in range(k):
        part = X[y == code]
        part.sum(axis=0), (part * part).sum(axis=0)


def counts(report: Report, n: int, d: int = 32) -> None:
    """Counts of bytes."""
    import cupy

    from naively.engines._gpu_counts import count_categories

    X, y = cupy.random.randint(0, 16, (n, d), dtype=cupy.uint8), cupy.random.randint(0, 2, n, dtype=cupy.int32)
    names, places = tuple(f"x{j}" for j in range(d)), np.arange(d)
    ours = milliseconds(lambda: count_categories(rows_of(X, y, 2), names, places, None))
    peer = milliseconds(lambda: [cupy.bincount(y * 16 + X[:, j], minlength=32) for j in range(2)], 1) * d / 2
    report.row(f"categorical counts {n // 10**6}M x {d} uint8 of 16 values, 2 classes", floor_of(X), ours, 2, peer)


def sparse(report: Report, n_cells: int, words: int = 50_000, classes: int = 200) -> None:
    """Counts of words in CSR rows."""
    import cupy
    from cupyx.scipy import sparse as device_sparse

    from naively._table.device import DeviceSparseTable
    from naively.engines._gpu_moments import sum_powers
    from naively.engines._gpu_rows import DeviceRows
    from naively.engines._gpu_sparse import summed_small
    from naively.statistics.base import Summary

    per_row = 100
    n = n_cells // per_row
    indices = cupy.random.randint(0, words, n_cells, dtype=cupy.int32)
    data = cupy.random.randint(1, 4, n_cells, dtype=cupy.int32).astype(cupy.float32)
    indptr = cupy.arange(0, n_cells + 1, per_row, dtype=cupy.int32)
    X = device_sparse.csr_matrix((data, indices, indptr), shape=(n, words))
    y = cupy.random.randint(0, classes, n, dtype=cupy.int32)
    table = DeviceSparseTable(X)
    summary = Summary(kind="moments", observed=False, squares=False, nonnegative=True)
    names, places = tuple(map(str, range(words))), np.arange(words)

    def rows() -> DeviceRows:  # anew: rows remember the order of their classes
        return DeviceRows(table, y, None, classes)

    ours = milliseconds(lambda: sum_powers(rows(), names, places, summary), 5)
    there = device_milliseconds(lambda: summed_small(rows(), places, summary))
    one_hot = device_sparse.csr_matrix(
        (cupy.ones(n, cupy.float32), y, cupy.arange(n + 1, dtype=cupy.int32)), (n, classes)
    )
    peer = milliseconds(lambda: one_hot.T.tocsr() @ X, 1)
    report.row(
        f"CSR counts, {n_cells // 10**6}M cells, {words} words, {classes} classes",
        floor_of(data, indices),
        ours,
        10,
        peer,
    )
    print(f"(the sums on the GPU {there:.2f} ms; the rest is their way to the host)", flush=True)


def scores(report: Report, n: int, d: int = 64, k: int = 10) -> None:
    """Probabilities of Gaussian columns, and of auto's curves."""
    import cupy

    from naively import NaiveBayes

    X, y = cupy.random.standard_normal((n, d), dtype=cupy.float32), cupy.random.randint(0, k, n, dtype=cupy.int32)
    model = NaiveBayes("textbook").fit(X, y)
    out = cupy.empty((n, k), dtype=cupy.float32)
    floor = floor_of(X) + milliseconds(lambda: out.fill(0))
    means, variances = (
        cupy.asarray([model.parameters()[f"x{j}"][name] for j in range(d)]) for name in ("mean", "variance")
    )

    def plain() -> None:
        part = X[: n // 8].astype(cupy.float64)
        s = -((part * part) @ (0.5 / variances)) + part @ (means / variances)
        s -= s.max(axis=1, keepdims=True)
        cupy.exp(s, out=s)
        s /= s.sum(axis=1, keepdims=True)

    report.row(f"predict_proba Gaussian {n // 10**6}M x {d}, {k} classes, into float32", floor,
               milliseconds(lambda: model.predict_proba(X)), 1.6, 8 * milliseconds(plain, 3))  # fmt: skip


def auto(report: Report, n: int, d: int = 64, k: int = 10) -> None:
    """What auto keeps of rows: moments, histograms and kept rows."""
    import cupy

    from naively import NaiveBayes
    from naively.engines._gpu_histogram import count_histograms
    from naively.engines._gpu_kept_rows import keep_rows
    from naively.statistics.base import Summary

    X, y = cupy.random.standard_normal((n, d), dtype=cupy.float32), cupy.random.randint(0, k, n, dtype=cupy.int32)
    schema = NaiveBayes().fit(X[:1000], y[:1000]).schema_
    names, floor = schema.names, floor_of(X)
    summary = Summary(kind="histogram")

    def both() -> None:
        rows = rows_of(X, y, k)
        kept = keep_rows(rows, schema, None, 4096)
        count_histograms(rows, names, np.arange(d), summary)
        kept()

    histogram = milliseconds(lambda: count_histograms(rows_of(X, y, k), names, np.arange(d), summary), 3)
    report.row(f"auto's statistics {n // 10**6}M x {d} float32, {k} classes", floor, milliseconds(both, 5), 12)
    print(f"(histograms alone {histogram:.1f} ms; kept rows are the rest)", flush=True)


def streamed(report: Report, n: int, d: int = 64, k: int = 10) -> None:
    """Rows that come from the memory of the host, piece by piece."""
    import cupy
    import cupyx

    from naively import NaiveBayes
    from naively.engines.gpu import chunks

    some = np.random.default_rng(0).standard_normal((n // 16, d), dtype=np.float32)
    X, y = np.tile(some, (16, 1)), np.arange(n // 16 * 16) % k
    locked = cupyx.empty_pinned(some.shape, dtype=some.dtype)
    locked[:] = some
    there = cupy.empty_like(some)
    floor = 16 * milliseconds(lambda: there.set(locked))
    ours = milliseconds(lambda: NaiveBayes("textbook").fit(chunks(X, y)), 3)

    def one_after_the_other() -> None:
        for start in range(0, len(X), len(some)):
            NaiveBayes("textbook").fit(cupy.asarray(X[start : start + len(some)]), y[start : start + len(some)])

    peer = milliseconds(one_after_the_other, 1)
    report.row(f"fit of {n // 10**6}M x {d} float32 on the host (floor: the copy)", floor, ours, 2, peer)


def main() -> None:
    """Run all rows."""
    small = 50 if "--quick" in sys.argv else 1
    report = Report()
    moments(report, 40_000_000 // small, np.float32, {2: 1.15, 10: 1.15, 100: 1.3, 1000: 1.8})
    moments(report, 20_000_000 // small, np.float64, {10: 1.2})
    counts(report, 100_000_000 // small)
    scores(report, 40_000_000 // small)
    auto(report, 40_000_000 // small)
    sparse(report, 200_000_000 // small)
    streamed(report, 8_000_000 // small)


if __name__ == "__main__":
    main()
