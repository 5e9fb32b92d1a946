"""Models that are exported in the tests, and rows on which exports must answer as the models do."""

import datetime

import numpy as np
import pandas as pd

from naively import NaiveBayes
from naively.families import Bernoulli, Binned, Date, Exponential, Gamma, Gaussian, Kernel, Poisson, StudentT

HOSTILE = '"; drop table x; --'
NAMES = ["age", HOSTILE, "a`b.c", "{x} % $1 \\ 'q'", "select", "naïve 雪"]
LABELS = [
    "plain",
    "it's",
    'a "b"',
    "back\\slash",
    "'; drop table x; --",
    "line\nbreak",
    "ünïcode",
    "${x} {0} %s",
    "",
    " ",
]
CLASSES = ["yes", "no'; drop table x; --", 'may"be']
N = 400
LARGEST = float(np.finfo(np.float64).max)


def rows(seed=0, n=N):
    """Numbers, labels, booleans and missing cells, under names and values that are hard to quote."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            NAMES[0]: random.normal(y, 1.5),
            NAMES[1]: random.normal(1e6 + 10 * y, 4.0),
            NAMES[2]: random.exponential(1.0 + y),
            NAMES[3]: np.array(LABELS, dtype=object)[(random.integers(0, 8, n) + y) % 8],
            NAMES[4]: random.random(n) < 0.2 + 0.3 * y,
            NAMES[5]: random.integers(0, 40, n) + 3 * y,
        }
    )
    frame[NAMES[4]] = frame[NAMES[4]].astype(object)
    for name in frame.columns:
        frame.loc[random.random(n) < 0.06, name] = None
    return frame, np.array(CLASSES, dtype=object)[y]


def rows_to_answer(seed=1, n=300):
    """Rows with labels never seen, numbers far outside, whole rows missing, and the values of knots."""
    frame, _ = rows(seed, n)
    learnt, _ = rows()
    frame.loc[:20, NAMES[3]] = "never seen"
    frame.loc[10:30, NAMES[0]] = [1e6, -1e6, 0.0, -0.0, 1e-300, 5e-324, 1e30, *learnt[NAMES[0]].iloc[:14]]
    frame.loc[25:40, NAMES[2]] = [1e-9, 1e9, *learnt[NAMES[2]].iloc[:14]]
    frame.loc[40:44] = None
    frame.loc[50:60, NAMES[5]] = [-1.0, 0.0, 1e5, 0.5, *learnt[NAMES[5]].iloc[:7]]
    return frame


DATED = ["when", "on 'the' day", "at", "said"]


def dates(seed=0, n=N):
    """Dates before and after 1970 with and without a time, times of day, and dates as text; some missing."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    start = datetime.datetime(1968, 2, 28)
    moments = [start + datetime.timedelta(microseconds=int(1e6 * s)) for s in random.uniform(0, 1e8, n) + 3e7 * y]
    shifted = [start + datetime.timedelta(hours=int(hour)) for hour in random.integers(0, 40_000, n) // (1 + y)]
    frame = pd.DataFrame(
        {
            DATED[0]: np.array(moments, dtype="datetime64[us]"),
            DATED[1]: pd.Series([moment.date() for moment in shifted], dtype=object),
            DATED[2]: pd.Series([moment.time() for moment in moments[::-1]], dtype=object),
            DATED[3]: pd.Series(
                [str(moment)[: 16 if place % 2 else 30] for place, moment in enumerate(shifted)], dtype=object
            ),
            NAMES[0]: random.normal(y, 1.5),
        }
    )
    for name in frame.columns:
        frame.loc[random.random(n) < 0.06, name] = None
    return frame, np.array(CLASSES, dtype=object)[y]


def dates_to_answer():
    """Dates long before and after those that were learnt, months and hours that never occurred, and missing ones."""
    frame, _ = dates(1, 300)
    days = [datetime.date(year, month, day) for year in (1600, 1900, 2000, 2100) for month, day in ((2, 28), (3, 1))]
    frame.loc[10:17, DATED[1]] = pd.Series(days, dtype=object, index=range(10, 18))
    frame.loc[20:23, DATED[0]] = np.array(
        ["1904-02-29T23:59:59", "2000-12-31", "1969-12-31T23:59:59.5", "NaT"], "M8[us]"
    )
    frame.loc[30:33] = None
    return frame


def positive(frame):
    """The rows without numbers that Poisson and the like refuse."""
    return frame.assign(**{name: frame[name].astype(float).abs() + 1e-3 for name in (NAMES[0], NAMES[2], NAMES[5])})


FAMILIES = {
    NAMES[0]: StudentT(),
    NAMES[1]: Gaussian(),
    NAMES[2]: Gamma(),
    NAMES[4]: Bernoulli(),
    NAMES[5]: Poisson(),
}
OTHERS = {NAMES[0]: Kernel(), NAMES[1]: StudentT(pooled=True), NAMES[2]: Exponential(), NAMES[5]: Binned()}


def models():
    """By name, a fitted model and rows to answer."""
    frame, y = rows()
    answer = rows_to_answer()
    near, near_answer = positive(frame), positive(answer)
    labels = {NAMES[5]: "categorical", NAMES[4]: "categorical"}
    dated, of_dates = dates()
    declared = {DATED[3]: "date"}
    return {
        "dates textbook": (NaiveBayes("textbook", families=declared).fit(dated, of_dates), dates_to_answer()),
        "dates auto": (NaiveBayes(families=declared).fit(dated, of_dates), dates_to_answer()),
        "dates impossible": (
            NaiveBayes("textbook", families={DATED[0]: Date(["month", "hour"]), **declared}, smoothing="none").fit(
                dated.iloc[:40], of_dates[:40]
            ),
            dates_to_answer(),
        ),
        "textbook": (NaiveBayes("textbook").fit(frame, y), answer),
        "auto": (NaiveBayes().fit(frame, y), answer),
        "fast": (NaiveBayes("fast").fit(frame, y), answer),
        "textbook families": (NaiveBayes("textbook", families=FAMILIES).fit(near, y), near_answer),
        "auto families": (NaiveBayes(families=FAMILIES).fit(near, y), near_answer),
        "other families": (NaiveBayes("textbook", families=OTHERS).fit(near, y), near_answer),
        "auto other families": (NaiveBayes(families=OTHERS).fit(near, y), near_answer),
        "labels of numbers": (NaiveBayes("textbook", families=labels).fit(frame, y), answer),
        "impossible": (NaiveBayes("textbook", smoothing="none").fit(frame, y), answer),
        "two classes": (NaiveBayes().fit(frame, y == CLASSES[0]), answer),
        "one class": (NaiveBayes("textbook").fit(frame, ["only"] * len(frame)), answer),
        "prior": (
            NaiveBayes("textbook", prior={CLASSES[0]: 0.0, CLASSES[1]: 0.5, CLASSES[2]: 0.5}).fit(frame, y),
            answer,
        ),
    }
