import pytest
from msgspec import UNSET, json
from tests.objects.sample import KINDS

from remuda.errors import BadInput
from remuda.objects.explain import explain, words


@pytest.mark.parametrize("word", ["Sample", "sample", "SAMPLES", "smp"])
def test_a_kind_is_found_by_each_of_its_names(word: str) -> None:
    explanation = explain(KINDS, word)
    assert (explanation.group, explanation.version, explanation.kind) == ("remuda.dev", "v1alpha1", "Sample")
    assert [field.name for field in explanation.fields] == [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
    ]


def test_a_field_is_explained_with_all_that_is_known() -> None:
    explanation = explain(KINDS, "Sample.spec.max")
    assert (explanation.path, explanation.type, explanation.description) == ("spec.max", "integer", "Most.")
    assert (explanation.required, explanation.default, explanation.bounds) == (False, 10, "0 to 100000")
    assert explain(KINDS, "Sample.spec.class").required
    assert explain(KINDS, "Sample.spec.min").default is UNSET
    assert explain(KINDS, "Sample.spec.mode").choices == ("active", "natural")
    assert explain(KINDS, "Sample.spec.delay").example == "90s, 10m or 1h30m"


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("class", "string"), ("factor", "number"), ("exact", "boolean"), ("delay", "Duration"), ("limits", "Limits"),
        ("parts", "[]Part"), ("parts.zone", "ZoneName"), ("env", "map[string]string"), ("owner", "string"), ("headroom", "Share"),
    ],
)  # fmt: skip
def test_a_type_is_written_as_kubectl_does(path: str, type_: str) -> None:
    assert explain(KINDS, f"Sample.spec.{path}").type == type_


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        pytest.param("Sampl", '"Sampl" is no kind: did you mean Sample?', id="a slip in the kind"),
        pytest.param("", '"" is no kind: the known ones are Sample, Ceiling', id="nothing"),
        pytest.param(
            "sample.spec.mx", 'Sample.spec has no field "mx"; did you mean max?', id="a slip in a field"
        ),
        pytest.param(
            "sample.spec.limits.z",
            'Sample.spec.limits has no field "z": it has memory, openFiles',
            id="far off",
        ),
        pytest.param(
            "sample.spec.max.x", 'Sample.spec.max has no field "x": it has no fields', id="below a number"
        ),
        pytest.param("sample.", 'Sample has no field ""', id="a dot at the end"),
    ],
)
def test_what_does_not_exist_names_the_nearest_that_does(what: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        explain(KINDS, what)
    assert str(caught.value).startswith(sentence)


def test_an_explanation_reads_like_kubectl_explain() -> None:
    assert words(explain(KINDS, "ceiling.spec.members")) == (
        "GROUP:      remuda.dev\n"
        "KIND:       Ceiling\n"
        "VERSION:    v1alpha1\n"
        "\n"
        "FIELD: members\t<[]CeilingMember>\n"
        "\n"
        "DESCRIPTION:\n"
        "    How members share it.\n"
        "\n"
        "    How one member shares the ceiling. A member that is not listed gets the\n"
        "    defaults.\n"
        "\n"
        "FIELDS:\n"
        "  name\t<ObjectName> -required-\n"
        "  written: like my-pool\n"
        "    The pool.\n"
        "\n"
        "  guaranteed\t<integer>\n"
        "  range: 0 to 100000\n"
        "  default: 0\n"
        "    Machines it can always have when it wants them.\n"
        "\n"
        "  priority\t<integer>\n"
        "  range: -1000000 to 1000000\n"
        "  default: 0\n"
        "    Higher is served first, after all guarantees.\n"
        "\n"
        "  weight\t<integer>\n"
        "  range: 1 to 1000\n"
        "  default: 1\n"
        "    Share among members of equal priority.\n"
    )


def test_a_recursive_explanation_lists_names_only() -> None:
    text = words(explain(KINDS, "sample.spec"), recursive=True)
    assert (
        "  parts\t<[]Part>\n    startAt\t<CronText> -required-\n    zone\t<ZoneName>\n  words\t<[]string>\n"
        in text
    )
    assert "default" not in text


def test_a_bool_default_is_written_as_in_a_file() -> None:
    assert "  default: true\n" in words(explain(KINDS, "sample.spec"))


def test_an_explanation_is_data_for_programs() -> None:
    data = json.decode(json.encode(explain(KINDS, "sample.spec.limits")))
    assert data["path"] == "spec.limits"
    assert [field["name"] for field in data["fields"]] == ["memory", "openFiles"]
