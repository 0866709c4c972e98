"""Keys and certificates for servers and their clients, made with the `openssl` command."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.servers.found import ServersError

OPENSSL_S = 60.0
DAYS = 2
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """A certificate authority in a directory of its own; `certificate` is what a client trusts."""

    def __init__(self, directory: Path, days: int = DAYS) -> None:
        directory.mkdir()
        self._days = str(days)
        self._directory = directory
        self.certificate = directory / "ca.crt"
        self._key = directory / "ca.key"
        extensions = (
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign",
        )
        self._openssl(
            "req", "-x509", *NEW_KEY, "-config", str(self._config()), *extensions, "-days", self._days,
            "-subj", "/CN=remuda-test-ca", "-keyout", str(self._key), "-out", str(self.certificate),
        )  # fmt: skip

    def issue(
        self, name: str, groups: Sequence[str] = (), *, addresses: Sequence[str] = ()
    ) -> tuple[Path, Path]:
        """
        A certificate for a common name and its key, for a server at the addresses or, without any, for a client.

        The organizations of a client are its groups.
        """
        at = self._directory / name.replace("/", "_").replace(":", "_")
        certificate, key, request = (at.with_name(f"{at.name}.{end}") for end in ("crt", "key", "csr"))
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        self._openssl(
            "req", "-new", *NEW_KEY, "-config", str(self._config()), "-subj", subject,
            "-keyout", str(key), "-out", str(request),
        )  # fmt: skip
        usage = "serverAuth" if addresses else "clientAuth"
        lines = ["basicConstraints=CA:FALSE", "authorityKeyIdentifier=keyid", f"extendedKeyUsage={usage}"]
        lines += [f"subjectAltName={','.join(addresses)}"] if addresses else []
        extensions = at.with_name(f"{at.name}.ext")
        extensions.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._openssl(
            "x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self._key),
            "-CAcreateserial", "-days", self._days, "-extfile", str(extensions), "-out", str(certificate),
        )  # fmt: skip
        return certificate, key

    def _config(self) -> Path:
        # the machine's own openssl.cnf may add what we do not want, or be missing
        path = self._directory / "openssl.cnf"
        path.write_text("[req]\ndistinguished_name=dn\n[dn]\n", encoding="utf-8")
        return path

    @staticmethod
    def _openssl(*arguments: str) -> None:
        program = shutil.which("openssl")
        if program is None:
            raise ServersError("openssl is not on the PATH; install it to run tests with real servers")
        done = subprocess.run(
            [program, *arguments], capture_output=True, check=False, timeout=OPENSSL_S, text=True
        )
        if done.returncode != 0:
            raise ServersError(f"openssl {arguments[0]} exited with {done.returncode}\n{done.stderr}")
