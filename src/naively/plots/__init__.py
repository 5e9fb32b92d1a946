"""Pictures of a model, drawn with matplotlib, which is imported when the first one is drawn.

Every function takes the Axes to draw on, or makes some, and returns them.
"""

from naively.plots._answers import plot_evidence, plot_reliability
from naively.plots._columns import plot_densities, plot_images
from naively.plots._surfaces import plot_decision_surface, plot_ties

__all__ = [
    "plot_decision_surface",
    "plot_densities",
    "plot_evidence",
    "plot_images",
    "plot_reliability",
    "plot_ties",
]
