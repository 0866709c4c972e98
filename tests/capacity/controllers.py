"""GitHub's controller as far as the API server knows it: its custom resource in several versions."""

import gzip
from pathlib import Path

from tests.capacity.builders import written_set
from tests.processes import eventually
from tests.servers.cluster import Cluster

SETS = "/apis/actions.github.com/v1alpha1/namespaces/{}/autoscalingrunnersets"

#: the real ones, where they are at hand
SHARED = Path(__file__).parents[3] / "shared" / "data" / "crds"
MINIMAL = Path(__file__).parents[1] / "data" / "autoscalingrunnersets.yaml"
VERSIONS = ("0.9.3", "0.13.1", "0.14.2")
#: what only newer controllers know
LABELLED = ("0.14.2", "minimal")


def versions() -> list[str]:
    """The versions that can be tested here: the real ones, else one of our own with the fields we use."""
    return [version for version in VERSIONS if _file(version).exists()] or ["minimal"]


def install_crd(cluster: Cluster, version: str) -> None:
    """Make the API server know scale sets of a version, in place of another."""
    file = _file(version)
    text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
    eventually(lambda: _knows(cluster, version), f"scale sets of {version}")


def _knows(cluster: Cluster, version: str) -> bool:
    """Whether the server keeps the fields of this version and no others."""
    body = written_set("probe", namespace="default", runnerScaleSetLabels=["one"])
    answer = cluster.request("POST", f"{SETS.format('default')}?dryRun=All", body)
    return answer.status == 201 and ("runnerScaleSetLabels" in answer.json()["spec"]) == (version in LABELLED)


def _file(version: str) -> Path:
    return MINIMAL if version == "minimal" else SHARED / f"arc-autoscalingrunnersets-v{version}.yaml.gz"
