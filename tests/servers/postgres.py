"""
A real PostgreSQL on loopback, with a directory of its own: killed, started again, and asked by its own psql.

It is the one on the PATH or where Debian puts it, which is installed where that is allowed. initdb refuses root, so that as
root it runs as the user `postgres` that comes with the package, else as `nobody`.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.servers.build import Progress
from tests.servers.found import ServersError
from tests.servers.kept import Kept
from tests.servers.packages import install

NAME = "postgres"
PACKAGES = ("postgresql",)
USER, PASSWORD, DATABASE = "remuda", "opensesame", "history"
MAKE_S = 120.0
_DEBIAN = Path("/usr/lib/postgresql")


def find_postgres(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The directory of the server's programs, or None: of REMUDA_SERVERS first, then of the PATH, then Debian's newest."""
    places = [Path(environ["REMUDA_SERVERS"])] if environ.get("REMUDA_SERVERS") else []
    if found := shutil.which(NAME, path=environ.get("PATH")):
        places.append(Path(found).resolve().parent)
    if _DEBIAN.is_dir():
        versions = [each for each in _DEBIAN.iterdir() if each.name.isdigit()]
        places += [each / "bin" for each in sorted(versions, key=lambda each: int(each.name), reverse=True)]
    return next((each for each in places if all((each / name).is_file() for name in (NAME, "initdb"))), None)


def get_postgres(progress: Progress, environ: Mapping[str, str] = os.environ) -> Path:
    """Find the server, or install Debian's. Raises ServersError with what helps where that cannot be."""
    found = find_postgres(environ)
    if found is None:
        install(NAME, PACKAGES, progress, environ)
        found = find_postgres(environ)
    if found is None:
        raise ServersError(f"{NAME} was installed and is neither on the PATH nor in {_DEBIAN}")
    return found


class PostgresServer:
    """
    One server with data of its own, gone after `close`. `settings` are of postgresql.conf.

    One that `follows` another is a standby of it, until `promote`.
    """

    def __init__(self, programs: Path, follows: "PostgresServer | None" = None, **settings: str) -> None:
        self._programs = programs
        self._kept = Kept()
        try:
            self._prefix = _as_another_user(self._kept.directory)
            self._data = self._kept.directory / "data"
            self.port = _free_port()
            if follows is None:
                self._make()
            else:
                self._copy(follows)
            lines = {
                "listen_addresses": "'127.0.0.1'",
                "unix_socket_directories": "''",
                "fsync": "on",
                **settings,
            }
            with (self._data / "postgresql.conf").open("a") as config:
                config.writelines(f"{name} = {value}\n" for name, value in lines.items())
            self.start()
            if follows is None:
                self.psql(f"CREATE DATABASE {DATABASE}", database="postgres")
        except BaseException:
            self._kept.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def url(self, schema: str = "", *, password: str = PASSWORD, database: str = DATABASE) -> str:
        """What `--store` is given."""
        options = f"?schema={schema}" if schema else ""
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}{options}"

    def url_with(self, other: "PostgresServer", schema: str) -> str:
        """What `--store` is given where the other may take over."""
        hosts = f"127.0.0.1:{self.port},127.0.0.1:{other.port}"
        options = f"schema={schema}&target_session_attrs=read-write"
        return f"postgresql://{USER}:{PASSWORD}@{hosts}/{DATABASE}?{options}"

    def wait_for_standbys(self) -> None:
        """From now on each commit waits until a standby has it, too."""
        self.psql("ALTER SYSTEM SET synchronous_standby_names TO '*'")
        self.psql("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Make a primary of a standby."""
        assert self.psql("SELECT pg_promote()") == "t"

    def start(self) -> None:
        """Start it, after `kill` again with the same data."""
        command = [*self._prefix, str(self._programs / NAME), "-D", str(self._data), "-p", str(self.port)]
        self._kept.start(NAME, command, self._is_ready)

    def kill(self) -> None:
        """
        End it as a power cut does, with what belongs to it: it has no moment to write anything.

        None of it is left afterwards: a server does not start while one of another holds its memory.
        """
        first = self._pid()
        os.kill(first, signal.SIGSTOP)
        _wait_for(first, "T")  # from now on it makes no child that would be missed
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self._kept.kill(NAME)
        for child in children:
            _wait_for(int(child), "Z")
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def signal(self, number: int) -> None:
        """Send a signal to its first process."""
        os.kill(self._pid(), number)

    def _pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split("\n")[0])

    def psql(self, statement: str, *, database: str = DATABASE) -> str:
        """What psql prints for a statement, a line for each row and bars between columns."""
        ran = subprocess.run(
            [str(self._programs / "psql"), "-XqAtw", "-v", "ON_ERROR_STOP=1", "-c", statement],
            env=self._environ(database),
            capture_output=True,
            text=True,
            check=False,
            timeout=MAKE_S,
        )
        if ran.returncode:
            raise ServersError(f"psql -c {statement!r} exited with {ran.returncode}: {ran.stderr}")
        return ran.stdout.strip()

    def close(self) -> None:
        """End it and remove its data."""
        self._kept.close()

    def _environ(self, database: str) -> dict[str, str]:
        connection = {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}
        return {**os.environ, **connection, "PGDATABASE": database, "PGCONNECT_TIMEOUT": "2"}

    def _is_ready(self) -> bool:
        command = [str(self._programs / "psql"), "-XqAtwc", "SELECT 1"]
        return not subprocess.run(
            command, env=self._environ("postgres"), capture_output=True, check=False, timeout=MAKE_S
        ).returncode

    def _make(self) -> None:
        password = self._kept.directory / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        command = [*self._prefix, str(self._programs / "initdb"), "-D", str(self._data), "-U", USER]
        command += ["-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--locale=C", "--no-sync"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAKE_S)
        if ran.returncode:
            raise ServersError(f"initdb exited with {ran.returncode}\n{ran.stdout}{ran.stderr}")

    def _copy(self, primary: "PostgresServer") -> None:
        command = [*self._prefix, str(self._programs / "pg_basebackup"), "-D", str(self._data)]
        command += ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
        environ = primary._environ(DATABASE)
        ran = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=MAKE_S
        )
        if ran.returncode:
            raise ServersError(f"pg_basebackup exited with {ran.returncode}\n{ran.stdout}{ran.stderr}")


def _wait_for(process: int, state: str) -> None:
    """Wait until a process is in a state of /proc, or gone."""
    deadline = time.monotonic() + MAKE_S
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != state:
            if time.monotonic() > deadline:
                raise ServersError(f"process {process} is not {state} after {MAKE_S:.0f} s")
            time.sleep(0.01)


def _as_another_user(directory: Path) -> Sequence[str]:
    """What a command begins with so that it is not run as root, for whom the directory is given away then."""
    if os.geteuid() != 0:
        return ()
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(directory, user.pw_uid, user.pw_gid)
        return ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--")
    raise ServersError("initdb refuses root, and there is neither a user postgres nor nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
