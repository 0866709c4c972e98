from pathlib import Path

import pytest
from tests.servers.catalog import SERVERS
from tests.servers.fixtures import provide
from tests.servers.found import cached, find, surroundings


def make(path: Path, *, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("name", "there", "expected"),
    [
        pytest.param("etcd", ["assets", "servers", "cache"], "assets", id="KUBEBUILDER_ASSETS comes first"),
        pytest.param("etcd", ["servers", "cache"], "servers", id="a directory that lacks it is passed over"),
        pytest.param(
            "helm", ["assets", "servers", "cache"], "servers", id="KUBEBUILDER_ASSETS is not asked for helm"
        ),
        pytest.param("helm", ["cache"], "cache", id="the cache comes last"),
        pytest.param("helm", [], None, id="nowhere is None"),
    ],
)
def test_a_program_is_found_in_the_documented_order(
    tmp_path: Path, name: str, there: list[str], expected: str | None
) -> None:
    environ = {
        "KUBEBUILDER_ASSETS": str(tmp_path / "assets"),
        "REMUDA_SERVERS": str(tmp_path / "servers"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
    }
    around = surroundings(environ)
    places = {
        "assets": tmp_path / "assets" / name,
        "servers": tmp_path / "servers" / name,
        "cache": cached(SERVERS[name], around.cache),
    }
    for place in there:
        make(places[place])
    assert find(SERVERS[name], around) == (None if expected is None else places[expected])


def test_the_cache_is_keyed_by_version_and_honours_xdg(tmp_path: Path) -> None:
    assert surroundings({"XDG_CACHE_HOME": "/x", "HOME": "/h"}).cache == Path("/x/remuda/servers")
    assert surroundings({"XDG_CACHE_HOME": "relative", "HOME": "/h"}).cache == Path(
        "/h/.cache/remuda/servers"
    )
    assert surroundings({"XDG_CACHE_HOME": "", "HOME": "/h"}).cache == Path("/h/.cache/remuda/servers")
    kubectl = SERVERS["kubectl"]
    assert cached(kubectl, tmp_path) == tmp_path / f"kubectl-{kubectl.version}" / "kubectl"


def test_a_file_that_cannot_be_executed_is_no_program(tmp_path: Path) -> None:
    around = surroundings({"REMUDA_SERVERS": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")})
    make(tmp_path / "helm", mode=0o644)
    assert find(SERVERS["helm"], around) is None


def test_a_test_without_its_server_is_skipped_with_the_command_that_provides_it(tmp_path: Path) -> None:
    make(tmp_path / "etcd")
    environ = {"REMUDA_SERVERS": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert provide(("etcd",), environ) == {"etcd": tmp_path / "etcd"}
    with pytest.raises(pytest.skip.Exception, match=r"needs helm, kwok; `make servers`"):
        provide(("etcd", "helm", "kwok"), environ)


def test_kubernetes_is_built_with_its_staging_modules_of_the_same_version() -> None:
    module = SERVERS["kube-apiserver"].module
    assert "require k8s.io/kubernetes v1.34.1\n" in module.go_mod
    assert "replace k8s.io/api => k8s.io/api v0.34.1\n" in module.go_mod
    assert module.ldflags.startswith("-s -w -X k8s.io/component-base/version.gitVersion=v1.34.1 ")
