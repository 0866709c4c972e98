"""Saved guests that are kept: those that were used last, and only whole ones."""

import os
from pathlib import Path

from tests.providers.kubevirt.guest.saved import fingerprint, forget_old


def test_the_guests_that_were_used_last_are_kept_and_none_that_is_not_whole(tmp_path: Path) -> None:
    for age, name in enumerate(("idle-d", "idle-c.part", "idle-b", "idle-a", "booted-a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "root.qcow2").touch()
        os.utime(tmp_path / name, (age, age))
    forget_old(tmp_path, "idle", most=2)
    assert {place.name for place in tmp_path.iterdir()} == {"idle-a", "idle-b", "booted-a"}


def test_a_guest_of_other_user_data_or_of_other_files_is_another_and_tests_may_change(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    seen = set()
    for name, text in (("vm.py", "1"), ("vm.py", "2"), ("package/control", "3"), ("relay.py", "")):
        (tmp_path / name).write_text(text)
        seen |= {fingerprint({"userdata": data}, tmp_path) for data in ("a", "b")}
    assert len(seen) == 8
    (tmp_path / "test_vm.py").write_text("1")
    assert fingerprint({"userdata": "a"}, tmp_path) in seen
