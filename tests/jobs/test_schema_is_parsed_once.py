"""A job parses its schema once and opens its table once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.cli import main
from discreet.engines import opening

LINES = {
    "synopsis": "synopsis people.csv --schema schema.toml --epsilon 1 --seed 1 -o s.parquet --account p.account",
    "tree": "synopsis people.csv --schema schema.toml --epsilon 1 --method tree --seed 1 -o s.parquet",
    "synthesize": "synthesize people.csv --schema schema.toml --epsilon 1 --seed 1 -o s.csv",
    "cluster": "cluster people.csv --schema schema.toml --epsilon 1 -k 2 --seed 1 -o c.csv",
    "anonymize": "anonymize people.csv --schema schema.toml --k 2 -o a.csv",
    "perturb": "perturb people.csv --schema schema.toml --epsilon 1 --radius 0.1 --seed 1 -o n.csv",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_one_schema_and_one_table(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,cost\n" + "35,10\n60,20\n" * 100)
    Path("schema.toml").write_text(
        '[columns.age]\nbounds = [0, 120]\nrole = "quasi-identifier"\n'
        '[columns.cost]\nbounds = [0, 100]\nrole = "sensitive"\n'
    )
    dc.Account.create("p.account", dataset="people", epsilon=3)
    parsed: list[Any] = []
    real = dc.Domain.from_toml.__func__  # type: ignore[attr-defined]

    def counting(cls: Any, given: Any) -> Any:
        parsed.append(given)
        return real(cls, given)

    opened: list[Any] = []
    files = opening._files
    # Both functions are counted, not replaced.
    monkeypatch.setattr(dc.Domain, "from_toml", classmethod(counting))
    monkeypatch.setattr(opening, "_files", lambda *given: opened.append(given) or files(*given))
    with pytest.raises(SystemExit) as left:
        main(line.split())
    assert not left.value.code
    assert (len(parsed), len(opened)) == (1, 1)
