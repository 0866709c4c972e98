"""What a process says about itself holds no value of an environment variable."""

from tests.jobs.bells import BellSpec

from remuda.control.about import HIDDEN, ShownObjects, shown_objects, without_environment
from remuda.objects.kinds import Object


def test_values_of_environments_are_hidden_in_both_forms_they_are_written_in() -> None:
    data = {
        "process": {"env": {"DEPLOY": "planted"}, "limits": {"memory": "1Gi"}},
        "containers": [{"env": [{"name": "A", "value": "planted"}, {"name": "B", "valueFrom": {}}]}],
        "odd": {"env": "planted"},
    }
    assert without_environment(data) == {
        "process": {"env": {"DEPLOY": HIDDEN}, "limits": {"memory": "1Gi"}},
        "containers": [{"env": [{"name": "A", "value": HIDDEN}, {"name": "B", "valueFrom": {}}]}],
        "odd": {"env": HIDDEN},
    }


def test_objects_are_shown_as_they_would_be_written() -> None:
    assert shown_objects([Object("Bell", "big", BellSpec(3), labels={"a": "b"})]) == (
        {
            "apiVersion": "remuda.dev/v1alpha1",
            "kind": "Bell",
            "metadata": {"name": "big", "labels": {"a": "b"}, "annotations": {}},
            "spec": {"rings": 3, "after": ""},
        },
    )


def test_objects_are_shown_anew_only_when_others_are_in_force() -> None:
    shown = ShownObjects()
    objects = [Object("Bell", "big", BellSpec(3))]
    assert shown.of(objects) is shown.of(objects)
    assert shown.of([Object("Bell", "small", BellSpec(3))])[0]["metadata"]["name"] == "small"
