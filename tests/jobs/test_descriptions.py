"""Every reference of every description leads somewhere, to what it says it is."""

from importlib import resources

import pytest
from tests.jobs.bells import WITH_BELLS

from remuda.job import BackendReference, Job, KindReference, load
from remuda.kube.rbac import Rule
from remuda.output.registry import words_of
from remuda.runtime import Runtime

JOBS = [pytest.param(job, id=job.name) for job in WITH_BELLS]
BACKENDS = [
    pytest.param(each, id=each.make) for backends in WITH_BELLS.backends.values() for each in backends
]


@pytest.mark.parametrize("job", JOBS)
def test_every_reference_of_a_job_can_be_followed(job: Job) -> None:
    for reference in (job.check, job.views, job.reasons, job.replay, job.live_view):
        assert reference is None or load(reference) is not None
    assert all(
        callable(load(reference)) for reference in (*job.subjects.values(), *job.checkups, *job.report)
    )
    assert job.runtime is None or issubclass(load(job.runtime), Runtime)
    assert (job.reasons is None) == (job.prefixes == ())
    for rules in load(job.permissions).values() if job.permissions else ():
        assert all(isinstance(rule, Rule) for rule in rules)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in WITH_BELLS.kinds()])
def test_a_kind_has_the_names_that_its_reference_says(kind: KindReference) -> None:
    found = kind.load()
    assert (found.name, found.plural, found.short_names) == (kind.name, kind.plural, kind.short_names)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_reference_of_a_backend_can_be_followed(backend: BackendReference) -> None:
    assert callable(load(backend.make))
    assert backend.permissions is None or all(isinstance(rule, Rule) for rule in load(backend.permissions))


@pytest.mark.parametrize("job", JOBS)
def test_what_a_job_shows_has_its_templates_beside_it(job: Job) -> None:
    shown = (*job.pages, *((job.panel,) if job.panel else ()))
    for package in {each.render.partition(":")[0].rpartition(".")[0] for each in shown}:
        assert (resources.files(package) / "templates").is_dir(), f"{package} has no directory templates"


def test_everything_that_can_be_asked_why_is_found_by_its_name() -> None:
    assert WITH_BELLS.subjects().keys() == WITH_BELLS.commands("why").keys()


def test_no_two_jobs_bring_the_same() -> None:
    words = [word for job in WITH_BELLS for word in job.commands]
    kinds = [kind.name for kind in WITH_BELLS.kinds()]
    loops = [loop for job in WITH_BELLS for loop in job.loops]
    for brought in (words, kinds, loops, [job.name for job in WITH_BELLS]):
        assert len(brought) == len(set(brought))


def test_permissions_of_up_hold_those_of_its_jobs_and_backends() -> None:
    needed = WITH_BELLS.permissions()["up"]
    assert {"bells", "runnerpools", "virtualmachines", "leases"} <= {
        name for rule in needed for name in rule.resources
    }


@pytest.mark.parametrize("code", WITH_BELLS.codes())
def test_every_code_says_what_it_means_in_a_sentence_of_its_own(code: str) -> None:
    meanings = {code: words[0] for code, words in WITH_BELLS.codes().items()}
    assert meanings[code][0].isupper()
    assert meanings[code].endswith(".")
    assert sum(other == meanings[code] for other in meanings.values()) == 1


def test_every_code_is_found_by_how_it_begins() -> None:
    WITH_BELLS.teach()
    assert all(words_of(code) is not None for code in WITH_BELLS.codes())
