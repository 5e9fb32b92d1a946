"""Pictures of a model, drawn with matplotlib, which is imported when the first one is drawn.

Every function takes the Axes to draw on, or makes some, and returns them.
"""

from naively.plots._answers import plot_evidence, plot_reliability
from naively.plots._columns import plot_densities, plot_effect, plot_images
from naively.plots._course import plot_bayes_error, plot_copies, plot_outliers, plot_smoothing
from naively.plots._drift import plot_drift
from naively.plots._judged import plot_confusion, plot_precision_recall, plot_prior, plot_roc
from naively.plots._model import plot_importance, plot_model, plot_words
from naively.plots._nomogram import plot_nomogram
from naively.plots._surfaces import plot_decision_surface, plot_ties

__all__ = [
    "plot_bayes_error",
    "plot_confusion",
    "plot_copies",
    "plot_decision_surface",
    "plot_densities",
    "plot_drift",
    "plot_effect",
    "plot_evidence",
    "plot_images",
    "plot_importance",
    "plot_model",
    "plot_nomogram",
    "plot_outliers",
    "plot_precision_recall",
    "plot_prior",
    "plot_reliability",
    "plot_roc",
    "plot_smoothing",
    "plot_ties",
    "plot_words",
]
