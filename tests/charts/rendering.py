"""The chart as its users have it: made whole by `charts/package`, rendered by helm."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "charts" / "remuda"
DATA = ROOT / "tests" / "data"
DEADLINE_S = 120
Values = Mapping[str, Any]
#: the quick one where there is one
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: what Runner Provisioner was given, by the name of the file
PROVISIONER: dict[str, Values] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted(DATA.glob("provisioner-values-*.yaml"))
}

#: a fact about each set of values → the values
SETS: dict[str, Values] = {
    "defaults": {},
    "several replicas": {
        "replicas": 3,
        "priorityClassName": "system-cluster-critical",
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}
                    ]
                }
            }
        },
        "tolerations": [{"key": "ci", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
    },
    "everything that can be switched on": {
        "config": {"HTTPS_PROXY": "http://proxy.example:3128", "NUMBER": "1"},
        "secrets": {"values": {"CIRCLE_TOKEN": "s3cret: 'quoted'"}},
        "ledger": {"claim": {"enabled": True, "storageClassName": "fast", "size": "5Gi"}},
        "networkPolicy": {
            "enabled": True,
            "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
            "egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 8443}]}],
        },
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        "dashboard": {"enabled": True},
        "extraArgs": ["--health-port=8000"],
        "interval": 0.5,
        "serviceAccount": {"annotations": {"example.org/role": "ci"}},
        "imagePullSecrets": [{"name": "regcred"}],
    },
    "the dashboard is for the cluster": {
        "replicas": 2,
        "web": {"existingSecret": "remuda-web", "accessKey": "access.yaml", "port": 80},
        "networkPolicy": {
            "enabled": True,
            "webFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "people"}}}],
        },
    },
    "what others made is used": {
        "serviceAccount": {"create": False},
        "rbac": {"create": False},
        "secrets": {"existing": "tokens"},
        "ledger": {"claim": {"enabled": True, "existing": "history"}},
        "image": {"repository": "images.example:5000/ci/remuda", "digest": "sha256:" + "0" * 64},
    },
    **PROVISIONER,
}


@dataclass(frozen=True, slots=True)
class Done:
    """How helm ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Helm:
    """helm with a home of its own."""

    program: Path
    home: Path

    def __call__(self, *arguments: str | Path, values: Values | None = None) -> Done:
        """Run it; `values` come from standard input."""
        given = [] if values is None else ["--values", "-"]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        done = subprocess.run(
            [self.program, *map(str, arguments), *given],
            input="" if values is None else yaml.safe_dump(dict(values)),
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that is whole."""

    path: Path
    helm: Helm
    _rendered: dict[str, str] = field(default_factory=dict)

    def text(self, values: Values | None = None, *, name: str = "remuda", namespace: str = "ci") -> str:
        """What is rendered, as helm prints it; the same is rendered once."""
        key = json.dumps([values, name, namespace])
        if key not in self._rendered:
            done = self.helm("template", name, self.path, "--namespace", namespace, values=values or {})
            assert done.code == 0, done.err
            self._rendered[key] = done.out
        return self._rendered[key]

    def crds(self) -> list[dict[str, Any]]:
        """The definitions, which helm installs before everything else."""
        done = self.helm("show", "crds", self.path)
        assert done.code == 0, done.err
        return [item for item in yaml.load_all(done.out, Loader=LOADER) if item]

    def objects(self, values: Values | None = None, **where: str) -> list[dict[str, Any]]:
        """The objects that are rendered."""
        return [item for item in yaml.load_all(self.text(values, **where), Loader=LOADER) if item]

    def one(self, kind: str, values: Values | None = None, **where: str) -> dict[str, Any]:
        """The one object of a kind."""
        (found,) = [item for item in self.objects(values, **where) if item["kind"] == kind]
        return found

    def refusal(self, values: Values) -> str:
        """Why values are refused."""
        done = self.helm("template", "remuda", self.path, values=values)
        assert done.code != 0, "not refused"
        return done.err


def container(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """The one container of a Deployment."""
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    made: dict[str, Any] = found
    return made
