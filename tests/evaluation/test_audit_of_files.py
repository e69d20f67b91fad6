"""`discreet audit FILE` passes what the library wrote, whatever the columns are, and refuses it once it was changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from command_line import exit_code
from discreet.jobs.work.audit import examine
from discreet.synopses import refine

ROWS = 80
_RNG = np.random.default_rng(3)


def _pick(values: list[Any]) -> Any:
    return np.array(values, dtype=object)[_RNG.integers(0, len(values), ROWS)]


#: How a column is declared, and values of it.
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "numbers": ({"bounds": (0, 100)}, _RNG.uniform(0, 100, ROWS).round(3)),
    "dates": ({"bounds": ("1950-01-01", "2000-12-31")}, np.datetime64("1950-01-01") + _RNG.integers(0, 18000, ROWS)),
    "texts": ({"categories": ["a", "b", "NA"]}, _pick(["a", "b", "NA"])),
    "texts of digits": ({"categories": ["01234", "04321"]}, _pick(["01234", "04321"])),
    "whole numbers": ({"categories": [1, 2, 13]}, _pick([1, 2, 13])),
    "booleans": ({"categories": [True, False]}, _pick([True, False])),
    "mixed": ({"categories": ["x", 1, True]}, _pick(["x", "1", "true"])),
}


def _tables(kind: str, missing: str, role: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    declared, values = KINDS[kind]
    column = pd.Series(values).astype(object)
    column[::7] = None
    frame = pd.DataFrame({"v": column, "w": np.linspace(0, 1, ROWS)})
    frame.loc[::9, "w"] = np.nan
    quasi = "quasi-identifier" if role != "attribute" else role
    return frame, {
        "v": {**declared, "missing": missing, "role": role},
        "w": {"bounds": (0, 1), "missing": missing, "role": quasi},
    }


def _synopses(kind: str, missing: str, folder: Path) -> list[Path]:
    frame, domain = _tables(kind, missing, "attribute")
    grid = dc.GridSynopsis(domain=domain, rule=2).fit(frame).synopsis_
    tree = dc.TreeSynopsis(domain=domain, max_depth=2).fit(frame).synopsis_
    made = {
        "grid": grid,
        "means": dc.GridSynopsis(domain=domain, rule=2, leaf_means=True).fit(frame).synopsis_,
        "adaptive": dc.GridSynopsis(domain=domain, rule="adaptive").fit(frame).synopsis_,
        "survivors": dc.GridSynopsis(domain=domain, rule=20, max_cells=4).fit(frame).synopsis_,
        "tree": tree,
        "private tree": dc.TreeSynopsis(domain=domain, partitioner="privtree", max_depth=2).fit(frame).synopsis_,
        "refined": refine.project(tree),
    }
    for name, synopsis in made.items():
        synopsis.save(folder / f"{name}.parquet")
    return [folder / f"{name}.parquet" for name in made]


def _perturbed(kind: str, missing: str, folder: Path) -> list[Path]:
    frame, domain = _tables(kind, missing, "attribute")
    given: dict[str, Any] = {"domain": domain, "category_epsilon": 1}
    made = {
        "noisy": dc.metric.NDLaplace(epsilon=1, radius=0.1, **given),
        "clipped": dc.metric.NDLaplace(epsilon=1, radius=0.1, remap="clip", **given),
        "piecewise": dc.metric.Piecewise(epsilon=1, **given),
    }
    places = [(folder / f"{name}.{end}", name) for name in made for end in ("csv", "parquet")]
    for place, name in places:
        made[name].transform_file(frame, place)
    return [place for place, _ in places]


def _anonymous(kind: str, missing: str, folder: Path) -> list[Path]:
    places = []
    for role in ("quasi-identifier", "sensitive"):
        frame, domain = _tables(kind, missing, role)
        rules: dict[str, Any] = {"l_diversity": 2, "t_closeness": 0.9} if role == "sensitive" else {}
        for name, model in (
            ("density", dc.anonymity.DensityTree(k=4, domain=domain, **rules)),
            ("mondrian", dc.anonymity.Mondrian(k=4, domain=domain, **rules)),
            ("micro", dc.anonymity.Microaggregation(k=4, domain=domain)),
        ):
            release = model.fit_transform(frame)
            for end in ("csv", "parquet"):
                places.append(folder / f"{name}-{role}.{end}")
                release.save(places[-1])
    return places


@pytest.mark.parametrize("missing", [pytest.param("drop", marks=pytest.mark.slow), "own"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [_synopses, _perturbed, _anonymous], ids=lambda f: f.__name__.strip("_"))
def test_what_the_library_wrote_passes(make: Any, kind: str, missing: str, tmp_path: Path) -> None:
    places = make(kind, missing, tmp_path)
    failed = {p.name: [c.detail for c in examine(p).checks if c.holds is False] for p in places}
    assert not {name: why for name, why in failed.items() if why}
    assert {exit_code("audit", p) for p in places[:2]} == {0}


@pytest.mark.parametrize("output", ["interval", "center", "sample"])
@pytest.mark.parametrize("kind", [*KINDS, "names like cells"])
def test_every_form_of_an_anonymous_table_passes(kind: str, output: str, tmp_path: Path) -> None:
    odd = ["a|b", "c, d", "*", "missing", "{x}"]
    declared, values = KINDS.get(kind, ({"categories": odd}, _pick(odd)))
    column = pd.Series(values).astype(object)
    column[::7] = None
    rows = {"v": column, "w": np.arange(ROWS) % 3, "u": np.arange(ROWS) % 5}
    domain: dict[str, Any] = {
        "v": {**declared, "missing": "own", "role": "quasi-identifier"},
        "w": {"categories": [0, 1, 2], "role": "sensitive"},
        "u": (0, 4),
    }
    model = dc.anonymity.Mondrian(k=4, domain=domain, t_closeness=0.6, keep=["u"])
    release = model.fit_transform(pd.DataFrame(rows), output=output)
    for form in ("text", "bounds") if output != "sample" else ("text",):
        for end in ("csv", "parquet"):
            release.save(tmp_path / f"o.{end}", form=form)
            assert examine(tmp_path / f"o.{end}").failures == [], (form, end)


@pytest.mark.parametrize("make", [_synopses, _perturbed, _anonymous], ids=lambda f: f.__name__.strip("_"))
def test_what_was_changed_is_refused(make: Any, tmp_path: Path) -> None:
    for place in make("texts", "own", tmp_path):
        data = bytearray(place.read_bytes())
        data[len(data) // 2] ^= 1
        place.write_bytes(bytes(data))
        assert exit_code("audit", place) == 1, place.name


def test_reports_counts_and_promises_pass(tmp_path: Path) -> None:
    mechanism = dc.local.DirectResponse(epsilon=1, domain=["a", "b"])
    reports = mechanism.encode(["a", "b", "a"])
    (tmp_path / "reports.bin").write_bytes(reports.to_bytes())
    (tmp_path / "counts.bin").write_bytes(mechanism.aggregate(reports).to_bytes())
    frame, domain = _tables("texts", "own", "attribute")
    (tmp_path / "promise.json").write_text(dc.GridSynopsis(domain=domain, rule=2).fit(frame).guarantee_.to_json())
    assert {exit_code("audit", p) for p in tmp_path.iterdir()} == {0}


def test_boxes_outside_of_the_domain_do_not_pass_for_missing_values(tmp_path: Path) -> None:
    """NaN is a place for missing values only where the column gives them one."""
    ledger = dc.Ledger(epsilon=1)
    ledger.spend("counts", 1)
    domain = dc.Domain({"v": {"bounds": (0, 1), "missing": "own"}, "w": (0, 1)})
    promise = dc.Guarantee.from_ledger(ledger, model="central", domain=domain)
    corners: dict[str, Any] = {"lower": [[0, 0], [np.nan, 0]], "upper": [[1, 2], [np.nan, 1]]}
    wide = dc.synopses.BoxSynopsis(domain, **corners, weights=[1, 2], variances=[1.0, 1.0], guarantee=promise)
    wide.save(tmp_path / "wide.parquet")
    assert exit_code("audit", tmp_path / "wide.parquet") == 1
