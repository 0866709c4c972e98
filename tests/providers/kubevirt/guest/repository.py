"""The package repository of a guest's runner: a real package, its signed lists, and the script that adds them."""

import hashlib
import shutil
import subprocess
from email.utils import formatdate
from pathlib import Path

from tests.servers.guest_image import tool

_SOURCES = Path(__file__).parent / "package"
_LIST = (
    "deb [signed-by=/etc/apt/keyrings/circleci_runner-archive-keyring.gpg] "
    "https://packagecloud.io/circleci/runner/any/ any main\n"
)
_INSTALL = "/install/repositories/circleci/runner"
_LISTS = "/circleci/runner/any/dists/any"
#: where the package's files go, and with which mode
_FILES = {
    "circleci-runner": ("usr/bin", 0o755),
    "circleci-runner.service": ("lib/systemd/system", 0o644),
    "circleci-runner-config.yaml": ("etc/circleci-runner", 0o640),
    "control": ("DEBIAN", 0o644),
    "postinst": ("DEBIAN", 0o755),
}
#: before any guest was saved: it goes on with the clock it had, and lists or keys of its future are not valid
_MADE_AT = 1_767_225_600
PACKAGE = "circleci-runner_3.1.0_amd64.deb"
POOL = f"/circleci/runner/any/pool/{PACKAGE}"
RELEASE = f"{_LISTS}/InRelease"
SCRIPT = f"{_INSTALL}/script.deb.sh"


def build_package(directory: Path) -> Path:
    """Build the runner's package in a directory."""
    tree = directory / "tree"
    for name, (where, mode) in _FILES.items():
        (tree / where).mkdir(parents=True, exist_ok=True)
        shutil.copy(_SOURCES / name, tree / where / name)
        (tree / where / name).chmod(mode)
    (tree / "DEBIAN/conffiles").write_text("/etc/circleci-runner/circleci-runner-config.yaml\n")
    made = directory / PACKAGE
    _run("dpkg-deb", "--root-owner-group", "--build", str(tree), str(made))
    return made


def repository(directory: Path, package: Path) -> dict[str, bytes]:
    """What the repository answers, by path; signed with a new key."""
    data = package.read_bytes()
    control = (_SOURCES / "control").read_text().rstrip("\n")
    packages = (
        f"{control}\nFilename: pool/{PACKAGE}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    ).encode()
    release = (
        "Origin: tests\nSuite: any\nCodename: any\nArchitectures: amd64\nComponents: main\n"
        f"Date: {formatdate(_MADE_AT, usegmt=True)}\n"
        f"SHA256:\n {hashlib.sha256(packages).hexdigest()} {len(packages)} main/binary-amd64/Packages\n"
    )
    home = directory / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ("--homedir", str(home), "--batch", "--quiet", "--faked-system-time", str(_MADE_AT))
    try:
        _run(
            "gpg",
            *gpg,
            "--passphrase",
            "",
            "--quick-gen-key",
            "tests@example.com",
            "ed25519",
            "sign",
            "never",
        )
        key = _run("gpg", *gpg, "--armor", "--export")
        signed = _run("gpg", *gpg, "--clearsign", stdin=release.encode())
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, timeout=60)
    return {
        SCRIPT: (_SOURCES / "script.deb.sh").read_bytes(),
        f"{_INSTALL}/config_file.list": _LIST.encode(),
        "/circleci/runner/gpgkey": key,
        RELEASE: signed,
        f"{_LISTS}/main/binary-amd64/Packages": packages,
        POOL: data,
    }


def _run(name: str, *arguments: str, stdin: bytes = b"") -> bytes:
    ran = subprocess.run([tool(name), *arguments], input=stdin, capture_output=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout
