"""Which columns to keep: by what each tells, by what each adds to the others, and without those that repeat others.

>>> from naively.analysis.selection import SelectByEvidence, drop_correlated, forward_selection
"""

from __future__ import annotations

from naively.analysis.selection._by_evidence import SelectByEvidence
from naively.analysis.selection._correlated import Correlated, drop_correlated
from naively.analysis.selection._forward import ForwardSelection, forward_selection

__all__ = ["Correlated", "ForwardSelection", "SelectByEvidence", "drop_correlated", "forward_selection"]
