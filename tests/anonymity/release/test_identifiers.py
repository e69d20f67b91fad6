"""A column that says whose row it is never leaves as it is, by whatever door it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import discreet as dc
from discreet.cli.app import main

N = 60
SCHEMA = """
[columns.record]
categories = ["any"]
role = "identifier"

[columns.age]
bounds = [0, 120]
role = "quasi-identifier"

[columns.cost]
bounds = [0, 100]

[columns.ill]
categories = ["no", "yes"]
role = "sensitive"
"""
METHODS = (
    "DensityTree",
    "Mondrian",
    "Generalization",
    "Microaggregation",
    "NoiseAddition",
    "MultiplicativeNoise",
    "RankSwapping",
)


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "record": [f"R{i}" for i in range(N)],
            "age": rng.integers(0, 100, N),
            "cost": rng.integers(0, 100, N),
            "ill": ["no", "yes"] * (N // 2),
        }
    )


@pytest.mark.parametrize("role", ["identifier", "person"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", [{"keep": ["cost", "record"]}, {"keep": ["cost"], "target": "record"}])
def test_no_method_passes_on_who_it_is(method: str, role: str, asked: dict[str, Any]) -> None:
    domain = dc.Domain.from_toml(SCHEMA.replace('"identifier"', f'"{role}"'))
    kind = getattr(dc.anonymity, method)
    with pytest.raises(dc.errors.InvalidArgument, match=r"whose row it is|not passed on"):
        kind(domain=domain, **asked).fit(table())


def test_a_sensitive_identifier_is_refused_too() -> None:
    with pytest.raises(dc.errors.InvalidArgument, match="whose row it is"):
        dc.anonymity.DensityTree(k=5, domain=dc.Domain.from_toml(SCHEMA), keep=["cost"], sensitive="record").fit(
            table()
        )


def test_what_a_refusal_suggests_is_no_identifier_and_is_accepted() -> None:
    domain = dc.Domain.from_toml(SCHEMA)
    with pytest.raises(dc.errors.InvalidArgument) as unknown:
        dc.anonymity.DensityTree(k=5, domain=domain, keep=["Cost"]).fit(table())
    assert "record" not in str(unknown.value)
    assert "try keep=['cost']" in str(unknown.value)
    with pytest.raises(dc.errors.InvalidArgument, match=r"keep=\['cost'\]"):
        dc.anonymity.DensityTree(k=5, domain=domain, keep=["cost", "record"]).fit(table())
    release = dc.anonymity.DensityTree(k=5, domain=domain, keep=["cost"]).fit_transform(table())
    assert "record" not in release.table.column_names


def test_a_keyed_hash_may_still_leave() -> None:
    model = dc.anonymity.DensityTree(k=5, domain=dc.Domain.from_toml(SCHEMA), keep=["cost"])
    release = model.fit_transform(table(), identifiers="hash", key=b"0123456789abcdef")
    shown = release.table["record"].to_pylist()
    assert not {f"R{i}" for i in range(N)} & set(shown)
    assert len(set(shown)) == N


def test_the_command_line_writes_no_file_with_identifiers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa_csv.write_csv(table(), tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    said = _anonymize(tmp_path, capsys, 2, "--keep", "cost", "--keep", "record")
    assert "whose row it is" in said
    assert not (tmp_path / "o.csv").exists()
    assert "--keep cost" in _anonymize(tmp_path, capsys, 2)  # what is said there can be typed
    _anonymize(tmp_path, capsys, 0, "--keep", "cost")
    assert "record" not in (tmp_path / "o.csv").read_text().splitlines()[0]


def _anonymize(folder: Path, capsys: pytest.CaptureFixture[str], code: int, *more: str) -> str:
    places = [str(folder / "t.csv"), "--schema", str(folder / "s.toml"), "--k", "5", "-o", str(folder / "o.csv")]
    with pytest.raises(SystemExit) as left:
        main(["anonymize", *places, *more])
    assert (left.value.code or 0) == code
    return capsys.readouterr().err
