"""Reading a file of limited size, and replacing one in a single step."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from naively.errors import ModelFileError

STALE_SECONDS = 3600.0
"""Where files cannot be locked, a temporary one that nobody wrote to for so long was left behind."""

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def shown(path: AnyPath) -> str:
    """A path as the user gave it, as text."""
    return os.fsdecode(path)


# -- reading --------------------------------------------------------------------------------------------------------


def read_bytes(path: AnyPath, largest: int) -> bytes:
    """All of a regular file; one of more than `largest` bytes, and anything else that a path can name, is refused."""
    _refuse_irregular(Path(shown(path)).stat().st_mode, path)  # before it is opened: to open a device may do something
    handle = os.open(path, os.O_RDONLY | _flags("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        _refuse_irregular(found.st_mode, path)  # it may have changed between the two
        content = b"" if found.st_size > largest else file.read(found.st_size + 1)
    size = max(found.st_size, len(content))
    if size > largest:
        raise ModelFileError(
            f"{shown(path)} has {size:,} bytes, more than the allowed {largest:,}. Raise load(largest=...)."
        )
    return content


def _refuse_irregular(mode: int, path: AnyPath) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise ModelFileError(f"{shown(path)} is {kind}; a model is kept in a regular file. Give the path of one.")


def _flags(*names: str) -> int:
    """Those flags of `os.open` that the platform has."""
    result = 0
    for name in names:
        result |= getattr(os, name, 0)
    return result


# -- writing --------------------------------------------------------------------------------------------------------


def replace_file(path: AnyPath, write: Callable[[IO[str]], Any], private: bool) -> None:
    """Write a text file beside its target and move it there: a reader finds the old one or the new one, never half.

    Parameters
    ----------
    path : path
        Symbolic links are followed. A file that is there keeps its mode and, where that is allowed, its owner.
    write : callable
        Writes the content to an open file.
    private : bool
        Whether a new file is for its owner alone, and not as readable as any other.
    """
    target = Path(os.path.realpath(shown(path)))
    before = _status(target)
    if before is not None:
        _refuse_irregular(before.st_mode, path)
    folder, prefix = target.parent, _prefix(target)
    try:
        handle, temporary = _created(folder, prefix, 0o600 if private or before is not None else 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, shown(path)) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            write(file)
            file.flush()
            _copy_access(before, file.fileno())
            os.fsync(file.fileno())
            if fcntl is not None:  # elsewhere an open file cannot be moved, and here its lock must last till then
                temporary.replace(target)
        if fcntl is None:
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(folder)
    _remove_stale(folder, prefix)


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _prefix(target: Path) -> str:
    """What the temporary files of a target begin with: short, however long its name is."""
    name = os.fsencode(target.name)
    return f".naively-{hashlib.blake2b(name, digest_size=6).hexdigest()}-"


def _created(folder: Path, prefix: str, mode: int) -> tuple[int, Path]:
    """A new file, open and locked as long as it is open; the kernel takes the umask off its mode."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _flags("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY")
    while True:
        temporary = folder / f"{prefix}{secrets.token_hex(6)}.tmp"
        try:
            handle = os.open(temporary, flags, mode)
        except FileExistsError:
            continue
        if _locked(handle) is not False and os.fstat(handle).st_nlink > 0:
            return handle, temporary
        os.close(handle)  # another process took it for one left behind before we could lock it


def _locked(handle: int) -> bool | None:
    """Lock an open file, for as long as it is open; False: another has locked it, None: files cannot be locked here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not every file system can
        return None
    return True


def _copy_access(before: os.stat_result | None, handle: int) -> None:
    """Give an open file the owner, the group and the mode that another one has, as far as that is allowed."""
    if before is None or not hasattr(os, "fchmod"):
        return
    mode, now = stat.S_IMODE(before.st_mode), os.fstat(handle)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except OSError:  # only root may give files away, but the group may be one of ours
            try:
                os.fchown(handle, -1, before.st_gid)
            except OSError:
                mode &= ~stat.S_IRWXG  # what the old group was allowed is not for another one
    os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a loss of power, where the platform can; the file itself is complete either way."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _flags("O_CLOEXEC"))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_stale(folder: Path, prefix: str) -> None:
    """Remove what killed processes left of earlier writes to the same target.

    A process locks what it writes, and the lock goes with the process. What cannot be removed is no fault of this
    write, which is done.
    """
    with contextlib.suppress(OSError):
        for temporary in list(_temporaries(folder, prefix)):
            with contextlib.suppress(OSError):
                _remove_if_stale(temporary)


def _temporaries(folder: Path, prefix: str) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(".tmp") and entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _remove_if_stale(temporary: Path) -> None:
    handle = os.open(temporary, os.O_RDONLY | _flags("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
    try:
        locked = _locked(handle)
        unused = time.time() - os.fstat(handle).st_mtime > STALE_SECONDS if locked is None else locked
        if unused and fcntl is not None:
            temporary.unlink()
    finally:
        os.close(handle)
    if unused and fcntl is None:  # where an open file cannot be removed
        temporary.unlink()
