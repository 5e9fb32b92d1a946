"""A process that compiles kernels into Numba's cache, while this one goes on with the references.

It is started by the first kernel that has no code yet, is told which ones are wanted, one after the other, and ends
with the process that started it, whatever happens to that one. It prints nothing, and where it cannot be started the
references go on with the work.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

Wanted = tuple[str, str, Any]
"""A kernel's module and name, and the types of its arguments."""

WATCH_SECONDS = 0.5

# -- the process that wants kernels -----------------------------------------------------------------------------------

_lock = threading.Lock()
_compiler: subprocess.Popen[bytes] | None = None
_asked: set[tuple[str, str, str]] = set()
_cannot_start = False


def compile_later(module: str, name: str, types: Any) -> None:
    """Let a kernel be compiled for arguments of these types; asked again, this does nothing."""
    wanted = (module, name, str(types))
    with _lock:
        if wanted in _asked or _cannot_start:
            return
        _asked.add(wanted)
        _send((module, name, types))


def _send(wanted: Wanted) -> None:
    global _compiler, _cannot_start
    try:
        if _compiler is None:
            _compiler = _started()
            atexit.register(stop)
        assert _compiler.stdin is not None
        pickle.dump(wanted, _compiler.stdin)
        _compiler.stdin.flush()
    except (OSError, ValueError, AttributeError):  # no process may be started here, or it is gone
        _cannot_start = True


def _started() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from naively._kernels.background import run; run({os.getpid()})"
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NAIVELY_KERNELS": "compiled"},
    )


def stop() -> None:
    """End the process; what it was compiling is left to another one."""
    global _compiler
    with _lock:
        compiler, _compiler = _compiler, None
    if compiler is not None:
        compiler.kill()
        with suppress(OSError):  # what was not sent yet
            assert compiler.stdin is not None
            compiler.stdin.close()
        compiler.wait()


def _forget() -> None:
    """In a fork: the process belongs to the parent."""
    global _lock, _compiler
    _lock, _compiler = threading.Lock(), None
    _asked.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# -- the process that compiles ----------------------------------------------------------------------------------------


def run(parent: int) -> None:
    """Compile what is asked for on standard input, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the one that we work for
    if hasattr(os, "nice"):
        os.nice(10)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    while True:
        try:
            module, name, types = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        compile_now(module, name, types)


def _watch(parent: int) -> None:
    """End with the process that we work for, even while the compiler is busy."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(0)


def compile_now(module: str, name: str, types: Any) -> None:
    """Compile a kernel, unless another process did so meanwhile."""
    kernel = getattr(import_module(module), name)
    with suppress(Exception), _alone(kernel):  # whatever it is, the references go on with the work
        kernel.compile(types)


@contextmanager
def _alone(kernel: Any) -> Iterator[None]:
    """Let one process at a time compile into a cache: the others then find the code there."""
    try:
        import fcntl
    except ImportError:  # Windows: two may compile the same
        yield
        return
    path = Path(kernel._cache.cache_path) / "naively.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
