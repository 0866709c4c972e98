"""Where the kinds are that capacity alone reads or writes."""

from remuda.kube.resources import Resource

CAPACITY_POLICIES = Resource("remuda.dev", "v1alpha1", "capacitypolicies", "CapacityPolicy")
#: of GitHub's actions-runner-controller
SCALE_SETS = Resource("actions.github.com", "v1alpha1", "autoscalingrunnersets", "AutoscalingRunnerSet")
#: of its older form
RUNNER_DEPLOYMENTS = Resource("actions.summerwind.dev", "v1alpha1", "runnerdeployments", "RunnerDeployment")
RUNNER_SETS = Resource("actions.summerwind.dev", "v1alpha1", "runnersets", "RunnerSet")
RUNNER_AUTOSCALERS = Resource(
    "actions.summerwind.dev", "v1alpha1", "horizontalrunnerautoscalers", "HorizontalRunnerAutoscaler"
)
