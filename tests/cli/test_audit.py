"""`discreet audit`, as an auditor with a file, or with a doubt about a mechanism, uses it."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import discreet as dc
from command_line import exit_code, run
from discreet.jobs.work import audit as jobs


def refused(path: Path) -> str:
    """Return why a file is refused; it must be."""
    found = jobs.examine(path)
    assert not found.passed, found
    return " ".join(c.detail for c in found.checks if c.holds is False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small artifact of every kind."""
    folder = tmp_path_factory.mktemp("made")
    rows = np.array([[0.2, 0.3], [0.7, 0.8]])
    synopsis = dc.GridSynopsis(1.0, (0, 1), 2).fit(rows).synopsis_
    synopsis.save(folder / "s.parquet")
    (folder / "alone.json").write_text(synopsis.guarantee.to_json(indent=2) + "\n", encoding="utf-8")
    mechanism = dc.local.DirectResponse(1, 3)
    reports = mechanism.encode([0, 1, 2, 2])
    mechanism.aggregate(reports).save(folder / "counts.state")
    (folder / "reports.bin").write_bytes(2 * reports.to_bytes())
    people = dc.datasets.people(60, seed=3)
    release = dc.anonymity.DensityTree(k=5, l_diversity=2, t_closeness=0.6, domain=people.domain)
    release.fit_transform(people.table).save(folder / "safe.csv")
    release.fit_transform(people.table).save(folder / "bounds.parquet", form="bounds")
    csv.write_csv(pa.table({"age": [31.0, 45.5, 60.0], "sex": ["f", "m", "f"]}), folder / "raw.csv")
    dc.Domain({"age": (0, 100), "sex": ["f", "m"]}).to_toml(folder / "schema.toml")
    options = ["--epsilon", 1, "--radius", 5, "--scaling", "none", "--remap", "clip", "--category-epsilon", 1]
    for name in ("noisy.csv", "noisy.parquet"):
        result = run("perturb", folder / "raw.csv", "--schema", folder / "schema.toml", "-o", folder / name, *options)
        assert result.exit_code == 0, result.output
    return folder


ARTIFACTS = {
    "s.parquet": "synopsis",
    "alone.json": "guarantee",
    "counts.state": "counts of local reports",
    "reports.bin": "local reports",
    "safe.csv": "anonymous table",
    "safe.csv.guarantee.json": "anonymous table",
    "bounds.parquet": "anonymous table",
    "noisy.csv": "perturbed table",
    "noisy.parquet": "perturbed table",
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_what_was_not_touched_passes(made: Path, name: str) -> None:
    result = run("audit", made / name, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.output)
    assert facts["kind"] == ARTIFACTS[name]
    assert facts["passed"] is True
    assert facts["seeded"] is False
    checks = {c["check"] for c in facts["checks"]}
    assert {"ledger", "seed"} <= checks
    shown = run("audit", made / name)
    assert shown.exit_code == 0
    assert "All checks passed." in shown.output


def copied(made: Path, folder: Path, name: str) -> Path:
    for file in made.iterdir():
        if file.name in (name, f"{name}.guarantee.json"):
            (folder / file.name).write_bytes(file.read_bytes())
    return folder / name


def flips(size: int, most: int) -> Any:
    """Every byte of a small file, evenly spread ones of a larger one."""
    return range(size) if size <= most else sorted({*range(32), *range(0, size, size // most), *range(size - 32, size)})


@pytest.mark.parametrize(("name", "most"), [("counts.state", 400), ("reports.bin", 400), ("s.parquet", 150)])
def test_any_byte_that_was_changed_is_noticed(made: Path, tmp_path: Path, name: str, most: int) -> None:
    path = copied(made, tmp_path, name)
    whole = path.read_bytes()
    for place in flips(len(whole), most):
        for change in (1, 128):
            changed = bytearray(whole)
            changed[place] ^= change
            path.write_bytes(changed)
            assert refused(path), f"byte {place} of {name}"
    for cut in (0, 1, len(whole) // 2 - 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert refused(path)
    path.write_bytes(whole + b"\0")
    assert refused(path)


@pytest.mark.parametrize("name", ["noisy.csv", pytest.param("safe.csv", marks=pytest.mark.slow), "noisy.parquet"])
def test_any_byte_of_a_table_or_of_its_promise_that_was_changed_is_noticed(
    made: Path, tmp_path: Path, name: str
) -> None:
    path = copied(made, tmp_path, name)
    for file in (path, tmp_path / f"{name}.guarantee.json"):
        whole = file.read_bytes()
        for place in flips(len(whole), 24):
            changed = bytearray(whole)
            changed[place] ^= 1
            file.write_bytes(changed)
            assert refused(path), f"byte {place} of {file.name}"
        file.write_bytes(whole)
    assert jobs.examine(path).passed


def edited(path: Path, change: Any) -> None:
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def test_a_ledger_a_domain_or_a_seed_mark_that_was_edited_is_told_by_name(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path, "noisy.csv")
    promise = tmp_path / "noisy.csv.guarantee.json"
    whole = promise.read_bytes()

    def smaller(facts: dict[str, Any]) -> None:
        facts["ledger"][0]["amount"] = "1/2"

    edited(promise, smaller)
    assert "cheaper than the noise" in refused(path)
    result = run("audit", path)
    assert result.exit_code == 1
    assert "Refused" in result.output

    def wider(facts: dict[str, Any]) -> None:
        facts["domain"]["columns"]["age"]["bounds"] = [0.0, 200.0]

    def unmarked(facts: dict[str, Any]) -> None:
        facts["seeded"] = True

    for change in (wider, unmarked):
        promise.write_bytes(whole)
        edited(promise, change)
        assert "changed after it was written" in refused(path)


def resealed(path: Path, payload: bytes, **changes: Any) -> None:
    """A forger who knows the format changes the table and seals it again."""
    promise = path.with_name(f"{path.name}.guarantee.json")
    old = dc.Guarantee.from_json(promise.read_text(encoding="utf-8"))
    parameters = {**old.parameters, **changes}
    new = dc.Guarantee(
        old.model, old.unit, old.neighbours, old.ledger, parameters=parameters, domain=old.domain,
        assumptions=old.assumptions,
    )  # fmt: skip
    path.write_bytes(payload)
    promise.write_text(new.seal(payload).to_json(indent=2) + "\n", encoding="utf-8")


def test_a_table_that_was_sealed_again_is_still_counted_again(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path, "safe.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    resealed(path, "\n".join(lines[:-1]).encode() + b"\n")
    assert "59 rows, stated 60" in refused(path)
    odd = lines[:-1] + [re.sub(r"\[\d+", "[1", lines[-1], count=1)]
    resealed(path, "\n".join(odd).encode() + b"\n")
    assert "k is 1, required 5" in refused(path)
    resealed(path, ("\n".join(["name," + lines[0], *("x," + line for line in lines[1:])]) + "\n").encode())
    assert "names people" in refused(path)


def test_columns_without_a_role_are_quasi_identifiers_and_are_counted(tmp_path: Path) -> None:
    domain = dc.Domain({"age": (0, 120), "ill": ["no", "yes"], "pay": (0, 9)})
    table = pa.table(
        {"age": [20.0 + i for i in range(40)], "ill": ["no", "yes"] * 20, "pay": [float(i % 9) for i in range(40)]}
    )
    model = dc.anonymity.DensityTree(k=4, domain=domain, sensitive="ill", target="pay")
    path = tmp_path / "safe.csv"
    model.fit_transform(table).save(path)
    found = jobs.examine(path)
    assert found.passed
    assert any(c.name == "recount" and c.holds and re.search(r"k [4-9]", c.detail) for c in found.checks)
    resealed(path, path.read_bytes(), required={"k": 30})
    assert "required 30" in refused(path)
    resealed(path, path.read_bytes(), required={"k": "many"})
    assert "cannot be read" in refused(path)
    resealed(path, b"ill,pay\nno,3\n", required={"k": 4}, rows=1)
    assert "holds none of its quasi-identifiers" in refused(path)
    dc.anonymity.NoiseAddition(0.2, domain=domain, sensitive="ill").fit_transform(table).save(tmp_path / "masked.csv")
    masked = jobs.examine(tmp_path / "masked.csv")
    assert masked.passed
    assert any("promises no k" in c.detail for c in masked.checks)


def test_a_perturbed_table_with_a_column_or_value_too_many_is_refused(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path, "noisy.csv")
    resealed(path, b"age,sex,salary\n3.0,f,1\n")
    assert "'salary' is not declared" in refused(path)
    resealed(path, b"age,sex\n300.0,f\n")
    assert "has values outside its bounds" in refused(path)
    resealed(path, b"age,sex\n30.0,x\n")
    assert "not declared" in refused(path)


def test_a_promise_that_is_not_sealed_or_not_there_is_no_promise(made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path, "noisy.csv")
    promise = tmp_path / "noisy.csv.guarantee.json"
    edited(promise, lambda facts: facts.update(digest=None))
    assert "not sealed" in refused(path)
    promise.unlink()
    assert "no noisy.csv.guarantee.json next to it" in refused(path)
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"a": [1]}), plain)
    assert "not a Discreet synopsis" in refused(plain)


def test_a_seeded_release_passes_in_red(tmp_path: Path) -> None:
    dc.GridSynopsis(1.0, (0, 1), 2, random_state=1).fit(np.array([[0.5]])).synopsis_.save(tmp_path / "s.parquet")
    result = run("audit", tmp_path / "s.parquet")
    assert result.exit_code == 0
    assert "do not publish it" in result.output


def test_reports_of_two_mechanisms_in_one_file_are_refused(tmp_path: Path) -> None:
    mixed = [dc.local.DirectResponse(e, 3).encode([0], rng=1).to_bytes() for e in (1, 2)]
    (tmp_path / "mixed.bin").write_bytes(b"".join(mixed))
    assert "different parameters" in refused(tmp_path / "mixed.bin")


# --- mechanisms


def test_a_mechanism_by_name_with_figures_and_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ["--trials", 4000, "--seed", 1]
    result = run("audit", "--mechanism", "noise.discrete_laplace", *options, "--json", "--html", page)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.output)
    assert facts["claimed"] == 1.0
    assert 0.7 < facts["epsilon_lower"] <= 1.0
    assert [p["pair"] for p in facts["pairs"]] == ["no one against one row", "many rows, one more"]
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "<script" not in text
    assert "no one against one row" in text
    assert not re.search(r"<(script|link)[^>]+(src|href)=[\"'](?!data:)", text)  # nothing is fetched
    shown = run("audit", "--mechanism", "local.DirectResponse", *options)
    assert "exactly" in " ".join(shown.output.split())
    assert "Not refuted" in shown.output


def test_a_method_of_tables_by_name() -> None:
    result = run("audit", "--mechanism", "anonymity.Mondrian", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["failures"] == []


def test_a_refuted_claim_shows_in_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = dc.evaluation.audited_mechanism("noise.discrete_laplace")
    twice = dc.evaluation.AuditedMechanism(entry.name, entry.mechanism, entry.pairs, 0.5)
    monkeypatch.setattr(jobs, "audited_mechanism", lambda name: twice)
    result = run("audit", "--mechanism", "noise.discrete_laplace", "--trials", 4000, "--seed", 1)
    assert result.exit_code == 1
    assert "REFUTED" in result.output


def test_the_list_names_everything() -> None:
    listed = json.loads(run("audit", "--list", "--json").output)
    assert {x["name"] for x in listed} == {*dc.evaluation.audited_mechanisms(), *dc.evaluation.audited_tables()}
    assert "noise.discrete_laplace" in run("audit", "--list").output


def test_a_page_of_a_file(made: Path, tmp_path: Path) -> None:
    assert run("audit", made / "safe.csv", "--html", tmp_path / "a.html").exit_code == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "checks hold" in text
    assert "counted again" in text


@pytest.mark.parametrize(
    "arguments",
    [(), ("s.parquet", "--list"), ("--mechanism", "nonsense"), ("missing.parquet",), ("--list", "--trials", 5),
     ("--mechanism", "noise.discrete_laplace", "--html", "/no/such/folder/a.html"),
     ("--mechanism", "noise.discrete_laplace", "--confidence", 2)],
)  # fmt: skip
def test_bad_usage_is_distinguished_from_a_refusal(
    made: Path, arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    assert exit_code("audit", *arguments) == 2


def test_a_price_that_no_double_holds_is_not_called_too_small(tmp_path: Path) -> None:
    """Stated as a double, this ε lies a little below the sum of its steps."""
    price = Fraction(1229291370879, 2748779069440)
    assert float(price) < price
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("all rows", price)
    promise = dc.Guarantee.from_ledger(ledger, model="central")
    (tmp_path / "promise.json").write_text(promise.to_json(), encoding="utf-8")
    assert [c.holds for c in jobs.examine(tmp_path / "promise.json").checks if c.name == "ledger"] == [True]
