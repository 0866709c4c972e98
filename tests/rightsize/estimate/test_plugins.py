"""Strategies of other packages: found by name, loaded only when asked for, and blamed for what they get wrong."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.rightsize.estimate.builders import HOUR, steady

from remuda.errors import BadInput
from remuda.rightsize.estimate.estimator import Amounts
from remuda.rightsize.estimate.plugins import find_strategy
from remuda.rightsize.estimate.strategies import STRATEGIES

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "rightsize-samples.json")
MODULE = "remuda_test_plugin"
GOOD = """
    from remuda.rightsize.estimate.estimator import Amounts, Estimate
    from remuda.rightsize.estimate.strategies import Answer

    class Peak:
        def answer(self, pod):
            made = {}
            for name, replicas in pod.items():
                most = max(int(sample.value) for replica in replicas for sample in replica.memory)
                made[name] = Estimate(*[Amounts(7, most)] * 3)
            return Answer(made)

    peak = Peak()
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lay out a package as an installer would, with a module and entry points of our group."""

    def lay_out(code: str, *points: str, name: str = "sizes-by-us") -> None:
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(["[remuda.strategies]", *points, ""]))
        (tmp_path / f"{MODULE}.py").write_text(dedent(code))
        monkeypatch.syspath_prepend(tmp_path)

    yield lay_out
    sys.modules.pop(MODULE, None)


@pytest.mark.parametrize("what", ["Peak", "peak"])
def test_a_class_or_an_object_is_a_strategy(what: str, install: Install) -> None:
    install(GOOD, f"peak = {MODULE}:{what}")
    answer = find_strategy("peak").answer({"main": [steady(HOUR, used=3e8)]})
    assert answer.estimates["main"].target == Amounts(7, 300_000_000)


def test_what_is_built_in_is_not_looked_for_and_not_replaced(install: Install) -> None:
    install("raise RuntimeError('loaded')", f"krr = {MODULE}:Peak", f"peak = {MODULE}:Peak")
    assert find_strategy("krr") is STRATEGIES["krr"]
    assert MODULE not in sys.modules


def test_an_unknown_name_is_met_with_all_there_are_and_loads_none(install: Install) -> None:
    install("raise RuntimeError('loaded')", f"peak = {MODULE}:Peak", f"vpa = {MODULE}:Peak")
    with pytest.raises(
        BadInput, match=r"strategy 'peek' is not one of vpa, krr, peak; .* did you mean peak\?"
    ):
        find_strategy("peek")
    assert MODULE not in sys.modules


@pytest.mark.parametrize(
    ("code", "point", "message"),
    [
        pytest.param("import nowhere", "Peak", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'", id="import"),
        pytest.param("", "Peak", "cannot be loaded: AttributeError: .* 'Peak'", id="no such name"),
        pytest.param("class Peak:\n    def __init__(self, x): ...", "Peak", "cannot be loaded: TypeError", id="arguments"),
        pytest.param("peak = 3", "peak", "has no method `answer`", id="no strategy"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_reported_with_its_package(
    code: str, point: str, message: str, install: Install
) -> None:
    install(code, f"peak = {MODULE}:{point}")
    with pytest.raises(BadInput, match=rf"strategy peak of sizes-by-us \({MODULE}:{point}\) .*{message}"):
        find_strategy("peak")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("raise KeyError('x')", "failed: KeyError: 'x'", id="raises"),
        pytest.param("return {}", "must answer with", id="no answer"),
        pytest.param("return Answer({})", "must answer with", id="a container is missing"),
        pytest.param("return Answer({'main': 1})", "must answer with", id="no estimate"),
    ],
)
def test_what_answers_wrongly_is_reported_with_its_package(body: str, message: str, install: Install) -> None:
    code = f"from remuda.rightsize.estimate.strategies import Answer\nclass Peak:\n    def answer(self, pod):\n        {body}"
    install(code, f"peak = {MODULE}:Peak")
    with pytest.raises(BadInput, match=rf"peak of sizes-by-us \({MODULE}:Peak\) {message}"):
        find_strategy("peak").answer({"main": [steady(HOUR)]})


@pytest.mark.parametrize(
    "amounts",
    ["Amounts(-5, 1), Amounts(-5, 1), Amounts(-5, 1)", "Amounts(1, 10**30), Amounts(0, 0), Amounts(2, 10**30)",
     "Amounts(5, 5), Amounts(6, 5), Amounts(7, 5)", "Amounts(5.5, 5), Amounts(5, 5), Amounts(6, 5)"],
)  # fmt: skip
def test_amounts_that_make_no_sense_are_reported_as_its_mistake(amounts: str, install: Install) -> None:
    code = """
        from remuda.rightsize.estimate.estimator import Amounts, Estimate
        from remuda.rightsize.estimate.strategies import Answer

        class Odd:
            def answer(self, pod):
                return Answer({name: Estimate(AMOUNTS) for name in pod})
    """
    install(code.replace("AMOUNTS", amounts), f"odd = {MODULE}:Odd")
    with pytest.raises(
        BadInput, match=r"the strategy odd of sizes-by-us .* makes no sense of container main"
    ):
        find_strategy("odd").answer({"main": [steady(HOUR, used=3e8)]})


def test_a_name_that_two_packages_bring_is_nobody_s(install: Install) -> None:
    install(GOOD, f"peak = {MODULE}:Peak")
    install(GOOD, f"peak = {MODULE}:peak", name="sizes-by-them")
    with pytest.raises(
        BadInput, match=r"brought by sizes-by-them .* and sizes-by-us .*: uninstall all but one"
    ):
        find_strategy("peak")


def test_a_person_can_ask_for_it(install: Install, run: Run) -> None:  # noqa: F811 - a fixture
    install(GOOD, f"peak = {MODULE}:Peak")
    ran = run("rightsize", "estimate", "--samples", EXAMPLE, "--strategy", "peak")
    assert (ran.code, ran.err) == (0, "")
    assert "7m" in ran.out


def test_a_person_is_told_of_one_that_fails(install: Install, run: Run) -> None:  # noqa: F811 - a fixture
    install("import nowhere", f"peak = {MODULE}:Peak")
    ran = run("rightsize", "estimate", "--samples", EXAMPLE, "--strategy", "peak")
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be loaded: ModuleNotFoundError" in ran.err
