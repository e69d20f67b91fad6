"""Columns that say whose row it is, and rows that were held back, are in nothing that leaves: in memory and on disk.

Names, numbers of people and what is in suppressed rows carry marks, which are looked for in everything that comes
out: columns, dictionaries, metadata, pickles, files, the terminal.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import run
from discreet import anonymity, metric

N = 60
NAME, NUMBER, HELD_BACK = "TELLTALE", 777123770000, "OUTLIER"
NOTES = [f"note {i:02}" for i in range(N)] + [f"{HELD_BACK} {i:02}" for i in range(3)]
NUMBERS = {"age": (0, 120), "pay": (0, 100)}


def domain(**unit: Any) -> dc.Domain:
    return dc.Domain(
        {
            "name": {"categories": ["any"], "role": "identifier"},
            "who": {"bounds": [0, 10**12], "role": "person"},
            "age": {"bounds": [0, 120], "role": "quasi-identifier"},
            "pay": {"bounds": [0, 100], "role": "quasi-identifier"},
            "note": {"categories": NOTES},
            "ill": {"categories": ["no", "yes"], "role": "sensitive"},
        },
        **unit,
    )


def frame() -> pd.DataFrame:
    """Return people sorted by name, three of them far from all others; categories as pandas keeps them."""
    rng = np.random.default_rng(1)
    size = N + 3
    return pd.DataFrame(
        {
            "name": pd.Categorical([f"{NAME} {i:02}" for i in range(size)]),
            "who": NUMBER + np.arange(size),
            "age": np.append(np.sort(rng.integers(20, 40, N)), [118, 119, 120]),
            "pay": np.append(rng.integers(0, 30, N), [80, 90, 100]),
            "note": pd.Categorical(NOTES),
            "ill": pd.Categorical(rng.choice(["no", "yes"], size)),
        }
    )


def sources(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    table = pa.Table.from_pandas(frame())
    pq.write_table(table, folder / "in.parquet")
    frame().to_csv(folder / "in.csv", index=False)
    return {"pandas": frame(), "arrow": table, "parquet": folder / "in.parquet", "csv": folder / "in.csv"}


def check(thing: Any, *, also: tuple[str, ...] = ()) -> None:
    """Look for the marks in a returned thing or a file."""
    words = [repr(thing)]
    if isinstance(thing, Path):
        words.append(thing.read_bytes().decode("latin-1"))
        thing = pq.read_table(thing) if thing.suffix == ".parquet" else None
    if isinstance(thing, pa.Table):
        # The order of a dictionary may be that in which values came, and it may list values of rows that are not there.
        assert not any(pa.types.is_dictionary(kind) for kind in thing.schema.types)
        words += [repr(thing.to_pydict()), thing.schema.to_string(truncate_metadata=False)]
    if isinstance(thing, pd.DataFrame):
        assert not any(isinstance(kind, pd.CategoricalDtype) for kind in thing.dtypes)
        words.append(thing.to_csv())
    words.append(pickle.dumps(thing).decode("latin-1"))
    for mark in (NAME, str(NUMBER)[:9], *also):
        assert not any(mark in each for each in words), mark


def test_the_marks_are_found_where_they_are(tmp_path: Path) -> None:
    held = sources(tmp_path / "in")
    for thing in held.values():
        with pytest.raises(AssertionError):
            check(thing)
    notes = held["arrow"].select(["note"])
    with pytest.raises(AssertionError):
        check(notes.slice(0, N))
    with pytest.raises(AssertionError, match=HELD_BACK):  # a slice, pickled, takes all of its buffer along
        check(notes.cast(pa.schema([("note", pa.string())])).slice(0, N), also=(HELD_BACK,))


METHODS: dict[str, Any] = {
    "tree": anonymity.DensityTree(k=5, keep=["note"], suppress=0.1),
    "mondrian": anonymity.Mondrian(k=5, keep=["note"], suppress=0.1),
    "levels": anonymity.Generalization(k=5, keep=["note"], suppress=0.1),
}


@pytest.mark.parametrize("name", METHODS)
def test_suppressed_people_are_in_no_release(name: str, tmp_path: Path) -> None:
    for form, source in sources(tmp_path / "in").items():
        method = METHODS[name].set_params(domain=domain())
        release = method.fit_transform(source)
        gone = (HELD_BACK,) if release.suppressed else ()
        assert gone or name != "levels"
        if gone:
            assert not any(note.startswith(HELD_BACK) for note in release.table["note"].to_pylist())
        for thing in (release.table, release.to_pandas()):
            check(thing, also=gone)
        for thing in (release.guarantee, release, method):  # these name the declared categories
            check(thing)
        for suffix in ("csv", "parquet"):
            release.save(tmp_path / f"{form}.{suffix}")
            check(tmp_path / f"{form}.{suffix}")
            written = method.transform_file(source, tmp_path / f"{form}-rows.{suffix}")
            check(tmp_path / f"{form}-rows.{suffix}")
            check(written.head)


@pytest.mark.parametrize("output", ["interval", "center", "sample"])
@pytest.mark.parametrize("name", METHODS)
def test_a_stored_release_does_not_say_where_its_rows_stood(name: str, output: str) -> None:
    """The order of the input was in it, next to rows that had been shuffled: it undid the shuffling."""
    release = METHODS[name].set_params(domain=domain()).fit_transform(frame(), output=output)
    stored = pickle.loads(pickle.dumps(release))
    assert np.array_equal(stored.rows, np.arange(len(release.rows)))
    assert len(stored.cells.of) == len(release)
    assert stored.cells.of.min() >= 0
    assert np.array_equal(stored.cells.counts(), release.cells.counts())
    assert stored.table.equals(release.table)
    if output == "sample":
        assert np.array_equal(stored.cells.of, np.sort(stored.cells.of))
    else:
        assert not np.array_equal(release.rows, stored.rows)  # false once in 60! times
        assert stored.bounds.equals(release.bounds)


@pytest.mark.parametrize("name", ["Microaggregation", "NoiseAddition", "MultiplicativeNoise", "RankSwapping"])
def test_methods_that_count_rows_leave_names_behind(name: str) -> None:
    plain = dc.Domain({c.name: c for c in domain().columns if c.name != "who"})
    model = getattr(anonymity, name)(domain=plain, keep=["note"])
    release = model.fit_transform(frame().drop(columns="who"))
    assert set(release.table.column_names) == {"age", "pay", "note", "ill"}
    check(release.table)
    check(release.to_pandas())


def test_perturbed_rows_do_not_say_whose_they_are(tmp_path: Path) -> None:
    declared = domain(unit="row").select(["name", "who", "age", "pay"])
    mechanism = metric.NDLaplace(1, 5.0, declared)
    for form, source in sources(tmp_path / "in").items():
        moved = mechanism.transform(source)
        check(moved)
        assert list(moved.columns if isinstance(moved, pd.DataFrame) else moved.column_names) == ["age", "pay"]
        for suffix in ("csv", "parquet"):
            written = mechanism.transform_file(source, tmp_path / f"{form}.{suffix}")
            check(written.path)
            check(written.head)


def test_a_stored_report_of_trajectories_does_not_say_whose_they_are() -> None:
    places, names = frame()[["age", "pay"]], [f"{NAME} {i // 3:02}" for i in range(N + 3)]
    plan = metric.Trajectory(metric.NDLaplace(1, 5.0, NUMBERS), threshold=5, test_epsilon=0.5, budget=5)
    report = plan.report(places, names)
    assert set(report.users.tolist()) == set(names)
    check(report)
    stored = pickle.loads(pickle.dumps(report))
    assert stored.places.equals(report.places)
    assert np.array_equal(stored.spent, report.spent)
    assert np.array_equal(stored.rows, np.arange(N + 3))
    assert not np.array_equal(report.rows, stored.rows)  # false once in 21! times


def test_samples_and_centres_do_not_say_whose_rows_they_come_from(tmp_path: Path) -> None:
    declared = domain(unit="row").select(["name", "who", "age", "pay", "ill"])
    for form, source in sources(tmp_path / "in").items():
        for kind in (dc.GridSynopsis(2.0, declared, 3), dc.TreeSynopsis(2.0, declared)):
            made = kind.fit(source).synopsis_
            made.save(tmp_path / f"{form}.parquet")
            for thing in (made.sample(50), made.to_arrow(), made.guarantee, tmp_path / f"{form}.parquet"):
                check(thing)
        model = dc.PrivateKMeans(2, 2.0, declared).fit(source)
        check(model)
        check(model.cluster_centers_)
        check(model.predict_file(source, tmp_path / f"{form}-labels.parquet").path)


def test_the_command_line_writes_nothing_about_whose_rows_they_are(tmp_path: Path) -> None:
    held = sources(tmp_path / "in")
    schema, out = tmp_path / "in" / "schema.toml", tmp_path / "out"
    domain(unit="row").to_toml(schema)
    out.mkdir()
    secret = tmp_path / "in" / "secret"
    secret.write_bytes(b"0123456789abcdef0123456789abcdef")
    table = ["--schema", str(schema)]
    rappor = [f"--set={x}" for x in ("f=0.5", "p=0.25", "q=0.75", "cohorts=4", "bits=16")]
    for form in ("csv", "parquet"):
        commands = {
            f"anonymous.{form}": ["anonymize", *table, "--k", "5", "--keep", "note"],
            f"noisy.{form}": ["perturb", *table, "--epsilon", "1", "--radius", "5", "--category-epsilon", "1"],
            f"synopsis-{form}.parquet": ["synopsis", *table, "--epsilon", "1"],
            f"centers.{form}": ["cluster", *table, "--epsilon", "1", "-k", "2"],
            f"reports-{form}": ["sketch", "encode", "--column", "ill", "-m", "rappor", "--users", "name",
                "--secret", str(secret), *rappor],
        }  # fmt: skip
        for target, given in commands.items():
            verb = given[:2] if given[0] == "sketch" else given[:1]
            command = [*verb, str(held[form]), *given[len(verb) :], "-o", str(out / target)]
            result = run(*command, catch=True)
            assert result.exit_code == 0, (command, result.output)
            assert NAME not in result.output
            assert str(NUMBER)[:9] not in result.output
    assert len(list(out.iterdir())) >= 10
    for file in out.iterdir():
        check(file)
