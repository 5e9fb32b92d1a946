"""Rows: the memory that `fit` takes beside the table, measured in a process of its own."""

from __future__ import annotations

import json

from bench.measure import Scale, run_python
from bench.result import Result, at_most, size

PEAK = """
import resource
from pathlib import Path

STATUS = Path("/proc/self/status")

def peak():  # bytes; of this process since it began
    if STATUS.exists():
        return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if "VmHWM" in line) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
"""

PROBE = (
    PEAK
    + """
import json, tracemalloc
from bench import data
from naively import NaiveBayes

X, y = data.numbers({n_rows}, 50, 10, dtype="{dtype}", order="{order}")
NaiveBayes("textbook").fit(X[:10_000], y[:10_000])
before = peak()
NaiveBayes("textbook").fit(X, y)
resident = peak() - before
tracemalloc.start()
NaiveBayes("textbook").fit(X, y)
print(json.dumps(dict(resident=resident, traced=tracemalloc.get_traced_memory()[1], table=X.nbytes)))
"""
)


def memory_of_fit_float64(scale: Scale) -> Result:
    return _extra_memory(scale, "float64", "C")


def memory_of_fit_float32(scale: Scale) -> Result:
    return _extra_memory(scale, "float32", "C")


def memory_of_fit_f_order(scale: Scale) -> Result:
    return _extra_memory(scale, "float64", "F")


def _extra_memory(scale: Scale, dtype: str, order: str) -> Result:
    n_rows = scale.rows(1_000_000)
    code = PROBE.format(n_rows=n_rows, dtype=dtype, order=order)
    found = {name: n_bytes / 1e6 for name, n_bytes in json.loads(run_python(code, scale.kernels)).items()}
    most = max(found["resident"], found["traced"])
    return Result(
        work=f"extra memory of Gaussian fit, {size(n_rows)} x 50 {dtype} in {order} order",
        ours=most,
        unit="MB",
        targets=[at_most(64, "MB", most)],
        notes=f"resident {found['resident']:.1f} MB, traced {found['traced']:.1f} MB, table {found['table']:.0f} MB",
    )
