"""Private files are for their owner alone, and no table lies without its promise."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.output.files import promise_place, write_sealed, write_whole
from discreet.errors import DataSourceError
from discreet.local.tasks.device_file import DeviceFile
from support.second_reader.reading import seal


@pytest.fixture
def everybody_may() -> Iterator[None]:
    """A user whose new files everybody may read and change."""
    mask = os.umask(0)
    yield
    os.umask(mask)


@pytest.mark.usefixtures("everybody_may")
def test_what_is_private_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    ledger = dc.metric.UserLedger(lifetime=10)
    ledger.save(tmp_path / "users.json")
    dc.Account.create(tmp_path / "people.account", dataset="people", epsilon=1)
    DeviceFile(tmp_path / "device").close()
    domain = dc.Domain({"who": {"role": "identifier"}, "age": {"bounds": [0, 9], "role": "quasi-identifier"}})
    people = pa.table({"who": list("abcd"), "age": [1, 1, 8, 8]})
    release = dc.anonymity.DensityTree(k=2, domain=domain).fit_transform(people)
    release.record.save(tmp_path / "people.record")
    write_whole(tmp_path / "secret", "x", private=True)
    modes = {place.name: place.stat().st_mode & 0o777 for place in tmp_path.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert {"users.json", "people.account", "device", "people.record", "secret"} <= set(modes)
    write_whole(tmp_path / "shared", "x")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("failing", [0, 1])
def test_a_table_that_cannot_get_its_name_leaves_no_table_with_the_promise_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    place = tmp_path / "safe.csv"
    promise = dc.Guarantee("syntactic", parameters={"k": 5})
    write_sealed(place, b"a\n1\n", promise.seal(b"a\n1\n"))
    really, calls = os.replace, iter(range(9))

    def replace(source: str, target: str) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(DataSourceError, match="No space left"):
        write_sealed(place, b"a\n2\n", promise.seal(b"a\n2\n"))
    if place.exists():
        told = json.loads(promise_place(place).read_text(encoding="utf-8"))
        assert seal(told, place.read_bytes()) == told["digest"]
    assert not list(tmp_path.glob(".*")), "what was begun is cleared away"
