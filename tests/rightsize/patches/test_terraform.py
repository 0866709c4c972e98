"""Terraform blocks and variables, read back by python-hcl2."""

import re
from typing import Any

import hcl2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.patches.cases import HOSTILE, container, hostile_workloads, review, unchecked, workload
from tests.rightsize.report.reviews import sample_review, size

from remuda.model.amount_texts import quantity
from remuda.output import hcl
from remuda.rightsize.patches import make
from remuda.rightsize.review import ContainerReview, Review, WorkloadReview

pytestmark = pytest.mark.slow

OPTIONS = hcl2.SerializationOptions(with_comments=False, explicit_blocks=False)
ESCAPE = re.compile(r'\\(["\\nrt])|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})')


def plain(value: Any) -> Any:
    """What is meant by what python-hcl2 reads: it leaves quotes and escapes in strings as they are written."""
    if isinstance(value, dict):
        return {plain(key): plain(child) for key, child in value.items()}
    if isinstance(value, str) and value.startswith('"'):
        assert not re.search(r"[$%]\{", value), "a template"
        return ESCAPE.sub(meant, value[1:-1])
    return value


def meant(found: re.Match[str]) -> str:
    if found[1]:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(found[1], found[1])
    return chr(int(found[2] or found[3], 16))


def read(text: str) -> Any:
    return plain(hcl2.loads(text, serialization_options=OPTIONS))


def local(text: str) -> Any:
    (block,) = hcl2.loads(text, serialization_options=OPTIONS)["locals"]
    (found,) = plain(block).values()
    return found


def wanted(item: ContainerReview) -> dict[str, dict[str, str]]:
    """What a container should have, said in another way."""
    size = item.recommended if item.verdict in ("raise", "lower") and not item.is_provisional else item.now
    made: dict[str, dict[str, str]] = {}
    for part, ask, others in (
        ("requests", size.requests, item.other_requests),
        ("limits", size.limits, item.others),
    ):
        own = {"cpu": ask.cpu_millicores, "memory": ask.memory_bytes}
        made[part] = {**others, **{k: quantity(k, v) for k, v in own.items() if v is not None}}
    return made


def test_resources_and_sidecar_resources_are_as_modules_take_them() -> None:
    gpu = container("web", others={"nvidia.com/gpu": "1"})
    proxy = container("proxy", recommended=size(10, 32, None, 64), is_sidecar=True)
    stays = container("exporter", size(5, 16, None, 16), verdict="keep")
    (file,) = make(review(workload(proxy, stays, gpu)), "terraform").files
    assert file.path == "shop_deployment_web.tf"
    assert local(file.text) == {
        "resources": {
            "requests": {"cpu": "587m", "memory": "768Mi"},
            "limits": {"memory": "768Mi", "nvidia.com/gpu": "1"},
        },
        "sidecar_resources": {
            "proxy": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
            "exporter": {"requests": {"cpu": "5m", "memory": "16Mi"}, "limits": {"memory": "16Mi"}},
        },
    }


def test_the_text_is_laid_out_as_terraform_fmt_does_with_why() -> None:
    (file,) = make(review(workload(container(others={"nvidia.com/gpu": "1"}))), "terraform").files
    code = file.text[file.text.index("locals") :]
    assert code == (
        "locals {\n"
        "  rightsize_shop_deployment_web = {\n"
        "    # app: raise; cpu request 100m limit 200m -> request 587m limit none; "
        "memory request 128Mi limit 256Mi -> request 768Mi limit 768Mi\n"
        "    resources = {\n"
        "      requests = {\n"
        '        cpu    = "587m"\n'
        '        memory = "768Mi"\n'
        "      }\n"
        "      limits = {\n"
        '        memory           = "768Mi"\n'
        '        "nvidia.com/gpu" = "1"\n'
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_a_container_without_anything_has_empty_maps() -> None:
    (file,) = make(
        review(workload(container(), container("b", size(), size(), verdict="leave"))), "terraform"
    ).files
    assert local(file.text)["sidecar_resources"] == {"b": {"requests": {}, "limits": {}}}


def test_locals_of_workloads_whose_names_differ_by_a_dot_differ() -> None:
    names = ("a.b", "a-b", "a..b")
    files = unchecked(review(*(workload(name=name) for name in names)), "terraform").files
    found = {name for file in files for name in hcl2.loads(file.text)["locals"][0] if "rightsize" in name}
    assert len(found) == 3
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]*", name) for name in found)


def test_variables_are_maps_by_namespace_and_name() -> None:
    proxy = container("proxy", recommended=size(10, 32), is_sidecar=True)
    (file,) = make(review(workload(container(), proxy), workload(name="b")), "tfvars").files
    assert file.path == "rightsize.tfvars"
    found = read(file.text)
    assert set(found["resources"]) == {"shop/web", "shop/b"}
    assert found["resources"]["shop/b"]["limits"] == {"memory": "768Mi"}
    assert found["sidecar_resources"] == {
        "shop/web": {"proxy": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {}}}
    }


def test_variables_of_two_kinds_with_one_name_are_told_apart_by_the_kind() -> None:
    both = review(workload(), workload(kind="StatefulSet"), workload(name="b"))
    assert set(read(make(both, "tfvars").files[0].text)["resources"]) == {
        "shop/Deployment/web",
        "shop/StatefulSet/web",
        "shop/b",
    }


def test_the_sample_is_read_back_value_by_value() -> None:
    sample = sample_review()
    by_name = {(item.namespace, item.kind, item.name): item for item in sample.workloads}
    files = make(sample, "terraform").files
    assert len(files) == 3
    for file in files:
        assert file.workload is not None
        _check(local(file.text), by_name[file.workload])


def _check(found: Any, item: WorkloadReview) -> None:
    by_name = {each.name: each for each in item.containers}
    own = [each for each in item.containers if not each.is_sidecar]
    main = next((each for each in own if each.name == item.name), own[0] if own else None)
    if main is None:
        assert "resources" not in found
    else:
        assert found["resources"] == wanted(by_name.pop(main.name))
    assert found.get("sidecar_resources", {}) == {name: wanted(each) for name, each in by_name.items()}


@given(hostile_workloads())
def test_hostile_names_and_values_are_read_back_exactly(item: WorkloadReview) -> None:
    _check(local(unchecked(review(item), "terraform").files[0].text), item)


@given(st.lists(hostile_workloads(), min_size=1, max_size=3, unique_by=lambda i: (i.namespace, i.name)))
def test_hostile_variables_are_read_back_exactly(items: list[WorkloadReview]) -> None:
    found = read(_only(unchecked(review(*items), "tfvars")))
    for item in items:
        name = f"{item.namespace}/{item.name}"
        both = {"sidecar_resources": found.get("sidecar_resources", {}).get(name, {})}
        if name in found.get("resources", {}):
            both["resources"] = found["resources"][name]
        _check(both, item)


def _only(made: Any) -> str:
    (file,) = made.files
    assert isinstance(file.text, str)
    return file.text


@given(HOSTILE)
def test_hostile_words_about_a_review_stay_within_their_comment(word: str) -> None:
    odd = Review(0, word, word, word, 0, (workload(),))
    assert set(read(_only(make(odd, "tfvars")))) == {"resources"}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("${a}", r'"\u0024{a}"'),
        ("%{ if }", r'"\u0025{ if }"'),
        ("$${", r'"$\u0024{"'),
        ("$ { %", '"$ { %"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\n\t\0", '"\\n\\t\\u0000"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_nothing_in_a_string_is_a_template(value: str, written: str) -> None:
    assert hcl.text(value) == written


@pytest.mark.parametrize("name", ["for", "null", "a-b", "1a", "a.b", "", "A"])
def test_a_key_that_is_more_than_a_word_is_quoted(name: str) -> None:
    assert hcl.key(name) == f'"{name}"'
