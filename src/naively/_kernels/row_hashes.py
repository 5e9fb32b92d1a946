"""The hash of the numbers of each row."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively.typing import AnyArray, FloatArray


@kernel
def add_number_hashes(hashes: AnyArray, block: FloatArray, salts: AnyArray) -> None:
    """Add to each row's hash the mixed bits of its known numbers (SplitMix64, salted by column)."""
    bits = block.view(np.uint64)
    for row in range(len(hashes)):
        total = hashes[row]
        for column in range(len(salts)):
            value = block[row, column]
            if value == value:
                cell = bits[row, column] if value != 0.0 else np.uint64(0)
                cell ^= salts[column]
                cell = (cell ^ (cell >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                cell = (cell ^ (cell >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                total += cell ^ (cell >> np.uint64(31))
        hashes[row] = total
