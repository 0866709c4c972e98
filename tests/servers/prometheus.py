"""A real Prometheus on loopback: with back-dated samples, with something to scrape, or both."""

import base64
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.servers.found import ServersError
from tests.servers.kept import Kept
from tests.servers.loopback import send

NAMES = ("prometheus", "promtool")
BLOCKS_S = 600.0
_LISTENS = re.compile(r"Listening on.* address=127\.0\.0\.1:([0-9]+)")


class PrometheusServer:
    """
    One server with a store of its own, gone after `close`.

    `samples` are lines of OpenMetrics with times, which may be as old as one likes: series one after the other, without
    the end mark. `targets` are scraped every `interval_s`. With `password` the user `me` alone is let in; its hash is
    bcrypt's.
    """

    def __init__(
        self,
        programs: Mapping[str, Path],
        *,
        samples: Iterable[str] = (),
        targets: Sequence[str] = (),
        interval_s: int = 1,
        flags: Sequence[str] = (),
        password: tuple[str, str] | None = None,
    ) -> None:
        self._kept = Kept()
        self.url = ""
        directory = self._kept.directory
        try:
            self._fill(programs["promtool"], samples)
            (directory / "prometheus.yml").write_text(_config(targets, interval_s), encoding="utf-8")
            if password is not None:
                text = f"basic_auth_users:\n  me: {password[1]}\n"
                (directory / "web.yml").write_text(text, encoding="utf-8")
                flags = (*flags, f"--web.config.file={directory / 'web.yml'}")
            self._headers = _basic(password[0]) if password is not None else {}
            command = [
                str(programs["prometheus"]),
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                # samples of any age stay
                "--storage.tsdb.retention.time=100y",
                # the system gives a free port, and the log tells which
                "--web.listen-address=127.0.0.1:0",
                *flags,
            ]
            self._kept.start("prometheus", command, self._is_ready)
        except BaseException:
            self._kept.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and forget its samples."""
        self._kept.close()

    def _fill(self, promtool: Path, samples: Iterable[str]) -> None:
        file, data = self._kept.directory / "samples.txt", self._kept.directory / "data"
        data.mkdir()
        with file.open("w", encoding="utf-8") as written:
            count = sum(written.write(f"{line}\n") > 0 for line in samples)
            written.write("# EOF\n")
        if not count:
            return
        words = ["tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=1d", str(file), str(data)]
        command = [str(promtool), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BLOCKS_S)
        if done.returncode != 0:
            raise ServersError(f"promtool exited with {done.returncode}\n{done.stderr[-2000:]}")
        file.unlink()

    def _is_ready(self) -> bool:
        log = (self._kept.directory / "prometheus.log").read_text(encoding="utf-8", errors="replace")
        found = _LISTENS.search(log)
        if found is None:
            return False
        self.url = f"http://127.0.0.1:{found[1]}"
        try:
            return send("GET", f"{self.url}/-/ready", headers=self._headers).status == 200
        except OSError:
            return False


def _basic(password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"me:{password}".encode()).decode()}


def _config(targets: Sequence[str], interval_s: int) -> str:
    lines = [f"global:\n  scrape_interval: {interval_s}s\n  scrape_timeout: {interval_s}s"]
    if targets:
        lines += ["scrape_configs:", "- job_name: test", "  honor_labels: true", "  honor_timestamps: false"]
        lines += ["  static_configs:", f"  - targets: [{', '.join(targets)}]"]
    return "\n".join(lines) + "\n"
