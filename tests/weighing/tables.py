"""A synthetic table with a column for every family, drawn from its own distribution."""

import numpy as np
import pandas as pd

from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Codes,
    Complement,
    Date,
    Exponential,
    Gamma,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
    Thresholded,
)

FAMILY_OF = {
    "bernoulli": Bernoulli(threshold=1.0),
    "binned": Binned(),
    "categorical": Categorical(),
    "codes": Codes(),
    "complement": Complement(),
    "date": Date(trend=Gaussian()),
    "exponential": Exponential(),
    "gamma": Gamma(),
    "gaussian": Gaussian(ties="feature"),
    "kernel": Kernel(),
    "multinomial": Multinomial(),
    "poisson": Poisson(),
    "stacked": Stacked(),
    "studentt": StudentT(),
    "text": Text(1),
    "thresholded": Thresholded(Gaussian()),
}
WORDS = np.array(["sun", "rain", "wind", "snow", "fog", "ice"])
COUNTED = ("complement", "multinomial", "poisson")


def drawn(name, y, rng):
    """The columns of one family, by name; every class has its own distribution."""
    n = len(y)
    if name in COUNTED:
        return {f"{name}{place}": rng.poisson(1.0 + (place + y) % 3).astype(float) for place in range(2)}
    if name == "categorical":
        return {name: np.array(["red", "green", "blue", "grey"])[(y + rng.integers(0, 2, n)) % 4]}
    if name == "codes":
        return {name: (y + rng.integers(0, 3, n)).astype(float)}
    if name == "date":
        return {name: np.datetime64("2024-01-01", "ns") + (60 * y + rng.integers(0, 60, n)).astype("timedelta64[D]")}
    if name == "text":
        words = WORDS[(2 * y[:, None] + rng.integers(0, 4, (n, 5))) % 6]
        return {name: [" ".join([*row, "and", "then", "it", "was", "over"]) for row in words]}
    if name in ("exponential", "gamma"):
        return {name: rng.gamma(1.0 if name == "exponential" else 3.0, 1.0 + 3.0 * y)}
    return {name: rng.normal(size=n) + y}


def table(name, n=300, seed=0, classes=3):
    """A frame of the columns of one family with missing cells and one column beside them, the classes and families."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    columns = drawn(name, y, rng)
    frame = pd.DataFrame({**columns, "beside": rng.normal(size=n) + 0.5 * y})
    for column in frame:
        if column != "codes":
            frame.loc[rng.random(n) < 0.05, column] = np.nan if frame[column].dtype.kind == "f" else None
    return frame, y, dict.fromkeys(columns, FAMILY_OF[name])
