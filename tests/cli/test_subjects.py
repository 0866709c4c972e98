"""Which kind a name is of: asked of whatever jobs there are, by whatever options were given."""

from collections.abc import Iterable

import click
import pytest
from msgspec import to_builtins

from remuda.cli.tree import main
from remuda.control.command import Command as ClickCommand
from remuda.control.command import Session, pass_session
from remuda.errors import Unavailable
from remuda.job import Command, Job, Jobs, KindReference
from remuda.output.show import Report

HERE = "tests.cli.test_subjects"


def _command(word: str, *options: str) -> click.Command:
    @pass_session
    def answer(session: Session, /, name: str, **given: object) -> None:
        session.show(Report(to_builtins({word: name, **given}), lines=(f"{word} {name} {session.data_dir}",)))

    params: list[click.Parameter] = [click.Argument(["name"]), *(click.Option([each]) for each in options)]
    return ClickCommand(word, params=params, callback=answer, help=f"Why a {word} is so.")


horse = _command("horse", "--at")
saddle = _command("saddle", "--at", "--leather")


def horses(session: Session, name: str) -> Iterable[str]:
    del session, name
    return ("bella", "luna", "herd/star")


def saddles(session: Session, name: str) -> Iterable[str]:
    del session
    return ("luna", name) if name == "of bella" else ("luna",)


def unreachable(session: Session, name: str) -> Iterable[str]:
    del session, name
    raise Unavailable("nobody knows the saddles")


def _jobs(saddles_from: str = "saddles") -> Jobs:
    return Jobs(
        (
            Job(
                "stable",
                kinds=(KindReference("RidingHorse", "ridinghorses", f"{HERE}:horse", ("rh", "horse")),),
                commands={
                    "why horse": Command(f"{HERE}:horse", "Why a horse is so."),
                    "why saddle": Command(f"{HERE}:saddle", "Why a saddle is so."),
                },
                subjects={"horse": f"{HERE}:horses", "saddle": f"{HERE}:{saddles_from}"},
            ),
        )
    )


def ask(capsys: pytest.CaptureFixture[str], *words: str, jobs: Jobs | None = None) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["why", *words], jobs=jobs or _jobs())
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(["bella"], "horse bella", id="of one kind alone"),
        pytest.param(["of bella"], "saddle of bella", id="that only the asked one is looked up for"),
        pytest.param(["luna", "--leather", "brown"], "saddle luna", id="by an option of one kind alone"),
        pytest.param(["nobody", "--leather", "brown"], "saddle nobody", id="whether or not it is known"),
        pytest.param(["horse/luna"], "horse luna", id="with its kind before a slash"),
        pytest.param(["herd/star"], "horse herd/star", id="with a slash of its own"),
        pytest.param(["RidingHorse", "luna"], "horse luna", id="after the kind of the object"),
        pytest.param(["rh", "luna", "--at", "10m"], "horse luna", id="after its short name"),
        pytest.param(["saddles", "luna"], "saddle luna", id="after a plural"),
    ],
)
def test_a_name_is_asked_about_by_the_command_of_its_kind(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ask(capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith(answer + " ")


def test_options_after_the_name_are_in_force_when_it_is_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "bella", "--data-dir", "/nowhere")[1] == "horse bella /nowhere\n"
    assert (
        ask(capsys, "bella", "--at", "10m", "-o", "json")[1] == '{\n  "horse": "bella",\n  "at": "10m"\n}\n'
    )


def test_a_name_of_two_kinds_is_refused_with_the_command_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "luna")
    assert (code, out) == (2, "")
    assert (
        err
        == "remuda: 'luna' is the name of a horse and a saddle: say which with remuda why horse luna or remuda why saddle luna\n"
    )


@pytest.mark.parametrize(
    ("word", "told"),
    [
        pytest.param(
            "lun",
            "nothing is called 'lun'; did you mean remuda why horse luna or remuda why saddle luna?",
            id="near names of every kind",
        ),
        pytest.param(
            "star",
            "nothing is called 'star'; did you mean remuda why horse herd/star?",
            id="the end of a name",
        ),
        pytest.param(
            "xyzzy",
            "nothing is called 'xyzzy', and nothing is called alike; remuda why asks about a horse or saddle",
            id="nothing near",
        ),
    ],
)
def test_an_unknown_name_is_met_with_near_ones(
    word: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(capsys, word) == (2, "", f"remuda: {told}\n")


def test_a_kind_whose_names_cannot_be_read_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = _jobs("unreachable")
    assert ask(capsys, "bella", jobs=broken)[1].startswith("horse bella ")
    assert "did you mean remuda why horse bella?" in ask(capsys, "bela", jobs=broken)[2]
    assert ask(capsys, "xyzzy", jobs=broken) == (1, "", "remuda: nobody knows the saddles\n")


def test_help_after_a_name_is_that_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(capsys, "bella", "--help")
    assert code == 0
    assert "Why a horse is so." in out
