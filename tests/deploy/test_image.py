"""
The image: built from the Containerfile on a base of Debian's packages, and started as a cluster would start it.

That is as its own user, with a root that cannot be written and a volume for the data. No daemon and no container engine is
needed, but root is. The network is the host's.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from deploy.part_of_lock import entries
from tests.deploy.conftest import EVERY_MODULE, INSTALLED, ROOT, do
from tests.processes import DEADLINE_S, eventually

pytestmark = pytest.mark.slow

USER = 65532
BESIDE_BASE_MB = 120
#: A root that is read only, with /proc, /dev, an empty /tmp and a volume: what the rest of the words then run in.
START = """
root=$1 data=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$data" "$root/var/lib/remuda"
exec chroot --userspec="$user" --groups="${user#*:}" "$root" "$@"
"""
#: where the certificates of this host's authorities are; an index may be reached through one of its own
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its files, and how it says it wants to be started."""

    root: Path
    user: str
    environ: dict[str, str]
    entrypoint: list[str]
    beside_base_mb: float

    def command(self, data: Path, *words: str) -> list[str]:
        """What starts words in it, in namespaces of their own, with the volume `data`."""
        into = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", START, "sh"]
        return [*into, str(self.root), str(data), self.user, *words]

    def says(self, data: Path, *words: str) -> str:
        """The output of words."""
        return do(*self.command(data, *words), cwd=Path("/"), env=self.environ)


@pytest.fixture(scope="module")
def image(image_base: Path, tmp_path_factory: pytest.TempPathFactory, commit: str) -> Iterator[Image]:
    """Build it, print how large it is beside its base."""
    place = tmp_path_factory.mktemp("image")
    buildah = (
        "buildah",
        "--storage-driver=vfs",
        f"--root={place / 'storage'}",
        f"--runroot={place / 'run'}",
    )
    try:
        container = do(*buildah, "from", "scratch").strip()
        do(*buildah, "add", "--quiet", container, image_base, "/")
        do(*buildah, "commit", "--quiet", "--rm", container, "localhost/base")
        mounts = ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"] if Path(CERTIFICATES).exists() else []
        arguments = ["--build-arg", "PYTHON=localhost/base", "--build-arg", f"COMMIT={commit}"]
        where = ["--tag", "localhost/remuda", "--file", str(ROOT / "Containerfile"), str(ROOT)]
        do(*buildah, "build", "--quiet", "--isolation=chroot", *mounts, *arguments, *where)
        container = do(*buildah, "from", "--pull-never", "localhost/remuda").strip()
        root = Path(do(*buildah, "mount", container).strip())
        config = json.loads(do(*buildah, "inspect", "--type=image", "localhost/remuda"))["OCIv1"]["config"]
        with tarfile.open(image_base) as archive:
            base_mb = sum(member.size for member in archive if member.isfile()) / 1e6
        files = (path.lstat() for path in root.rglob("*"))
        # a file with two names is one file, and counts once in the archive, too
        sizes = {found.st_ino: found.st_size for found in files if stat.S_ISREG(found.st_mode)}
        yield Image(
            root,
            config["User"],
            dict(line.split("=", 1) for line in config["Env"]),
            config["Entrypoint"],
            sum(sizes.values()) / 1e6 - base_mb,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """An empty volume that belongs to the image's user."""
    made = tmp_path / "volume"
    made.mkdir(mode=0o700)
    os.chown(made, USER, USER)
    return made


def test_the_image_is_small_and_holds_what_runs_alone(
    image: Image, volume: Path, commit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\nthe image has {image.beside_base_mb:.0f} MB beside its base")  # noqa: T201 - whoever runs it wants to know
    assert image.beside_base_mb <= BESIDE_BASE_MB
    assert image.user == f"{USER}:{USER}"
    assert image.entrypoint == ["remuda"]
    assert image.environ["REMUDA_DATA_DIR"] == "/var/lib/remuda"
    assert (image.root / "var/lib/remuda").stat().st_uid == USER
    assert image.says(volume, "remuda", "--help").startswith("Usage: remuda")
    assert f"(commit {commit[:12]})" in image.says(volume, "remuda", "--version")
    image.says(volume, "python", "-c", EVERY_MODULE)
    names = set(image.says(volume, "/opt/remuda/bin/python", "-c", INSTALLED).split())
    locked = {*entries((ROOT / "deploy" / "runtime.lock").read_text(encoding="utf-8"))}
    assert names == {*locked, "remuda"}
    bill = json.loads((image.root / "opt/remuda/sbom.cdx.json").read_text(encoding="utf-8"))
    assert {part["name"] for part in bill["components"]} == locked


def test_nothing_but_its_volume_can_be_written(image: Image, volume: Path) -> None:
    tries = "id -u; for at in / /opt/remuda /etc /var/lib/remuda /tmp; do touch $at/x 2>/dev/null && echo $at; done; :"
    assert image.says(volume, "sh", "-c", tries).split() == [str(USER), "/var/lib/remuda", "/tmp"]


def test_the_laptop_example_runs_in_it_and_answers_for_its_health(
    image: Image, volume: Path, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "examples" / "laptop.yaml", volume)
    words = ["remuda", "up", "/var/lib/remuda/laptop.yaml", "--health-port", "0", "--live-port", "0"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            image.command(volume, *words), env=image.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:

        def is_ready() -> bool:
            assert process.poll() is None, (tmp_path / "log").read_text()
            port = json.loads((volume / "ports.json").read_text())["health"]
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=10) as answer:
                    return bool(json.load(answer)["ok"])
            except urllib.error.HTTPError as error:  # not ready yet; its answer holds a connection
                error.close()
                return False

        eventually(is_ready, "its health")
        ask = ["remuda", "submit", "local/shell", "--wait", "--", "id", "-u"]
        inside = ["nsenter", "--target", _child(process.pid), "--mount", "--pid", "--root", "--wd"]
        output = do(*inside, "chroot", f"--userspec={image.user}", "/", *ask, env=image.environ)
        assert output.split() == [str(USER)]
    finally:
        # what unshare started is the first process of its namespace: with it all others there end
        os.kill(int(_child(process.pid)), signal.SIGTERM)
        process.wait(DEADLINE_S)
    # now that nothing is removed meanwhile
    assert all(path.stat().st_uid == USER for path in volume.rglob("*") if path.name != "laptop.yaml")


def _child(parent: int) -> str:
    """The process that a process started: unshare stays in front of what it starts."""
    return Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()[0]
