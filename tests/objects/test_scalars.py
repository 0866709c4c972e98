import re
import subprocess
import sys
from typing import Any

import pytest

from remuda.objects.scalars import ClassName, CronText, LabelKey, LabelValue, ObjectName, Share, Url, ZoneName


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        pytest.param(ObjectName, "a", id="a name of one letter"),
        pytest.param(ObjectName, "my-pool-2", id="a name"),
        pytest.param(ObjectName, "x" * 63, id="the longest name"),
        pytest.param(ClassName, "nix-kvm", id="a class of one part"),
        pytest.param(ClassName, "My_Org/my.runner", id="a class of two parts"),
        pytest.param(ClassName, "x" * 128, id="the longest class"),
        pytest.param(Url, "https://ci.example:8443/path/", id="an address"),
        pytest.param(Url, "http://[::1]:8080", id="an address of numbers"),
        pytest.param(CronText, "0 8 * * 1-5", id="a cron expression"),
        pytest.param(ZoneName, "UTC", id="UTC"),
        pytest.param(ZoneName, "America/Argentina/Buenos_Aires", id="a zone of three parts"),
        pytest.param(LabelKey, "example.com/team", id="a label key"),
        pytest.param(LabelValue, "", id="an empty label value"),
    ],
)
def test_a_right_text_is_kept_as_it_is(scalar: Any, text: str) -> None:
    read = scalar.parse(text)
    assert read == text
    assert isinstance(read, scalar)
    assert re.search(scalar.json_schema.get("pattern", ""), text)


@pytest.mark.parametrize(
    ("scalar", "text", "sentence"),
    [
        pytest.param(Url, "ci.example", "is no address", id="an address says how"),
        pytest.param(
            Url, "https://user:secret@ci.example/", "is no address", id="an address holds no password"
        ),
        pytest.param(Url, "https://ci.example:99999/", "is no address", id="a port is not that large"),
        pytest.param(Url, "https://ci.example:0/", "is no address", id="a port is not nothing"),
        pytest.param(Url, "https://ci.example:abc/", "is no address", id="a port is a number"),
        pytest.param(Url, "https://:443/", "is no address", id="an address has a host"),
        pytest.param(Url, "https://[::1/", "is no address", id="brackets are closed"),
        pytest.param(Url, "https://ci.example/?a=b", "is no address", id="an address asks nothing"),
        pytest.param(ObjectName, "Shell", "small letters", id="a name has no capitals"),
        pytest.param(ObjectName, "x" * 64, "63", id="a name is not longer than 63"),
        pytest.param(ObjectName, "a-", "ending with a letter", id="a name does not end in a dash"),
        pytest.param(ObjectName, "a\n", "is no name", id="a name has no line end"),
        pytest.param(ObjectName, "", "is no name", id="a name is not empty"),
        pytest.param(ObjectName, 5, "5 is no name", id="a name is no number"),
        pytest.param(ClassName, "a/b/c", "my-org/my-runner", id="a class has two parts at most"),
        pytest.param(ClassName, "a/", "is no class", id="no part is empty"),
        pytest.param(ClassName, "a b", "is no class", id="a class has no space"),
        pytest.param(ClassName, "x" * 129, "128", id="a class is not longer than 128"),
        pytest.param(ClassName, True, "true is no class", id="a class is no bool"),
        pytest.param(CronText, "whenever", "five fields", id="cron nonsense"),
        pytest.param(CronText, 5, "five fields", id="a number is no cron"),
        pytest.param(ZoneName, "Europe/Berln", "did you mean Europe/Berlin?", id="a slip in a zone"),
        pytest.param(ZoneName, "berlin", "did you mean Europe/Berlin?", id="a city is not a zone"),
        pytest.param(ZoneName, "../../etc/passwd", "is no time zone", id="a path is no zone"),
        pytest.param(ZoneName, "", "is no time zone", id="an empty zone"),
        pytest.param(ZoneName, "America", "is no time zone", id="a directory of zones is no zone"),
        pytest.param(ZoneName, "a\0b", "is no time zone", id="a zone has no null byte"),
        pytest.param(ZoneName, "z" * 1000, "Europe/Berlin", id="a long text is no zone"),
        pytest.param(ZoneName, 2, "Europe/Berlin", id="a number is no zone"),
        pytest.param(LabelKey, "a b", "is no label key", id="a label key has no space"),
        pytest.param(LabelValue, 5, "quotes", id="a label value is text"),
        pytest.param(LabelValue, "a b", "is no label value", id="a label value has no space"),
        pytest.param(Share, -1, "is neither a count", id="a share is not below zero"),
        pytest.param(Share, 100_001, "is neither a count", id="a count has a most"),
        pytest.param(Share, "10001%", "is neither a count", id="a percentage has a most"),
        pytest.param(Share, "25 %", "like 2 or 25%", id="a percentage has no space"),
        pytest.param(Share, "2", "like 2 or 25%", id="a count is not text"),
        pytest.param(Share, 0.25, "like 2 or 25%", id="a share is no fraction"),
        pytest.param(Share, True, "like 2 or 25%", id="a share is no bool"),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence(scalar: Any, text: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        scalar.parse(text)
    assert len(str(caught.value)) < 300


def test_a_share_is_a_count_or_a_percentage() -> None:
    assert Share.parse(3) == Share(count=3)
    assert Share.parse("25%") == Share(percent=25)
    assert [str(share) for share in (Share(3), Share(percent=25), Share(0))] == ["3", "25%", "0"]


def test_the_types_of_objects_are_imported_without_yaml() -> None:
    code = "import sys, remuda.objects.ceiling; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
