"""The drop-ins and the classifiers that they stand in for, side by side."""

import numpy as np
import sklearn.naive_bayes as theirs

import naively.sklearn as ours

NAMES = ours.__all__
DISCRETE = [name for name in NAMES if name != "GaussianNB"]
COUNTING = [name for name in DISCRETE if name != "CategoricalNB"]

PARAMETERS = {
    "GaussianNB": [{}, {"var_smoothing": 0.01}, {"priors": [0.2, 0.3, 0.5]}],
    "BernoulliNB": [{}, {"alpha": 0.1, "binarize": 2.0}, {"fit_prior": False}],
    "MultinomialNB": [{}, {"alpha": [0.5, 1.0, 2.0, 3.0]}, {"class_prior": [0.2, 0.3, 0.5]}, {"fit_prior": False}],
    "ComplementNB": [{}, {"norm": True}, {"alpha": [0.5, 1.0, 2.0, 3.0]}, {"class_prior": [0.2, 0.3, 0.5]}],
    "CategoricalNB": [{}, {"min_categories": 9}, {"min_categories": [9, 1, 12, 3]}, {"alpha": 0.01}],
}
SAME = [(name, parameters) for name, choices in PARAMETERS.items() for parameters in choices]
ATTRIBUTES = {
    "GaussianNB": ["theta_", "var_", "epsilon_", "class_prior_"],
    "CategoricalNB": ["category_count_", "feature_log_prob_", "n_categories_", "class_log_prior_"],
    **{name: ["feature_count_", "feature_log_prob_", "class_log_prior_"] for name in COUNTING},
}
ATTRIBUTES["ComplementNB"].append("feature_all_")
METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]


def our(name, **parameters):
    return getattr(ours, name)(**parameters)


def their(name, **parameters):
    return getattr(theirs, name)(**parameters)


def some_rows():
    """Codes, classes and weights."""
    random = np.random.default_rng(7)
    X, y = random.integers(0, 6, (60, 4)), np.repeat(["a", "b", "c"], [30, 20, 10])
    return X, y, random.random(60) * 3
