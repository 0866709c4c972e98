"""With a stand-in for the go command, on the PATH of a real `python -m tests.servers`: how builds behave, not Go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.catalog import SERVERS

pytestmark = pytest.mark.slow

DEADLINE_S = 120.0
ETCD = f"remuda/servers/etcd-{SERVERS['etcd'].version}/etcd"
#: builds a program that is a shell script, noting each call
BUILDS = """\
#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != -o ]; do shift; done
sleep 0.3
cat go.mod > "$2"
chmod +x "$2"
"""
#: fetches a module whose own files are in $OWN, and builds a program that tells what it was built from
ADOPTS = """\
#!/bin/sh
if [ "$1 $2" = "mod download" ]; then
  echo "go: downloading $4" >&2
  printf '{"Path": "%s", "Dir": "%s"}\\n' "$4" "$OWN"
  exit
fi
while [ "$1" != -o ]; do shift; done
cat go.mod go.sum "$3"/*.go > "$2"
chmod +x "$2"
"""
OWN_GO_MOD = """\
module kubevirt.io/kubevirt
require k8s.io/api v0.34.2
replace (
	k8s.io/api => k8s.io/api v0.34.2
	kubevirt.io/api => ./staging/src/kubevirt.io/api
)
replace k8s.io/klog => k8s.io/klog v0.4.0
"""
FAILS = """\
#!/bin/sh
echo "go: downloading example.org/noise v1.0.0"
echo "main.go:1: it does not compile" >&2
exit 7
"""


class Place:
    """A cache, a PATH with a stand-in for go, and the command run with them."""

    def __init__(self, directory: Path, go: str) -> None:
        self.cache = directory / "cache"
        self.calls = directory / "calls"
        self.bin = directory / "bin"
        self.bin.mkdir()
        (self.bin / "go").write_text(go, encoding="utf-8")
        (self.bin / "go").chmod(0o755)
        cleared = {
            name: value for name, value in os.environ.items() if not name.startswith(("KUBEB", "REMUDA"))
        }
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        self.environ = {**cleared, "PATH": path, "XDG_CACHE_HOME": str(self.cache), "CALLS": str(self.calls)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out, err

    def left(self) -> list[str]:
        return sorted(str(path.relative_to(self.cache)) for path in self.cache.rglob("*") if path.is_file())


def test_what_is_missing_is_built_once_though_two_ask(tmp_path: Path) -> None:
    place = Place(tmp_path, BUILDS)
    with (
        place.start("tests.servers", "get", "etcd") as one,
        place.start("tests.servers", "get", "etcd") as two,
    ):
        outs = [process.communicate(timeout=DEADLINE_S) for process in (one, two)]
    assert (one.returncode, two.returncode) == (0, 0), outs
    assert [out for out, _ in outs] == [f"etcd\t{place.cache / ETCD}\n"] * 2
    assert len(place.calls.read_text().splitlines()) == 1
    assert place.left() == sorted([ETCD, "remuda/servers/.lock"])


def test_a_build_is_reported_with_its_time_and_is_pinned_and_stripped(tmp_path: Path) -> None:
    place = Place(tmp_path, BUILDS)
    code, _, err = place.run("tests.servers", "get", "kubectl", "kube-scheduler")
    assert code == 0, err
    assert "building kubectl 1.34.1  0 s" in err
    assert "done building kube-scheduler 1.34.1  " in err
    calls = place.calls.read_text().splitlines()
    assert all("build -p 2 -mod=mod -trimpath -ldflags -s -w -X" in call for call in calls)
    assert [call.split()[-1] for call in calls] == [
        "k8s.io/kubernetes/cmd/kubectl",
        "k8s.io/kubernetes/cmd/kube-scheduler",
    ]
    built = place.cache / "remuda/servers/kubectl-1.34.1/kubectl"
    assert "replace k8s.io/client-go => k8s.io/client-go v0.34.1" in built.read_text()


def test_a_module_that_needs_them_is_built_with_its_own_replacements_and_checksums(tmp_path: Path) -> None:
    place = Place(tmp_path, ADOPTS)
    own = tmp_path / "own"
    own.mkdir()
    (own / "go.mod").write_text(OWN_GO_MOD, encoding="utf-8")
    (own / "go.sum").write_text("k8s.io/api v0.34.2 h1:sum\n", encoding="utf-8")
    own.chmod(0o500)  # as Go keeps modules
    place.environ["OWN"] = str(own)
    code, _, err = place.run("tests.servers", "get", "kubevirt-crds")
    assert code == 0, err
    assert "done fetching kubevirt.io/kubevirt 1.8.0  " in err
    built = (place.cache / "remuda/servers/kubevirt-crds-1.8.0/kubevirt-crds").read_text(encoding="utf-8")
    assert [line for line in built.splitlines() if line.startswith(("require", "replace", "k8s.io"))] == [
        "require kubevirt.io/kubevirt v1.8.0",
        "replace kubevirt.io/api => kubevirt.io/api v1.8.0",
        "replace kubevirt.io/client-go => kubevirt.io/client-go v1.8.0",
        "replace k8s.io/api => k8s.io/api v0.34.2",
        "replace k8s.io/klog => k8s.io/klog v0.4.0",
        "k8s.io/api v0.34.2 h1:sum",
    ]
    assert "components.NewVirtualMachinePoolCrd," in built


def test_a_file_of_a_module_is_kept_as_it_is(tmp_path: Path) -> None:
    place = Place(tmp_path, ADOPTS)
    (tmp_path / "own" / "deploy").mkdir(parents=True)
    (tmp_path / "own" / "deploy" / "vpa-v1-crd-gen.yaml").write_text("kind: CustomResourceDefinition\n")
    place.environ["OWN"] = str(tmp_path / "own")
    code, _, err = place.run("tests.servers", "get", "vpa-crds")
    assert code == 0, err
    assert "done fetching k8s.io/autoscaler/vertical-pod-autoscaler 1.8.1  " in err
    kept = place.cache / "remuda/servers/vpa-crds-1.8.1/vpa-crds"
    assert kept.read_text() == "kind: CustomResourceDefinition\n"


def test_a_failed_build_says_so_with_the_end_of_its_output_and_leaves_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, FAILS)
    code, out, err = place.run("tests.servers", "get", "etcd")
    assert (code, out) == (1, "")
    assert "Error: building etcd 3.6.5: nice exited with 7\n  main.go:1: it does not compile\n" in err
    assert "noise" not in err
    assert place.left() == ["remuda/servers/.lock"]


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    code, _, err = Place(tmp_path, FAILS).run("tests.servers", "get", "etcdd")
    assert code == 2
    assert "'etcdd' is not one of 'etcd', 'kube-apiserver'" in err


def test_list_says_where_each_is_and_how_to_get_it(tmp_path: Path) -> None:
    place = Place(tmp_path, FAILS)
    place.environ["REMUDA_SERVERS"] = str(place.bin)
    (place.bin / "go").rename(place.bin / "helm")
    code, out, _ = place.run("tests.servers", "list")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert lines["helm"].endswith(str(place.bin / "helm"))
    assert lines["kwok"].endswith("missing; python -m tests.servers get kwok")


def test_where_servers_are_required_a_test_fails_when_they_cannot_be_built(tmp_path: Path) -> None:
    place = Place(tmp_path, FAILS)
    (tmp_path / "test_it.py").write_text("def test_it(namespace): pass\n", encoding="utf-8")
    arguments = (
        "pytest",
        "-p",
        "tests.servers.fixtures",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    )
    place.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    code, out, err = place.run(*arguments, "-rs", str(tmp_path / "test_it.py"))
    assert code == 0, out + err
    assert "needs etcd, kube-apiserver, kubectl; `make servers` provides what is missing" in out
    place.environ["REMUDA_REQUIRE_SERVERS"] = "1"
    code, out, err = place.run(*arguments, str(tmp_path / "test_it.py"))
    assert code == 1, out + err
    assert "main.go:1: it does not compile" in out
