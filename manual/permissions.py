"""What each command asks of the Kubernetes API, from the table that the chart and `remuda rbac` use too."""

from manual.tables import code, table
from remuda.job import Jobs
from remuda.kube.rbac import Rule


def page(jobs: Jobs) -> str:
    """`reference/permissions.md`."""
    intro = (
        "# Permissions\n\n`remuda rbac COMMAND` prints what a command asks of the Kubernetes API as a Role, and a"
        " ClusterRole where it reads beyond a namespace. The chart grants `up` exactly this. Without what is optional a"
        " command knows less, and works; `--optional` adds it. Commands that are not here ask nothing.\n"
    )
    parts = (f"## {command}\n\n{_rules(rules)}" for command, rules in jobs.permissions().items())
    return "\n".join((intro, *parts))


def _rules(rules: tuple[Rule, ...]) -> str:
    heads = ("group", "resources", "verbs", "of these names alone", "where", "optional")
    return table(
        heads,
        [
            (
                code(rule.group) or "core",
                ", ".join(map(code, rule.resources)),
                ", ".join(rule.verbs),
                ", ".join(map(code, rule.names)),
                "cluster" if rule.is_cluster_wide else "namespace",
                "yes" if rule.is_optional else "",
            )
            for rule in rules
        ],
    )
