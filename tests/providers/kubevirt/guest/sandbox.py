"""
A machine made of a directory: user data is carried out in it as cloud-init would, by a real shell.

The root holds only the tools named here, links into the host's read-only `/usr`, and stubs for what would change a
machine: each stub appends its call to `calls` and then runs the shell snippet that a test gave it, if any.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

_DIRECTORIES = "host/usr dev/disk/by-id etc proc run tmp usr/bin usr/local/bin stubs var/lib bundle"
_TOOLS = "bash cat cut dash find grep id mkdir mv rm sort tail timeout tr uname"
_SNIPPETS = {
    "apt-get": ". /stubs/package",
    "chown": "",
    "curl": "for last; do :; done; case $last in https://packagecloud.io/*) ;; *) exit 6 ;; esac\n"
    'while [ "$1" != -o ]; do shift; done\n'
    "echo 'echo repository script >>/calls' >\"$2\"",
    "dnf": ". /stubs/package",
    "dpkg": "echo amd64",
    "mount": 'for last; do :; done; cp -r /bundle/. "$last"',
    "poweroff": "",
    "shutdown": "",
    "sleep": "",
    "sudo": "",
    "systemctl": "case $1 in cat) [ -e /lib-unit ] ;; start) ls -l /etc/circleci-runner >>/calls ;; esac",
    "umount": "",
    "uname": "echo x86_64",
}
#: what installing the package does
_PACKAGE = """
case " $* " in *" install "*circleci-runner*)
  touch /lib-unit
  echo circleci:x:1500:1500::/home/circleci:/bin/bash >>/etc/passwd
  mkdir -p /etc/circleci-runner
  echo 'shipped: true' >/etc/circleci-runner/circleci-runner-config.yaml
esac
"""
OS_RELEASE = {
    "debian": 'ID=debian\nVERSION_ID="12"\n',
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\n",
    "linuxmint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\n',
    "centos": 'ID="centos"\nID_LIKE="rhel fedora"\n',
    "rhel": 'ID="rhel"\nID_LIKE="fedora"\n',
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "ol": 'ID="ol"\nID_LIKE="fedora"\n',
    "fedora": "ID=fedora\n",
    "opensuse": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
}
#: mounts what the root needs and becomes it; the first argument is the root, the second the hostname
_ENTER = """
set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --rbind /usr "$1/host/usr"
mount -o remount,bind,ro "$1/host/usr"
mount --bind /dev/null "$1/dev/null"
mount -t proc proc "$1/proc"
hostname "$2"
root=$1
shift 2
exec chroot "$root" /host/usr/bin/env -i PATH=/usr/bin "$@"
"""


class Machine:
    """A root directory that user data can be carried out in, once or several times."""

    def __init__(self, root: Path, os_release: str, shell: str = "dash") -> None:
        self.root = root
        self.hostname = "pool-3"
        for directory in _DIRECTORIES.split():
            (root / directory).mkdir(parents=True)
        for name in ("lib", "lib32", "lib64"):
            if Path("/usr", name).exists():
                (root / name).symlink_to(f"host/usr/{name}")
                (root / "usr" / name).symlink_to(f"../host/usr/{name}")
        (root / "bin").symlink_to("usr/bin")
        for tool in _TOOLS.split():
            self._link(tool, tool)
        self._link("sh", shell)
        (root / "dev/null").touch()
        (root / "dev/console").touch()
        (root / "etc/os-release").write_text(os_release)
        (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
        (root / "stubs/package").write_text(_PACKAGE)
        for name in ("systemctl", "shutdown", "poweroff", "sleep", "chown", "mount", "umount", "sudo"):
            self.stub(name)

    def _link(self, name: str, tool: str) -> None:
        (self.root / "usr/bin" / name).symlink_to(f"/host/usr/bin/{tool}")

    def stub(self, name: str, snippet: str | None = None) -> None:
        """Put a stub on the machine, with its usual snippet or another one."""
        body = _SNIPPETS[name] if snippet is None else snippet
        file = self.root / "usr/local/bin" / name
        file.write_text(f'#!/host/usr/bin/dash\nPATH=/host/usr/bin\necho "{name} $*" >>/calls\n{body}\n')
        file.chmod(0o755)

    def debian(self) -> "Machine":
        """Give it what an image of the Debian family has."""
        for name in ("apt-get", "dpkg", "curl"):
            self.stub(name)
        return self

    def rhel(self) -> "Machine":
        """Give it what an image of the RHEL family has."""
        for name in ("dnf", "curl", "uname"):
            self.stub(name)
        return self

    def baked(self) -> "Machine":
        """Give it the runner's package."""
        (self.root / "lib-unit").touch()
        with (self.root / "etc/passwd").open("a") as file:
            file.write("circleci:x:1500:1500::/home/circleci:/bin/bash\n")
        return self

    def boot(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Do what cloud-init does with user data at first boot; the result of the last command."""
        document = read(text)
        for command in document["bootcmd"]:
            assert self.run(command).returncode == 0
        for file in document["write_files"]:
            path = self.root / file["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file["content"].encode())
            path.chmod(int(file["permissions"], 8))
        ran = None
        for command in document["runcmd"]:
            ran = self.run(command)
        assert ran is not None
        return ran

    def run(self, command: list[str], **env: str) -> "subprocess.CompletedProcess[str]":
        """Run a command on the machine."""
        return enter(
            self.root, self.hostname, [*(f"{name}={value}" for name, value in env.items()), *command]
        )

    @property
    def console(self) -> list[str]:
        """The console's lines."""
        return (self.root / "dev/console").read_text().splitlines()

    @property
    def failures(self) -> list[str]:
        """The lines of the console that report a failure."""
        return [line for line in self.console if line.startswith("remuda-guest: FAILED ")]

    @property
    def calls(self) -> list[str]:
        """What the stubs were called with, in order."""
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def config(self) -> dict[str, Any]:
        """The runner's configuration as the runner reads it."""
        file = self.root / "etc/circleci-runner/circleci-runner-config.yaml"
        assert file.stat().st_mode & 0o777 == 0o600
        loaded = yaml.safe_load(file.read_bytes())
        assert isinstance(loaded, dict)
        return loaded


def read(text: str) -> dict[str, Any]:
    """User data as cloud-init reads it, refused unless it has exactly the shape that cloud-init documents."""
    assert text.startswith("#cloud-config\n")
    assert text.isascii()
    document = yaml.safe_load(text)
    assert list(document) == ["bootcmd", "write_files", "runcmd"]
    for command in document["bootcmd"] + document["runcmd"]:
        assert command
        assert all(type(word) is str for word in command)
    for file in document["write_files"]:
        assert set(file) == {"path", "content", "permissions"}
        assert all(type(value) is str for value in file.values())
        assert file["path"].startswith("/")
        assert int(file["permissions"], 8) in {0o440, 0o600, 0o644, 0o755}
    assert isinstance(document, dict)
    return document


def enter(root: Path, hostname: str, command: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command with the directory as its root, in namespaces of its own."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    namespaces = ["unshare", *user, "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    return subprocess.run(
        [*namespaces, "sh", "-c", _ENTER, "enter", str(root), hostname, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def missing(root: Path) -> str:
    """Why there can be no sandbox here, or nothing."""
    if shutil.which("unshare") is None:
        return "unshare is not there"
    Machine(root, OS_RELEASE["debian"])
    tried = enter(root, "probe", ["sh", "-c", "exit 0"])
    return "" if tried.returncode == 0 else f"no namespaces: {tried.stderr.strip()[-200:]}"
