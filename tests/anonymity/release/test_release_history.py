"""A history of releases: each is checked with all before it, one at a time, and only its keeper can read it."""

from __future__ import annotations

import datetime
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from command_line import printed
from discreet.anonymity import DensityTree, Generalization, Mondrian, ReleaseHistory
from discreet.core import Guarantee
from discreet.errors import FormatError, InvalidArgument
from discreet.jobs import Job
from support.joined_tables import Person, together

K = 5
COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier"},
    "age": {"bounds": [0, 63], "kind": "integer", "role": "quasi-identifier"},
    "cost": {"bounds": [0, 63], "kind": "integer", "role": "quasi-identifier"},
}
PEOPLE: dict[str, Person] = {f"p{i}": (i * 37 % 64, i * i * 11 % 64) for i in range(200)}
TABLE = pa.table({
    "id": list(PEOPLE), "age": [age for age, _ in PEOPLE.values()], "cost": [cost for _, cost in PEOPLE.values()]
})  # fmt: skip


def tree() -> DensityTree:
    return DensityTree(k=K, domain=dc.Domain(COLUMNS))


def mondrian() -> Mondrian:
    return Mondrian(k=K, domain=dc.Domain(COLUMNS))


def released(model: Any, history: ReleaseHistory, target: Path) -> dc.anonymity.Release:
    with history:
        release = model.fit_transform(TABLE, history=history)
        release.save(target)
    return release


def test_tables_of_two_methods_identify_no_one_together(tmp_path: Path) -> None:
    apart, history = tmp_path / "apart", ReleaseHistory(tmp_path / "people.history")
    apart.mkdir()
    for number, model in enumerate((tree(), mondrian().set_params(on_conflict="merge"))):
        model.fit_transform(TABLE).save(apart / f"{number}.csv")
        with history:
            model.fit(TABLE).transform(TABLE, history=history).save(tmp_path / f"{number}.csv")
    alone = together([((apart / f"{n}.csv").read_bytes(), PEOPLE) for n in range(2)])
    assert min(alone.values()) < K, "or the test shows nothing"
    alike = together([((tmp_path / f"{n}.csv").read_bytes(), PEOPLE) for n in range(2)])
    assert min(alike.values()) >= K
    assert [Path(entry.table).name for entry in history.entries] == ["0.csv", "1.csv"]
    assert history.entries[1].earlier == (history.entries[0].seal,)


def test_a_release_that_was_not_checked_with_all_others_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    planned = mondrian().fit_transform(TABLE, history=history)  # nothing is there yet
    released(tree(), history, tmp_path / "first.csv")
    with pytest.raises(InvalidArgument, match="1 release came in between"):
        planned.save(tmp_path / "second.csv")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["first.csv", "first.csv.guarantee.json", "h"]
    assert len(history.entries) == 1
    second = mondrian().fit_transform(TABLE, history=history)
    for place in history.folder.glob("000001.*"):
        place.unlink()
    with pytest.raises(FormatError, match=r"1 release in .* disappeared"):
        second.save(tmp_path / "second.csv")


def test_another_release_waits_from_the_check_to_the_written_table(tmp_path: Path) -> None:
    first, second = ReleaseHistory(tmp_path / "h"), ReleaseHistory(tmp_path / "h")
    seen: list[int] = []
    with first:
        release = tree().fit_transform(TABLE, history=first)
        waiting = threading.Thread(target=lambda: seen.append(len(second.records())))
        waiting.start()
        waiting.join(0.3)
        assert not seen, "it was read while somebody was about to release"
        release.save(tmp_path / "first.csv")
        waiting.join(0.3)
        assert not seen
    waiting.join(30)
    assert seen == [1]


def test_one_release_in_two_forms_is_one_release(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    release = released(tree(), history, tmp_path / "safe.csv")
    release.save(tmp_path / "safe.parquet")
    assert len(history.entries) == 1
    assert (tmp_path / "safe.parquet.guarantee.json").is_file()


def test_a_withdrawn_release_counts_only_with_one_that_was_checked_with_it(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        released(tree(), history, tmp_path / name / "safe.csv")
    history.withdraw(tmp_path / "a")
    assert len(history.entries) == 2
    history.withdraw(tmp_path / "b")
    assert not history.entries
    assert not history.records()


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet", "safe.xlsx"])
def test_a_withdrawn_table_is_deleted_with_all_that_belongs_to_it(tmp_path: Path, name: str) -> None:
    history, target = ReleaseHistory(tmp_path / "h"), tmp_path / name
    released(tree(), history, target)
    (tmp_path / f"{name}.signature.json").write_text("{}")
    assert history.withdraw(tmp_path / f"un{name}") == 0
    assert target.exists()
    (tmp_path / "link").symlink_to(tmp_path / "h")
    assert history.withdraw(tmp_path / "link" / ".." / target.name) == 1  # the same file
    (tmp_path / "link").unlink()
    assert [place.name for place in tmp_path.iterdir()] == ["h"]
    assert not history.tables
    assert history.withdraw(target) == 0


def test_a_table_that_cannot_be_deleted_still_counts(tmp_path: Path) -> None:
    history, target = ReleaseHistory(tmp_path / "h"), tmp_path / "safe.csv"
    released(tree(), history, target)
    target.unlink()
    target.mkdir()
    with pytest.raises(dc.errors.DataSourceError, match=r"cannot delete .*safe\.csv.*withdraw the table again"):
        history.withdraw(target)
    assert len(history.entries) == 1
    target.rmdir()
    assert history.withdraw(target) == 1


def test_only_the_table_of_a_release_is_deleted_by_its_withdrawal(tmp_path: Path) -> None:
    history, target = ReleaseHistory(tmp_path / "h"), tmp_path / "safe.csv"
    promise = tmp_path / "safe.csv.guarantee.json"
    released(tree(), history, target)
    target.rename(tmp_path / "moved.csv")
    promise.rename(tmp_path / "moved.csv.guarantee.json")
    target.write_text("another file")
    released(mondrian(), ReleaseHistory(tmp_path / "other"), tmp_path / "other.csv")
    for _ in ("without a guarantee", "with that of another table"):
        with pytest.raises(dc.errors.DataSourceError, match="is not the table that was released there"):
            history.withdraw(target)
        promise.write_bytes((tmp_path / "other.csv.guarantee.json").read_bytes())
    assert target.exists()
    assert len(history.entries) == 1
    assert history.lists(tmp_path / "moved.csv", guarantee_of(tmp_path / "moved.csv"))
    target.unlink()
    assert history.withdraw(target) == 1
    assert not history.lists(tmp_path / "moved.csv", guarantee_of(tmp_path / "moved.csv"))


def test_an_entry_without_guarantees_is_known_by_its_place_also_after_a_copy(tmp_path: Path) -> None:
    history, target = ReleaseHistory(tmp_path / "h"), tmp_path / "safe.csv"
    release = released(tree(), history, target)
    history._write(replace(history.entries[0], promises=()))  # as an earlier version wrote it
    assert history.lists(target, guarantee_of(target))
    release.save(tmp_path / "copy.parquet", form="bounds")
    assert len(history.entries) == 1
    assert history.lists(target, guarantee_of(target))
    assert history.lists(tmp_path / "copy.parquet", guarantee_of(tmp_path / "copy.parquet"))
    assert not history.lists(tmp_path / "elsewhere.csv", guarantee_of(target))


def guarantee_of(table: Path) -> str:
    """Return the digest of the guarantee next to a table."""
    return str(Guarantee.from_json(Path(f"{table}.guarantee.json").read_bytes()).digest)


def test_a_withdrawal_that_is_killed_leaves_a_release_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, target = ReleaseHistory(tmp_path / "h"), tmp_path / "safe.csv"
    released(tree(), history, target)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as at:
        at.setattr(Path, "touch", killed)  # the table is deleted, and the entry is not yet marked
        with pytest.raises(KeyboardInterrupt):
            history.withdraw(target)
    assert not target.exists()
    assert len(history.entries) == 1
    assert history.withdraw(target) == 1
    assert not history.entries


@pytest.mark.parametrize("meanwhile", ["replaced", "withdrawn"])
def test_a_withdrawal_that_waited_takes_back_what_it_was_asked_for_or_nothing(tmp_path: Path, meanwhile: str) -> None:
    history, waiting = ReleaseHistory(tmp_path / "h"), ReleaseHistory(tmp_path / "h")
    target, said = tmp_path / "safe.csv", list[Any]()
    released(tree(), history, target)
    with pytest.warns(dc.errors.DiscreetWarning, match="replaces"):
        released(mondrian(), history, target)

    def withdraw() -> None:
        try:
            said.append(waiting.withdraw(target))
        except dc.errors.DataSourceError as error:
            said.append(str(error))

    with history:
        history.records()  # from here on it is locked
        thread = threading.Thread(target=withdraw)
        thread.start()
        thread.join(0.3)
        if meanwhile == "withdrawn":
            history.withdraw(target)
        else:
            release = tree().fit_transform(TABLE.slice(0, 150), history=history)
            with pytest.warns(dc.errors.DiscreetWarning, match="replaces"):
                release.save(target)
    thread.join(30)
    assert len(said) == 1
    assert "nothing was withdrawn; withdraw it again" in str(said[0])
    assert target.exists() == (meanwhile == "replaced")
    assert len(history.tables) == (3 if meanwhile == "replaced" else 1)


def test_what_was_withdrawn_and_is_released_again_counts_again(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    for name in ("lost", "kept"):
        (tmp_path / name).mkdir()
        released(tree(), history, tmp_path / name / "safe.csv")
        if name == "lost":
            history.withdraw(tmp_path / name)
    assert [entry.table for entry in history.entries] == [str(tmp_path / "kept" / "safe.csv")]
    assert len(history.records()) == 1


def test_only_its_keeper_can_read_a_history(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    released(tree(), history, tmp_path / "safe.csv")
    assert history.folder.stat().st_mode & 0o777 == 0o700
    assert {place.stat().st_mode & 0o777 for place in history.folder.iterdir()} == {0o600}
    assert {place.suffix for place in history.folder.iterdir()} == {".json", ".record", ""}


def test_a_damaged_history_lets_nothing_through(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    released(tree(), history, tmp_path / "safe.csv")
    (history.folder / "000001.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match="damaged"):
        released(tree(), history, tmp_path / "next.csv")
    assert not (tmp_path / "next.csv").exists()


def test_a_table_by_levels_may_follow_another(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    model = Generalization(k=K, domain=dc.Domain(COLUMNS))
    first = released(model, history, tmp_path / "first.csv")
    second = released(model, history, tmp_path / "second.csv")
    assert second.guarantee.parameters["levels"] == first.guarantee.parameters["levels"]
    assert len(second) == len(first)


def test_a_job_is_checked_with_its_history_and_added_to_it(tmp_path: Path) -> None:
    rows = "".join(f"{name},{age},{cost}\n" for name, (age, cost) in PEOPLE.items())
    (tmp_path / "people.csv").write_text("id,age,cost\n" + rows, encoding="utf-8")
    tree().fit_transform(TABLE, history=tmp_path / "h").save(tmp_path / "1.csv")
    given = {"k": K, "method": "mondrian", "history": "h"}
    job = Job("anonymize", "people.csv", COLUMNS, given, {"release": "2.csv"}, tmp_path)
    assert job.run().guarantee.parameters["earlier_releases"] == 1  # type: ignore[union-attr]
    assert [Path(entry.table).name for entry in ReleaseHistory(tmp_path / "h").entries] == ["1.csv", "2.csv"]


def test_an_incomplete_history_lets_nothing_through(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    for name in "ab":
        released(tree(), history, tmp_path / f"{name}.csv")
    kept = {place.name: place.read_bytes() for place in history.folder.glob("0*")}
    for place in history.folder.glob("000001.*"):
        place.unlink()
    with pytest.raises(FormatError, match="incomplete, 1 earlier release missing"):
        history.records()
    (history.folder / "000001.json").write_bytes(kept["000001.json"])
    with pytest.raises(dc.errors.DataSourceError, match="cannot read"):
        history.records()
    (history.folder / "000001.record").write_bytes(kept["000002.record"])
    with pytest.raises(FormatError, match="record of another release"):
        history.records()


def test_a_record_without_its_entry_lets_nothing_through(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    released(tree(), history, tmp_path / "a.csv")
    record = (history.folder / "000001.record").read_bytes()
    entry = history.folder / "000001.json"
    for elsewhere in ("000007.json", "x.json"):
        entry.rename(history.folder / elsewhere)
        with pytest.raises(FormatError, match=r"000001.record' has no entry \(000001.json\)"):
            released(tree(), history, tmp_path / "b.csv")
        (history.folder / elsewhere).rename(entry)
    assert (history.folder / "000001.record").read_bytes() == record
    assert not (tmp_path / "b.csv").exists()


def test_no_file_of_a_history_gives_its_number_to_another_release(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    history.folder.mkdir()
    (history.folder / "000003.withdrawn").touch()
    released(tree(), history, tmp_path / "a.csv")
    assert [entry.number for entry in history.entries] == [4]


def test_a_release_counts_until_each_of_its_copies_is_withdrawn(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    for name in ("draft", "public", "later"):
        (tmp_path / name).mkdir()
    release = released(tree(), history, tmp_path / "draft" / "a.csv")
    release.save(tmp_path / "public" / "a.parquet", form="bounds")
    history.withdraw(tmp_path / "draft")
    assert [entry.table for entry in history.entries] == [str(tmp_path / "public" / "a.parquet")]
    second = released(mondrian(), history, tmp_path / "later" / "b.csv")
    assert second.guarantee.parameters["earlier_releases"] == 1
    history.withdraw(tmp_path / "public")
    assert len(history.entries) == 2, "the second was checked with it"
    release.save(tmp_path / "draft" / "again.csv")
    history.withdraw(tmp_path / "later")
    assert [entry.table for entry in history.entries] == [str(tmp_path / "draft" / "again.csv")]
    history.withdraw(tmp_path / "draft")
    assert not history.entries


def test_equal_cells_with_other_values_are_another_release(tmp_path: Path) -> None:
    model = DensityTree(k=K, domain=dc.Domain({**COLUMNS, "note": {"categories": ["x", "y"]}}), keep=["note"])
    plain = TABLE.append_column("note", pa.array(["x"] * TABLE.num_rows))
    other = TABLE.append_column("note", pa.array(["x", "y"] * (TABLE.num_rows // 2)))
    history = ReleaseHistory(tmp_path / "h")
    first = model.fit(plain).transform(plain, history=history)
    second = [model.transform(other, history=history), model.transform(plain, history=history, order="input")]
    first.save(tmp_path / "first.csv")
    for release in second:
        assert release.record.seal == first.record.seal
        with pytest.raises(InvalidArgument, match="1 release came in between"):
            release.save(tmp_path / "second.csv")
    model.transform(other, history=history).save(tmp_path / "second.csv")
    assert len(history.entries) == 2


def test_a_block_may_name_its_own_folder_again(tmp_path: Path) -> None:
    waited: list[int] = []
    with ReleaseHistory(tmp_path / "h") as history:
        with ReleaseHistory(tmp_path / "x" / ".." / "h"):
            tree().fit_transform(TABLE, history=str(tmp_path / "h")).save(tmp_path / "a.csv")
        waiting = threading.Thread(target=lambda: waited.append(len(ReleaseHistory(tmp_path / "h").records())))
        waiting.start()
        waiting.join(0.3)
        assert not waited, "the outer block still holds the lock"
        tree().fit_transform(TABLE, history=history).save(tmp_path / "b.csv")
    waiting.join(30)
    assert waited == [2]


def test_a_table_that_replaces_a_release_says_that_both_count(tmp_path: Path) -> None:
    people = dc.datasets.people(120)
    history = ReleaseHistory(tmp_path / "people.history")
    Mondrian(k=5, domain=people.domain).fit_transform(people.table.slice(0, 60), history=history).save(
        tmp_path / "t.csv"
    )
    later = Mondrian(k=5, domain=people.domain).fit_transform(people.table, history=history)
    with pytest.warns(dc.errors.DiscreetWarning, match=r"'t\.csv' replaces a table that counts as released"):
        later.save(tmp_path / "t.csv")
    assert len(history.entries) == 2


def test_a_history_needs_a_name() -> None:
    with pytest.raises(InvalidArgument, match="history must be the path of a folder"):
        tree().fit_transform(TABLE, history="")


def test_a_stored_copy_of_a_release_cannot_leave_its_history_out(tmp_path: Path) -> None:
    made = tree().fit_transform(TABLE, history=tmp_path / "h")
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(made))))
    with pytest.raises(InvalidArgument, match="by the program that made it"):
        copy.save(tmp_path / "safe.csv")
    pickle.loads(pickle.dumps(tree().fit_transform(TABLE))).save(tmp_path / "safe.csv")


def test_a_conflict_names_the_release_and_its_day(tmp_path: Path) -> None:
    history = ReleaseHistory(tmp_path / "h")
    released(tree(), history, tmp_path / "january.csv")
    today = datetime.date.today()
    said = f"1 removed record could be identified by comparing this release with january.csv of {today.day} {today:%B}"
    with pytest.raises(InvalidArgument, match=said) as refused:
        tree().set_params(on_conflict="merge").fit_transform(TABLE.slice(1), history=history)
    assert f"must leave or change together, at least {K} at a time; here {K - 1} more per group" in str(refused.value)
    assert len(tree().fit_transform(TABLE.slice(1), history=history)) < TABLE.num_rows - 1  # as it advises


def test_a_conflict_spells_its_advice_as_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree().fit_transform(TABLE.slice(1), history=tmp_path / "h").save(tmp_path / "january.csv")
    with pytest.raises(dc.errors.ReleaseConflict, match=r"release fewer rows; try on_conflict='suppress'$"):
        tree().set_params(on_conflict="merge").fit_transform(TABLE, history=tmp_path / "h")
    dc.Domain(COLUMNS).to_toml(tmp_path / "schema.toml")
    pa_csv.write_csv(TABLE, tmp_path / "people.csv")
    said = printed(
        capsys, "anonymize", tmp_path / "people.csv", "--schema", tmp_path / "schema.toml", "--k", K, "--history",
        tmp_path / "h", "--output", tmp_path / "february.csv", "--on-conflict", "merge", code=2,
    )  # fmt: skip
    assert "release fewer rows; try --on-conflict suppress" in " ".join(said.split())


def test_a_table_that_cannot_be_written_leaves_no_history(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age,cost\n" + "p,1,1\n" * 9, encoding="utf-8")
    with pytest.raises(dc.errors.DataSourceError, match="a table is written as"):
        Job("anonymize", "people.csv", COLUMNS, {"k": K, "history": "h"}, {"release": "safe.dat"}, tmp_path)
    assert [place.name for place in tmp_path.iterdir()] == ["people.csv"]


def test_threads_that_share_a_history_release_one_after_the_other(tmp_path: Path) -> None:
    """Both tables know of each other: the later one was checked with the earlier one."""
    domain = dc.Domain({"age": {"bounds": [0, 120], "role": "quasi-identifier"}, "who": {"role": "identifier"}})
    people = pa.table({"age": [20, 21, 22, 60, 61, 62] * 4, "who": [f"p{i}" for i in range(24)]})
    history = dc.anonymity.ReleaseHistory(tmp_path / "people.history")

    def release(name: str) -> None:
        with history:
            made = dc.anonymity.DensityTree(k=2, domain=domain).fit_transform(people, history=history)
            made.save(tmp_path / f"{name}.csv")

    threads = [threading.Thread(target=release, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(entry.earlier) for entry in history.entries) == list(range(len(history.entries)))
    assert len({entry.number for entry in history.entries}) == len(history.entries) >= 1
