"""
The servers the tests use: names, pinned versions, and the Go module each is built from.

A version changes here and nowhere else; the cache is keyed by it, so a change builds anew and never mixes.
"""

from dataclasses import dataclass

KUBERNETES = "1.34.1"
#: what a KUBEBUILDER_ASSETS directory holds
ENVTEST = frozenset({"etcd", "kube-apiserver", "kubectl"})
#: Kubernetes replaces these modules with directories of its own repository, which its published module does not hold
STAGING = (
    "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap "
    "code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib "
    "dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy "
    "kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver"
)


@dataclass(frozen=True, slots=True)
class Module:
    """A published Go module: what must be replaced in it, versions its programs are told, and what they leave out."""

    path: str
    version: str
    replaces: tuple[tuple[str, str], ...] = ()
    stamps: tuple[tuple[str, str], ...] = ()
    tags: str = ""
    #: whether it builds only with the replacements of its own go.mod and the checksums of its own go.sum
    adopts: bool = False

    @property
    def go_mod(self) -> str:
        """A scratch module that requires this one alone."""
        lines = ["module servers", "go 1.24.0", f"require {self.path} v{self.version}"]
        lines += [f"replace {path} => {path} v{version}" for path, version in self.replaces]
        return "\n".join(lines) + "\n"

    @property
    def ldflags(self) -> str:
        """The linker's flags: no symbols, no debug information, the version stamped in."""
        return " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in self.stamps)])


@dataclass(frozen=True, slots=True)
class Server:
    """
    One program: its name is its file's name. A `source` beside this file is built as the package `./NAME`.

    One that `is_file` is kept as the module has it, and its package is the path; nothing is built.
    """

    name: str
    package: str
    module: Module
    source: str = ""
    is_file: bool = False

    @property
    def version(self) -> str:
        """The version it is pinned to."""
        return self.module.version


def _kubernetes() -> Module:
    major, minor, patch = KUBERNETES.split(".")
    return Module(
        "k8s.io/kubernetes",
        KUBERNETES,
        replaces=tuple((f"k8s.io/{name}", f"0.{minor}.{patch}") for name in STAGING.split()),
        stamps=(
            ("k8s.io/component-base/version.gitVersion", f"v{KUBERNETES}"),
            ("k8s.io/component-base/version.gitMajor", major),
            ("k8s.io/component-base/version.gitMinor", minor),
        ),
    )


def _helm(version: str) -> Module:
    # without the Kubernetes version helm takes a chart's kubeVersion and deprecations for those of 1.20
    major, minor, _ = KUBERNETES.split(".")
    at = "helm.sh/helm/v3"
    return Module(
        at,
        version,
        stamps=(
            (f"{at}/internal/version.version", f"v{version}"),
            *((f"{at}/pkg/{where}.k8sVersionMajor", major) for where in ("lint/rules", "chartutil")),
            *((f"{at}/pkg/{where}.k8sVersionMinor", minor) for where in ("lint/rules", "chartutil")),
        ),
    )


def _kubevirt(version: str) -> Module:
    # its go.mod replaces these two with directories that its published module does not hold
    replaces = tuple((f"kubevirt.io/{name}", version) for name in ("api", "client-go"))
    return Module("kubevirt.io/kubevirt", version, replaces=replaces, adopts=True)


_ETCD = Module("go.etcd.io/etcd/server/v3", "3.6.5")
_KUBERNETES = _kubernetes()
_KWOK = Module("sigs.k8s.io/kwok", "0.7.0")
_HELM = _helm("3.19.0")
# without the clouds' own libraries, which take longer to build than all the rest
_PROMETHEUS = Module(
    "github.com/prometheus/prometheus",
    "0.311.3",
    # of its own, which its module's is made from
    stamps=(("github.com/prometheus/common/version.Version", "3.11.3"),),
    tags="remove_all_sd",
)
_KUBEVIRT = _kubevirt("1.8.0")
_KUBECONFORM = Module("github.com/yannh/kubeconform", "0.7.0")
_KYVERNO = Module("github.com/kyverno/kyverno", "1.15.2")
_VPA = Module("k8s.io/autoscaler/vertical-pod-autoscaler", "1.8.1")

SERVERS = {
    server.name: server
    for server in (
        Server("etcd", "go.etcd.io/etcd/server/v3", _ETCD),
        Server("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", _KUBERNETES),
        Server("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", _KUBERNETES),
        Server("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", _KUBERNETES),
        Server("kubectl", "k8s.io/kubernetes/cmd/kubectl", _KUBERNETES),
        Server("eviction-order", "./eviction-order", _KUBERNETES, source="eviction_order.go"),
        Server("kwok", "sigs.k8s.io/kwok/cmd/kwok", _KWOK),
        Server("helm", "helm.sh/helm/v3/cmd/helm", _HELM),
        Server("promtool", "github.com/prometheus/prometheus/cmd/promtool", _PROMETHEUS),
        Server("prometheus", "github.com/prometheus/prometheus/cmd/prometheus", _PROMETHEUS),
        Server("virt-controller", "kubevirt.io/kubevirt/cmd/virt-controller", _KUBEVIRT),
        Server("kubevirt-crds", "./kubevirt-crds", _KUBEVIRT, source="kubevirt_crds.go"),
        Server("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", _KUBECONFORM),
        Server("kyverno-crd", "config/crds/kyverno/kyverno.io_clusterpolicies.yaml", _KYVERNO, is_file=True),
        Server("vpa-crds", "deploy/vpa-v1-crd-gen.yaml", _VPA, is_file=True),
    )
}
