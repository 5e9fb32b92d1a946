"""Threads that share a model: an answer is that of one state, and no row is lost."""

import copy
import inspect
import linecache
import os
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import sleep

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_info

import naively
from naively import TAN, JointBayes, NaiveBayes
from naively._common.blas import one_blas_thread
from naively._model.state import learning_lock
from naively.errors import ForgetError, NaivelyWarning
from naively.sklearn import GaussianNB, MultinomialNB
from tests.models import textbook

FIRST = (np.array([[0.0, 1.0], [1.0, 3.0], [6.0, 4.0], [8.0, 1.0]] * 3), np.array(["ant", "ant", "bee", "bee"] * 3))
SECOND = (FIRST[0][::-1] + 2.0, np.array(["cat", "dog", "eel", "dog"] * 3))
ROWS = np.array([[1.0, 2.0], [7.0, 3.0], [3.0, 3.0]])


@pytest.fixture(autouse=True)
def _threads_take_turns_at_once(monkeypatch):
    monkeypatch.setenv(
        "NAIVELY_KERNELS", "reference"
    )  # answers are compared to the last bit, which is up to the kernel
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works):
    """Do the works at the same time; what one raises is raised here. Gives their results."""
    start = threading.Barrier(len(works))

    def begin(work):
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(begin, work) for work in works]]


def until(done, work):
    """Repeat a piece of work until an event; at least once."""
    work()
    while not done.is_set():
        work()


# -- answers ----------------------------------------------------------------------------------------------------------

ANSWERS = {
    "predict": lambda model: model.predict(ROWS).tolist(),
    "predict_proba": lambda model: model.predict_proba(ROWS).tolist(),
    "predict_one": lambda model: model.predict_one({"x0": 1.0, "x1": 2.0}),
    "predict_proba_one": lambda model: model.predict_proba_one({"x0": 1.0, "x1": 2.0}),
    "loss": lambda model: model.predict(ROWS, reject=0.2).tolist(),
    "evidence": lambda model: model.evidence(ROWS).tolist(),
    "explain": lambda model: model.explain(ROWS).fillna("missing").to_dict("list"),
    "impute": lambda model: model.impute(np.array([[np.nan, 2.0]])).tolist(),
    "rank": lambda model: model.rank_features().to_dict("list"),
}
TEXTBOOK_ANSWERS = {
    "sample": lambda model: [part.tolist() for part in model.sample(5, seed=1)],
    "score_samples": lambda model: model.score_samples(ROWS).tolist(),
    "credible_interval": lambda model: model.credible_interval(ROWS).tolist(),
    "bayes_error": lambda model: model.bayes_error(50, seed=1),
    "bic": lambda model: model.bic_,
    "discriminant": lambda model: model.log_odds().intercept.tolist(),
}
ASKED = [("textbook", name) for name in [*ANSWERS, *TEXTBOOK_ANSWERS]] + [("fast", name) for name in ANSWERS]


@pytest.mark.parametrize(("recipe", "name"), ASKED)
def test_answers_are_those_of_one_state(recipe, name):
    """While another thread learns other classes, every answer is one that one of the two states gives."""
    ask = {**ANSWERS, **TEXTBOOK_ANSWERS}[name]
    possible = [ask(NaiveBayes(recipe).fit(*rows)) for rows in (FIRST, SECOND)]
    model, done, found = NaiveBayes(recipe).fit(*FIRST), threading.Event(), []

    def learn():
        try:
            for _ in range(15):
                model.fit(*SECOND)
                model.fit(*FIRST)
        finally:
            done.set()

    answer = partial(until, done, lambda: found.append(ask(model)))
    together(learn, answer, answer)
    assert all(one in possible for one in found)


@pytest.mark.parametrize("recipe", ["textbook", "fast"])
def test_answers_while_rows_come_and_go(recipe):
    """The same with `partial_fit` and `forget`, whose states have other numbers of classes."""
    few, more = NaiveBayes(recipe).fit(*FIRST), NaiveBayes(recipe).fit(*FIRST).partial_fit(*SECOND)
    possible = [(one.predict(ROWS).tolist(), one.predict_proba(ROWS).shape) for one in (few, more)]
    model, done, found = NaiveBayes(recipe).fit(*FIRST), threading.Event(), []

    def learn():
        try:
            for _ in range(20):
                model.partial_fit(*SECOND)
                model.forget(*SECOND)
        finally:
            done.set()

    answer = partial(until, done, lambda: found.append((model.predict(ROWS).tolist(), model.predict_proba(ROWS).shape)))
    together(learn, answer, answer)
    assert all(labels in [one for one, _ in possible] for labels, _ in found)
    assert all(shape in [one for _, one in possible] for _, shape in found)
    assert model.statistics_ == few.statistics_


def test_drop_ins_answer_from_one_state():
    possible = [GaussianNB().fit(*rows).predict(ROWS).tolist() for rows in (FIRST, SECOND)]
    model, done, found = GaussianNB().fit(*FIRST), threading.Event(), []

    def learn():
        try:
            for _ in range(30):
                model.fit(*SECOND)
                model.fit(*FIRST)
        finally:
            done.set()

    answer = partial(until, done, lambda: found.append(model.predict(ROWS).tolist()))
    together(learn, answer, answer)
    assert all(one in possible for one in found)


@pytest.mark.parametrize("make", [NaiveBayes, TAN, JointBayes])
def test_everything_public_takes_the_state_once(make):
    """A public method or property that reads what was learnt goes through `of_one_state`, or reads one attribute."""
    one_attribute = {"schema_", "statistics_", "classes_", "declared_classes_", "n_features_in_", "feature_names_in_"}
    one_attribute |= {"frozen_", "notes_"}
    learning = {"fit", "partial_fit", "forget", "decay", "save", "set_params", "learn_one", "forget_one"}
    one_program = {"predict_one", "predict_proba_one"}  # made of one state, and kept by the model itself
    parameters = {"factors"}  # of TAN and JointBayes: made of other parameters, of nothing that was learnt
    for name in dir(make):
        member = inspect.getattr_static(make, name)
        function = member.fget if isinstance(member, property) else getattr(member, "_method", member)
        if (
            name.startswith("_")
            or name in one_attribute | learning | one_program | parameters
            or not callable(function)
        ):
            continue
        assert not function.__module__.startswith("naively") or hasattr(function, "__wrapped__"), (
            f"{name} needs @of_one_state"
        )


# -- learning ---------------------------------------------------------------------------------------------------------

N_THREADS, N_TIMES = 4, 25


@pytest.mark.parametrize("make", [textbook, partial(NaiveBayes, "fast"), TAN, JointBayes, GaussianNB, MultinomialNB])
def test_no_row_is_lost(make):
    """From the very first batch on."""
    dropin = make in (GaussianNB, MultinomialNB)
    labels = np.array(list("abcd"))
    model = make()

    def learn(thread):
        for time in range(N_TIMES):
            row = np.array([[float(thread), float(time % 3)]])
            model.partial_fit(row, labels[[thread]], **({"classes": labels} if dropin else {}))

    together(*(partial(learn, thread) for thread in range(N_THREADS)))
    assert model.class_count_.tolist() == [N_TIMES] * N_THREADS


def test_weighted_drop_ins_lose_no_row():
    """What `GaussianNB` keeps besides the model is replaced together with it."""
    model = GaussianNB().partial_fit(*FIRST, classes=["ant", "bee"], sample_weight=np.full(12, 2.0))

    def learn():
        for _ in range(N_TIMES):
            model.partial_fit(FIRST[0][:1], FIRST[1][:1], sample_weight=[3.0])

    together(learn, learn, learn)
    again = GaussianNB().fit(*FIRST, sample_weight=np.full(12, 2.0))
    for _ in range(3 * N_TIMES):
        again.partial_fit(FIRST[0][:1], FIRST[1][:1], sample_weight=[3.0])
    assert model.class_count_.tolist() == again.class_count_.tolist()
    assert model.epsilon_ == again.epsilon_


def test_learning_forgetting_decaying_and_adding_at_the_same_time():
    """Afterwards the model is that of one thread, whatever the order was."""
    model, other = textbook().fit(*FIRST), textbook().fit(*SECOND)
    row = FIRST[0][:1], FIRST[1][:1]

    def repeat(work):
        for _ in range(N_TIMES):
            work()

    def learn_and_forget():
        model.partial_fit(*row)
        model.forget(*row)

    def add():
        shared = model
        shared += other

    together(
        partial(repeat, lambda: model.partial_fit(*SECOND)),
        partial(repeat, learn_and_forget),
        partial(repeat, lambda: model.decay(1.0)),
        partial(repeat, add),
    )
    expected = textbook().fit(*FIRST)
    for _ in range(2 * N_TIMES):
        expected.partial_fit(*SECOND)
    assert model.statistics_ == expected.statistics_


def test_rows_of_columns_that_were_empty_at_first():
    """Batches that are counted under an older schema are counted again: all threads fill the empty column."""
    expected = textbook().fit({"x": [1.0], "s": [None]}, ["a"])
    rows = [({"x": [float(n)], "s": [f"v{n % 3}"]}, ["a" if n % 2 else "b"]) for n in range(12)]
    for one in rows:
        expected.partial_fit(*one)
    model = textbook().fit({"x": [1.0], "s": [None]}, ["a"])
    together(*(partial(model.partial_fit, *one) for one in rows))
    assert model.statistics_ == expected.statistics_
    assert model.schema_ == expected.schema_


def test_fit_replaces_everything():
    model = textbook().fit(*FIRST)
    together(*[partial(model.fit, *SECOND)] * 3)
    assert model.statistics_ == textbook().fit(*SECOND).statistics_


def test_a_refused_batch_releases_the_others():
    model = textbook().fit(*FIRST)
    with pytest.raises(ForgetError):
        model.forget(*SECOND)
    together(partial(model.partial_fit, *SECOND))
    assert model.class_count_.sum() == 24


def test_adding_in_place_learns_what_the_other_has_learnt():
    model = textbook().fit(*FIRST)
    alias = model
    model += textbook().fit(*SECOND)
    assert alias is model
    assert model.statistics_ == (textbook().fit(*FIRST) + textbook().fit(*SECOND)).statistics_
    model += textbook()  # has learnt nothing
    assert model.class_count_.sum() == 24
    empty = textbook(prior="uniform")
    empty += model
    assert empty.prior == "uniform"
    assert empty.statistics_ == model.statistics_
    with pytest.raises(TypeError):
        model += 3


# -- saving, copying, interrupting ------------------------------------------------------------------------------------


def test_saved_models_are_those_of_one_state(tmp_path):
    states = [textbook().fit(*FIRST)]
    for _ in range(20):
        states.append(copy.deepcopy(states[-1]).partial_fit(*SECOND))
    possible = [one.statistics_ for one in states]
    model, done, files = textbook().fit(*FIRST), threading.Event(), []

    def learn():
        try:
            for _ in range(20):
                model.partial_fit(*SECOND)
        finally:
            done.set()

    def save(name):
        files.append(tmp_path / f"{name}-{len(files)}.json")
        model.save(files[-1])

    together(learn, partial(until, done, partial(save, "one")), partial(until, done, partial(save, "two")))
    assert all(naively.load(file).statistics_ in possible for file in files)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_their_own_way(copied):
    model = textbook().fit(*FIRST)
    answer, before = model.predict_proba(ROWS), model.statistics_
    other = copied(model)
    assert np.array_equal(other.predict_proba(ROWS), answer)
    other.set_params(prior="uniform").partial_fit(*SECOND)
    assert model.statistics_ == before
    assert np.array_equal(model.predict_proba(ROWS), answer)
    assert learning_lock(other) is not learning_lock(model)
    assert not hasattr(clone(model), "classes_")


def test_a_copy_with_other_parameters_leaves_the_estimates_alone():
    model = textbook().fit(*FIRST)
    scorer = model._estimated()[0]
    copy.copy(model).set_params(families="studentt").predict(ROWS)
    assert model._estimated()[0] is scorer


def interrupted_after(n_lines, work):
    """Do the work, and interrupt it at the n-th line of the package. Whether that came to pass."""
    left = [n_lines]

    def trace(frame, event, _):
        if not frame.f_globals.get("__name__", "").startswith(("naively.classifier", "naively._model.state")):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not line.startswith("with "):  # the end of one is traced, but no signal is handled there
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget", "decay", "+="])
def test_an_interrupt_leaves_the_old_or_the_new_state(method):
    def work(model):
        if method == "decay":
            model.decay(0.5)
        elif method == "+=":
            model += textbook().fit(*SECOND)
        else:
            getattr(model, method)(*(FIRST if method == "forget" else SECOND))

    start = textbook().fit(*FIRST).partial_fit(*FIRST)
    end = copy.deepcopy(start)
    work(end)
    n_lines, seen = 1, set()
    model = copy.deepcopy(start)
    while interrupted_after(n_lines, partial(work, model)):
        expected = start if model.statistics_ == start.statistics_ else end
        seen.add(expected is start)
        assert model.statistics_ == expected.statistics_
        assert model.classes_.tolist() == expected.classes_.tolist()
        assert np.array_equal(model.predict_proba(ROWS), expected.predict_proba(ROWS))
        together(partial(model.decay, 1.0))  # nobody waits for ever
        model, n_lines = copy.deepcopy(start), n_lines + 1
    assert True in seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_learn_though_a_thread_of_its_parent_was_learning():
    model = textbook().fit(*FIRST)
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads and fork, which is what this is about
        lock = learning_lock(model)
        pool.submit(lock.acquire).result()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            model.partial_fit(*SECOND)
            os._exit(0 if model.class_count_.sum() == 24 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        pool.submit(lock.release).result()


# -- the process ------------------------------------------------------------------------------------------------------


def test_blas_gets_its_threads_back_in_whatever_order_threads_end():
    def n_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with ThreadpoolController().select(user_api="blas").limit(limits=2):
        before = n_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(n_threads()) <= {1}
        second.__exit__(None, None, None)
        assert n_threads() == before


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_threads_that_ask_first_together_estimate_once(recipe, monkeypatch):
    model = NaiveBayes(recipe).partial_fit(*FIRST)  # which leaves estimating to whoever asks first
    expected = copy.deepcopy(model).predict_proba(ROWS)
    calls, barrier = [], threading.Barrier(6)
    estimate = NaiveBayes._scorer

    def counted(self, recipe):
        calls.append(threading.get_ident())
        sleep(0.05)  # the others arrive meanwhile
        return estimate(self, recipe)

    monkeypatch.setattr(NaiveBayes, "_scorer", counted)
    answers = []

    def ask():
        barrier.wait()
        answers.append(model.predict_proba(ROWS))

    together(*[ask] * 6)
    assert len(calls) == 1
    assert len(answers) == 6
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)


def test_threads_that_learn_columns_classes_and_rows_lose_none():
    model = NaiveBayes("textbook")
    batches = [
        [({"x": float(number), f"z{thread}": "uv"[number % 2]}, f"class {thread}") for number in range(20)]
        for thread in range(4)
    ]

    def learn(rows):
        for record, label in rows:
            model.partial_fit(record, label)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaivelyWarning)  # new and lacking columns
        together(*[partial(learn, rows) for rows in batches])
    everything = [row for rows in batches for row in rows]
    whole = NaiveBayes("textbook").fit([record for record, _ in everything], [label for _, label in everything])
    assert model.statistics_ == whole.statistics_
