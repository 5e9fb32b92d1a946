"""A PostgreSQL server of our own: made, started and stopped in a folder, on loopback, by a user who is not root."""

import getpass
import os
import pwd
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def binaries() -> Path:
    """The folder of initdb and pg_ctl, which Debian keeps out of the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert folders, "PostgreSQL is not installed: apt-get install postgresql"
    return folders[-1]


@contextmanager
def server():
    """A running server; gives the arguments of `psycopg.connect`."""
    owner = "postgres" if os.geteuid() == 0 else getpass.getuser()  # PostgreSQL refuses to run as root
    account = pwd.getpwnam(owner)
    with TemporaryDirectory(prefix="naively-postgres-") as folder:
        os.chown(folder, account.pw_uid, account.pw_gid)
        data, port = Path(folder) / "data", _free_port()
        _run(owner, "initdb", "-D", data, "-U", "naively", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        _run(owner, "pg_ctl", "-D", data, "-l", Path(folder) / "log", "-w", "-t", "120", "-o", options, "start")
        try:
            yield {"host": "127.0.0.1", "port": port, "user": "naively", "dbname": "postgres"}
        finally:
            _run(owner, "pg_ctl", "-D", data, "-w", "-m", "fast", "stop")


def _run(owner: str, command: str, *arguments) -> None:
    call = [str(binaries() / command), *map(str, arguments)]
    user = {"user": owner, "group": pwd.getpwnam(owner).pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        call, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **user
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
