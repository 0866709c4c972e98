from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from tests.objects.sample import Limits, Part, SampleSpec, load, sample

from remuda.model.quantities import Quantity
from remuda.model.times import Duration
from remuda.objects.manifests import to_manifest
from remuda.objects.scalars import CronText, Share

SPECS = st.builds(
    SampleSpec,
    class_=st.text(alphabet="abc é", min_size=1, max_size=8),
    max=st.integers(0, 100_000),
    factor=st.floats(0.5, 99),
    exact=st.booleans(),
    delay=st.integers(0, 10**9).map(Duration),
    headroom=st.builds(Share, count=st.integers(0, 9)) | st.builds(Share, percent=st.integers(0, 99)),
    limits=st.builds(Limits, memory=st.integers(0, 10**20).map(Quantity)),
    parts=st.lists(st.just(Part(start_at=CronText("0 8 * * *"))), max_size=3).map(tuple),
    env=st.dictionaries(
        st.text(alphabet="Ab.", max_size=3), st.text(alphabet="a1\n", max_size=3), max_size=3
    ),
)


@given(SPECS)
def test_what_is_written_loads_as_the_same(spec: SampleSpec) -> None:
    loaded = load(sample(json.encode(to_manifest(spec)).decode()))
    assert loaded.problems == ()
    assert loaded.objects[0].spec == spec


def test_it_is_written_as_a_person_would() -> None:
    spec = SampleSpec(class_="a", delay=Duration(90_000), headroom=Share(percent=25))
    data = to_manifest(spec)
    assert data["class"] == "a"
    assert data["delay"] == "1m30s"
    assert data["headroom"] == "25%"
    assert data["limits"] == {}
    assert "ceiling" not in data
