"""The GPU engine: the numbers of the local one, at any size, type and offset, and the same bits in every run."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="needs a GPU and CuPy", exc_type=ImportError)
if not cupy.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

from naively import NaiveBayes  # noqa: E402
from naively._table.device import device_table  # noqa: E402
from naively._table.table import ArrayTable  # noqa: E402
from naively.engines import gpu as gpu_chunks  # noqa: E402
from naively.engines._gpu_counts import count_categories  # noqa: E402
from naively.engines._gpu_histogram import count_histograms  # noqa: E402
from naively.engines._gpu_rows import DeviceRows  # noqa: E402
from naively.engines._local import COUNTERS  # noqa: E402
from naively.engines._rows import Rows  # noqa: E402
from naively.engines.gpu import chunks  # noqa: E402
from naively.errors import InputError  # noqa: E402
from naively.families import Gaussian  # noqa: E402
from naively.statistics._sums import Sum  # noqa: E402
from naively.statistics.base import Summary  # noqa: E402


def table(n=5000, d=7, k=3, seed=0, offset=0.0, missing=0.05, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(0, 1, (n, d)) + rng.normal(0, 1, (k, d))[y] + offset
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(dtype), y


def same_sums(one, other, tolerance=1e-12):
    scale = np.abs(other.high) + 1e-300
    np.testing.assert_array_less(np.abs((one - other).high) / scale, tolerance)


def same_moments(gpu, cpu):
    assert gpu.columns == cpu.columns
    same_sums(gpu.total, cpu.total, 1e-9)  # a sum near zero has lost digits
    if cpu.square is not None:
        same_sums(gpu.square, cpu.square)
    if cpu.observed is not None:
        same_sums(gpu.observed, cpu.observed)


@pytest.mark.parametrize("k", [1, 2, 10, 60, 300, 1500, 6000])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments(k, weighted):
    X, y = table(n=20_000, d=70, k=k)
    w = np.random.default_rng(1).exponential(1, len(y)) if weighted else None
    gpu = NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y), w)
    cpu = NaiveBayes("textbook").fit(X, y, w)
    same_sums(gpu.statistics_.class_weight, cpu.statistics_.class_weight)
    for summary, one in cpu.statistics_.tables.items():
        same_moments(gpu.statistics_.tables[summary], one)
    np.testing.assert_allclose(gpu.predict_proba(X), cpu.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8])
@pytest.mark.parametrize("ties", ["none", "feature", "class", "all"])
def test_far_from_zero(offset, ties):
    X, y = table(offset=offset, seed=2)
    gpu = NaiveBayes("textbook", families=Gaussian(ties=ties)).fit(cupy.asarray(X), cupy.asarray(y))
    cpu = NaiveBayes("textbook", families=Gaussian(ties=ties)).fit(X, y)
    np.testing.assert_allclose(gpu.predict_proba(cupy.asarray(X)).get(), cpu.predict_proba(X), atol=1e-9)


def test_a_first_row_that_is_far_from_all_others():
    X, y = table(missing=0.0)
    X[0] = 1e9
    gpu, cpu = NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y)), NaiveBayes("textbook").fit(X, y)
    for name, described in cpu.parameters().items():
        np.testing.assert_allclose(gpu.parameters()[name]["variance"], described["variance"], rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(dtype, order):
    X, y = table(missing=0.05 if dtype.startswith("float") else 0.0, d=6)
    X = np.asarray(
        (X * 8 if dtype != "bool" else X > 0) if dtype != "uint8" else np.abs(X * 8), dtype=dtype, order=order
    )
    gpu = NaiveBayes("textbook", families="gaussian").fit(cupy.asarray(X, order=order), cupy.asarray(y))
    cpu = NaiveBayes("textbook", families="gaussian").fit(X, y)
    for summary, one in cpu.statistics_.tables.items():
        same_moments(gpu.statistics_.tables[summary], one)
    answer = gpu.predict_proba(cupy.asarray(X)).get()
    np.testing.assert_allclose(answer, cpu.predict_proba(X), atol=1e-9 if answer.dtype == np.float64 else 1e-6)


FAMILIES = [
    "gaussian",
    "studentt",
    "poisson",
    "bernoulli",
    "categorical",
    "multinomial",
    "complement",
    "exponential",
    "gamma",
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_families(family, weighted):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 3000)
    X = rng.poisson(2.0 + y[:, None], (3000, 8)).astype(np.float64) + (family == "gamma")
    if family not in ("multinomial", "complement"):
        X[rng.random(X.shape) < 0.05] = np.nan
    w = rng.integers(1, 4, 3000).astype(float) if weighted else None
    gpu = NaiveBayes("textbook", families=family, smoothing="laplace").fit(cupy.asarray(X), cupy.asarray(y), w)
    cpu = NaiveBayes("textbook", families=family, smoothing="laplace").fit(X, y, w)
    np.testing.assert_allclose(gpu.predict_proba(cupy.asarray(X)).get(), cpu.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(gpu.predict(cupy.asarray(X)).get(), cpu.predict(X))
    there = cupy.asarray(X)
    np.testing.assert_allclose(gpu.evidence(there).get(), cpu.evidence(X), atol=1e-9)
    assert gpu.score(there, cupy.asarray(y)) == cpu.score(X, y)
    if family == "categorical":
        assert gpu.statistics_ == cpu.statistics_


@pytest.mark.parametrize(("k", "d"), [(2, 4), (9, 20), (10, 64), (16, 60), (17, 300), (40, 800)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_probabilities_of_any_shape(k, d, dtype):
    X, y = table(n=3001, d=d, k=k, seed=16, dtype=dtype)
    model = NaiveBayes("textbook").fit(X, y)
    X[3, 1] = 1e30  # its square is no float32
    answer = model.predict_proba(cupy.asarray(X))
    np.testing.assert_allclose(answer.get(), model.predict_proba(X), atol=1e-9 if dtype == "float64" else 1e-6)
    cupy.testing.assert_array_equal(answer, model.predict_proba(cupy.asarray(X)))


@pytest.mark.parametrize("k", [3, 100, 400])
def test_classes_that_come_one_after_the_other(k):
    X, y = table(n=200_000, d=8, k=k, seed=17, offset=1e8)
    y = np.sort(y)
    y[-1] = k  # a class of one row, which nobody looks at for an anchor
    gpu, cpu = NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y)), NaiveBayes("textbook").fit(X, y)
    for summary, one in cpu.statistics_.tables.items():
        same_moments(gpu.statistics_.tables[summary], one)


def test_bytes_are_counted_exactly():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 16, (100_000, 32), dtype=np.uint8), rng.integers(0, 2, 100_000)
    gpu = NaiveBayes("textbook", families="categorical").fit(cupy.asarray(X), cupy.asarray(y))
    assert gpu.statistics_ == NaiveBayes("textbook", families="categorical").fit(X, y).statistics_


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize(("d", "size"), [(8, 3), (32, 16), (32, 40), (64, 200), (160, 5)])
def test_bytes_of_any_size(k, d, size):
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, size, (100_003, d), dtype=np.uint8), rng.integers(0, k, 100_003)
    names = tuple(f"x{j}" for j in range(d))
    for last in (size - 1, 255):  # the second is larger than whatever a sample shows
        X[-2, -1] = last
        assert counted(X, y, "counts", names) == expected(X, y, "counts", names)


def counted(X, y, kind, names, weights=None):
    """The statistics of all columns, counted on the GPU."""
    rows = DeviceRows(
        device_table(cupy.asarray(X)),
        cupy.asarray(y, dtype=cupy.int32),
        None if weights is None else cupy.asarray(weights),
        int(y.max()) + 1,
    )
    count = {"counts": count_categories, "histogram": count_histograms}[kind]
    return count(rows, names, np.arange(len(names)), Summary(kind=kind))


def expected(X, y, kind, names, weights=None):
    """The statistics of all columns, counted by the local engine."""
    total = np.bincount(y[y >= 0], None if weights is None else weights[y >= 0])
    rows = Rows(ArrayTable(X), y, weights, Sum.of(total), 1)
    return COUNTERS[kind](rows, names, np.arange(len(names)), Summary(kind=kind))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_histograms_of_numbers_of_every_kind(weighted, dtype):
    rng = np.random.default_rng(12)
    n = 300_000  # more than the sample that chooses the windows
    y = rng.integers(-1, 4, n)
    columns = [
        rng.normal(size=n),
        rng.poisson(3.0, n),
        rng.integers(-20, 5, n) / 4,
        np.round(rng.normal(size=n), 2),
        np.where(rng.random(n) < 0.5, 1.0, 1e6) + 1e-3 * rng.normal(size=n),
        np.where(rng.random(n) < 0.9999, rng.random(n), 1e30),
        np.exp(8 * rng.normal(size=n)),
        np.where(rng.random(n) < 0.3, -0.0, rng.choice([0.0, 5e-324, -5e-324, 1e-300], n)),
        np.full(n, 7.25),
        np.where(np.arange(n) < n - 5, np.nan, -3.0),
        1e8 + rng.normal(size=n),
    ]
    X = np.column_stack(columns).astype(dtype)
    X[rng.random(X.shape) < 0.02] = np.nan
    w = rng.integers(1, 4, n).astype(float) if weighted else None
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    assert counted(X, y, "histogram", names, w) == expected(X, y, "histogram", names, w)


@pytest.mark.parametrize("k", [2, 8, 9, 10, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_rows_that_tensor_cores_multiply(k, dtype):
    X, y = table(n=2011, d=24, k=k, seed=13, dtype=dtype)
    there = cupy.asarray(X)
    gpu, cpu = NaiveBayes("textbook").fit(there, cupy.asarray(y)), NaiveBayes("textbook").fit(X, y)
    tolerance = 1e-9 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(gpu.predict_proba(there).get(), cpu.predict_proba(X), atol=tolerance)
    np.testing.assert_array_equal(gpu.predict(there).get(), cpu.predict(X))
    X[2010, 23] = np.inf
    with pytest.raises(InputError, match="infinity: column 'x23', row 2010"):
        gpu.predict_proba(cupy.asarray(X))


@pytest.mark.parametrize("k", [9, 10])
@pytest.mark.parametrize("impossible", [(0,), (7, 8), (8,), (-2, -1), (-1,)])
def test_classes_of_which_differences_are_taken(k, impossible):
    X, y = table(n=1003, d=64, k=k, seed=18, dtype=np.float32)
    prior = np.ones(k)
    prior[list(impossible)] = 0.0
    model = NaiveBayes("textbook", prior=prior / prior.sum()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(cupy.asarray(X)).get(), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("k", [9, 10])
def test_coefficients_so_large_that_differences_would_be_none(k):
    X, y = table(n=1003, d=8, k=k, seed=19, missing=0.0)
    model = NaiveBayes("textbook").fit(X * 1e-120, y)
    X = np.where(X > 0, 1, 1e30).astype(np.float32)
    np.testing.assert_allclose(model.predict_proba(cupy.asarray(X)).get(), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
@pytest.mark.parametrize("weighted", [False, True])
def test_recipes_that_weigh(recipe, weighted):
    X, y = table(n=6000, d=5, k=3, seed=5, dtype=np.float32)
    X[:, 0] = np.round(X[:, 0])
    w = np.random.default_rng(5).integers(1, 4, 6000).astype(float) if weighted else None
    gpu = NaiveBayes(recipe).fit(cupy.asarray(X), cupy.asarray(y), w)
    cpu = NaiveBayes(recipe).fit(X, y, w)
    for summary, one in cpu.statistics_.tables.items():
        other = gpu.statistics_.tables[summary]
        if summary.kind == "histogram":
            assert other == one
        else:  # weighing decides by the last bit
            np.testing.assert_array_equal(other.total.high, one.total.high)
            np.testing.assert_array_equal(other.square.high, one.square.high)
    assert gpu.statistics_.kept == cpu.statistics_.kept
    np.testing.assert_allclose(gpu.predict_proba(cupy.asarray(X)).get(), cpu.predict_proba(X), atol=1e-5)
    double = X.astype(np.float64)
    np.testing.assert_allclose(gpu.predict_proba(cupy.asarray(double)).get(), cpu.predict_proba(double), atol=1e-9)


def test_learning_forgetting_and_merging_across_devices():
    X, y = table(n=4000, seed=6)
    first, second = slice(0, 2500), slice(2500, None)
    both = NaiveBayes().fit(cupy.asarray(X[first]), cupy.asarray(y[first])) + NaiveBayes().fit(X[second], y[second])
    np.testing.assert_allclose(both.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), atol=1e-9)
    on_the_host = NaiveBayes().fit(X[first], y[first]) + NaiveBayes().fit(X[second], y[second])
    left = both.forget(cupy.asarray(X[second]), cupy.asarray(y[second]))
    expected = on_the_host.forget(X[second], y[second])
    np.testing.assert_allclose(left.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("family", ["multinomial", "complement", "bernoulli", "poisson"])
def test_sparse(family):
    from cupyx.scipy import sparse as device_sparse
    from scipy import sparse

    rng = np.random.default_rng(7)
    X = sparse.random(
        2000, 300, 0.05, format="csr", random_state=7, data_rvs=lambda n: rng.integers(1, 5, n).astype(float)
    )
    y = rng.integers(0, 5, 2000)
    gpu = NaiveBayes("textbook", families=family, smoothing="laplace").fit(device_sparse.csr_matrix(X), cupy.asarray(y))
    cpu = NaiveBayes("textbook", families=family, smoothing="laplace").fit(X, y)
    assert gpu.statistics_ == cpu.statistics_
    np.testing.assert_allclose(gpu.predict_proba(X), cpu.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("value", [1023.0, 1024.0, 0.5])
def test_words_of_any_count(value):
    from cupyx.scipy import sparse as device_sparse
    from scipy import sparse

    rng = np.random.default_rng(14)
    X = sparse.random(
        3001, 70_000, 0.002, format="csr", random_state=14, data_rvs=lambda n: rng.integers(1, 5, n).astype(np.float32)
    )
    X.data[-1] = value
    y = rng.integers(0, 5, 3001)
    model = NaiveBayes("textbook", families="multinomial")
    gpu = model.fit(device_sparse.csr_matrix(X), cupy.asarray(y)).statistics_
    assert gpu == NaiveBayes("textbook", families="multinomial").fit(X, y).statistics_
    X.data[-1] = -1.0
    with pytest.raises(InputError, match="Negative values"):
        model.fit(device_sparse.csr_matrix(X), cupy.asarray(y))


def test_the_same_bits_in_every_run():
    X, y = table(n=300_000, d=33, k=7, seed=8)
    X, y = cupy.asarray(X), cupy.asarray(y)
    w = cupy.random.default_rng(0).random(300_000)
    models = [NaiveBayes(recipe).fit(X, y, weights) for recipe in ("textbook", "auto") for weights in (None, w)]
    again = [NaiveBayes(recipe).fit(X, y, weights) for recipe in ("textbook", "auto") for weights in (None, w)]
    for one, other in zip(models, again, strict=True):
        assert one.statistics_ == other.statistics_
    many = cupy.arange(300_000) % 400  # their sums do not fit into shared memory
    assert NaiveBayes("textbook").fit(X, many).statistics_ == NaiveBayes("textbook").fit(X, many).statistics_


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [None, 977])
def test_chunks_of_the_host(dtype, rows):
    X, y = table(n=4001, d=8, seed=15, dtype=dtype)
    w = np.random.default_rng(15).integers(1, 4, len(y)).astype(float)
    gpu = NaiveBayes("fast").fit(chunks(X, y, w, rows=rows))
    cpu = NaiveBayes("fast").fit(X, y, w)
    for summary, one in cpu.statistics_.tables.items():
        if summary.kind == "histogram":
            assert gpu.statistics_.tables[summary] == one
        else:
            same_moments(gpu.statistics_.tables[summary], one)
    assert gpu.statistics_.kept == cpu.statistics_.kept
    parts = [cpu.predict_proba(part).get() for part in chunks(X, rows=rows)]
    np.testing.assert_allclose(np.concatenate(parts), cpu.predict_proba(X), atol=1e-9 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("order", ["C", "F", "every other column"])
def test_chunks_of_many_blocks(order, monkeypatch):
    monkeypatch.setattr(gpu_chunks, "BLOCK_BYTES", 4096)  # so that their room is used many times
    X = np.random.default_rng(20).normal(size=(30_001, 10))
    X = X[:, ::2] if order.startswith("every") else np.asarray(X, order=order)
    y, w = np.arange(len(X)) % 7, np.arange(len(X)) / 4
    pieces = [[cupy.asarray(one).get() for one in piece] for piece in chunks(X, y, w, rows=7000)]
    for found, given in zip(zip(*pieces, strict=True), (X, y, w), strict=True):
        np.testing.assert_array_equal(np.concatenate(found), given)
    first = next(chunks(X, rows=7000))  # and nobody asks for the others
    np.testing.assert_array_equal(first.get(), X[:7000])


LABELS = [
    np.arange(900, dtype=np.int8) % 3 - 1,
    np.arange(900, dtype=np.uint8) % 3,
    np.arange(900) % 2 == 0,
    np.arange(900, dtype=">i4") % 3,
    np.arange(900, dtype=np.uint64) % 3 + 2**63,
    np.arange(900) % 3 / 1,
    np.array(["ant", "bee", "cow"])[np.arange(900) % 3],
    (np.arange(900) % 3).tolist(),
]


@pytest.mark.parametrize("y", LABELS, ids=lambda y: str(getattr(y, "dtype", "list")))
def test_chunks_with_classes_of_any_type(y):
    X = np.random.default_rng(21).normal(size=(900, 4))
    gpu, cpu = NaiveBayes("textbook").fit(chunks(X, y, rows=256)), NaiveBayes("textbook").fit(X, y)
    np.testing.assert_array_equal(gpu.classes_, cpu.classes_)
    np.testing.assert_array_equal(gpu.class_count_, cpu.class_count_)


def test_torch():
    torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
    X, y = table(dtype=np.float32, seed=9)
    there, codes = torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda()
    model = NaiveBayes("textbook").fit(there, codes)
    answer = model.predict_proba(there)
    assert isinstance(answer, torch.Tensor)
    assert answer.is_cuda
    np.testing.assert_allclose(answer.cpu().numpy(), NaiveBayes("textbook").fit(X, y).predict_proba(X), atol=1e-6)
    assert isinstance(model.predict(there), torch.Tensor)
    half = there.to(torch.bfloat16)
    expected = NaiveBayes("textbook").fit(half.float().cpu().numpy(), y).predict_proba(half.float().cpu().numpy())
    np.testing.assert_allclose(
        NaiveBayes("textbook").fit(half, codes).predict_proba(half).float().cpu().numpy(), expected, atol=1e-6
    )


def test_labels_that_are_text_and_priors_by_row():
    X, y = table(seed=10)
    names = np.array(["ant", "bee", "cow"])[y]
    model, there = NaiveBayes("textbook").fit(cupy.asarray(X), names), cupy.asarray(X)
    cpu = NaiveBayes("textbook").fit(X, names)
    assert model.predict(there).tolist() == cpu.predict(X).tolist()
    prior = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    np.testing.assert_allclose(
        model.predict_log_proba(there, prior=prior).get(), cpu.predict_log_proba(X, prior=prior), atol=1e-8
    )
    loss = {
        true: {told: 1.0 + (true < told) for told in ("ant", "bee", "cow") if told != true}
        for true in ("ant", "bee", "cow")
    }
    assert model.predict(there, loss=loss, reject=0.2).tolist() == cpu.predict(X, loss=loss, reject=0.2).tolist()


def test_what_is_refused():
    X, y = table(missing=0.0)
    X[17, 3] = np.inf
    with pytest.raises(InputError, match="infinity: column 'x3', row 17"):
        NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y))
    model = NaiveBayes("textbook").fit(cupy.asarray(X[18:]), cupy.asarray(y[18:]))
    with pytest.raises(InputError, match="infinity: column 'x3', row 17"):
        model.predict_proba(cupy.asarray(X))
    with pytest.raises(InputError, match="Negative values"):
        NaiveBayes("textbook", families="multinomial").fit(cupy.asarray(-np.abs(X[18:])), cupy.asarray(y[18:]))
    with pytest.raises(InputError, match="as many rows"):
        NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y[1:]))


def test_a_loo_and_an_explanation_are_made_on_the_host():
    X, y = table(n=300, seed=11)
    gpu, cpu = NaiveBayes("textbook").fit(cupy.asarray(X), cupy.asarray(y)), NaiveBayes("textbook").fit(X, y)
    np.testing.assert_allclose(gpu.loo(cupy.asarray(X), cupy.asarray(y)), cpu.loo(X, y), atol=1e-9)
    assert len(gpu.explain(cupy.asarray(X[:2]))) == len(cpu.explain(X[:2]))
