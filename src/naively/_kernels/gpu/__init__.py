"""The CUDA sources, compiled at run time for the types and sizes at hand: no compiler is needed on the machine."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=64)
def attributes(device: int) -> dict[str, int]:
    """What a GPU has, by the names of CUDA's attributes; all are asked for at once, which takes a while.

    Parameters
    ----------
    device : int
        The number of the GPU.
    """
    import cupy

    return dict(cupy.cuda.Device(device).attributes)


@lru_cache(maxsize=256)
def kernel(source: str, name: str, device: int, before: str = "", **options: Any) -> Any:
    """A function of one of the sources, compiled with these names defined.

    Parameters
    ----------
    source : str
        The file, without its ending.
    name : str
        The function in it.
    device : int
        The number of the GPU that it is compiled for.
    before : str, optional
        Code that the source needs to stand before it.
    **options
        The names that the source wants to be defined.
    """
    import cupy

    folder = files(__name__)
    defined = "".join(f"#define {option} {value}\n" for option, value in sorted(options.items()))
    texts = [folder.joinpath(f"{part}.cu{'h' * (part == 'cells')}").read_text("utf-8") for part in ("cells", source)]
    with cupy.cuda.Device(device):
        module = cupy.RawModule(code="\n".join([defined, texts[0], before, texts[1]]), options=("--std=c++17",))
        return module.get_function(name)
