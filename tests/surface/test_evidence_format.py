"""The vectors of docs/evidence-format.md: what another program needs to agree with, and what the package says of it.

`python tests/surface/test_evidence_format.py` writes them again.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounts import Account
from discreet.core import Guarantee, Ledger, PublicKey, Signature, zcdp_to_epsilon
from discreet.errors import DiscreetError
from discreet.evaluation.promises import recount
from discreet.reporting import read_released, verify
from discreet.reporting.pages import SIGNATURE, digest

PLACE = Path(__file__).parents[2] / "docs" / "evidence-vectors.json"
_TEMPLATE = """<!doctype html>
<meta name="discreet-facts" content='FACTS'>
<meta name="discreet-signature" content='SIGNED'>
<p>k = 2</p>
"""
#: Lines of a ledger, the unit that they are in, and whether they pay for what they draw.
LINES: list[tuple[dict[str, Any], str, bool]] = [
    ({"label": "cells", "amount": "97/100", "kind": "parallel",
      "draws": [{"law": "laplace", "l1": "1", "rows": 1, "scale": "100/97", "number": 256}]}, "epsilon", True),
    ({"label": "cells", "amount": "96/100", "kind": "parallel",
      "draws": [{"law": "laplace", "l1": "1", "rows": 1, "scale": "100/97"}]}, "epsilon", False),
    ({"label": "sum", "amount": "1", "kind": "sequential", "parts": [
        {"label": "a", "amount": "1/2", "kind": "sequential", "unused": True},
        {"label": "b", "amount": "1/2", "kind": "sequential", "external": True}]}, "epsilon", True),
    ({"label": "largest", "amount": "1/2", "kind": "parallel", "parts": [
        {"label": "a", "amount": "1/2", "kind": "sequential", "unused": True},
        {"label": "b", "amount": "1/3", "kind": "sequential", "unused": True}]}, "epsilon", True),
    ({"label": "steps", "amount": "1/8", "kind": "pure", "parts": [
        {"label": "c", "amount": "1/2", "kind": "sequential",
         "draws": [{"law": "choice", "span": "1", "rows": 2, "scale": "4"}]}]}, "rho", True),
    ({"label": "c", "amount": "1/32", "kind": "sequential",
      "draws": [{"law": "choice", "span": "1", "rows": 1, "scale": "2"}]}, "rho", True),
    ({"label": "c", "amount": "1/32", "kind": "sequential",
      "draws": [{"law": "choices", "span": "1", "rows": 1, "scale": "2"}]}, "rho", False),
    ({"label": "g", "amount": "1/8", "kind": "sequential",
      "draws": [{"law": "gaussian", "l2_squared": "1", "rows": 1, "scale": "2"}]}, "rho", True),
    ({"label": "g", "amount": "1/8", "kind": "sequential",
      "draws": [{"law": "gaussian", "l2_squared": "1", "rows": 1, "scale": "2"}]}, "epsilon", False),
    ({"label": "v", "amount": "1554944255987/1099511627776", "kind": "sequential",
      "draws": [{"law": "isotropic", "l2_squared": "2", "rows": 1, "scale": "1"}]}, "epsilon", False),
    ({"label": "v", "amount": "1554944255988/1099511627776", "kind": "sequential",
      "draws": [{"law": "isotropic", "l2_squared": "2", "rows": 1, "scale": "1"}]}, "epsilon", True),
    ({"label": "p", "amount": "3/2", "kind": "sequential",
      "draws": [{"law": "privtree", "l1": "1", "rows": 1, "scale": "2", "bias": 2}]}, "epsilon", True),
    ({"label": "p", "amount": "11/10", "kind": "sequential",
      "draws": [{"law": "privtree", "l1": "1", "rows": 1, "scale": "2", "bias": 2}]}, "epsilon", False),
    ({"label": "r", "amount": "1", "kind": "sequential",
      "draws": [{"law": "report", "epsilon": "1"}]}, "epsilon", True),
]  # fmt: skip


def vectors() -> Any:
    return json.loads(PLACE.read_text(encoding="utf-8"))


def _promise(lines: list[Any], accounting: str) -> Guarantee:
    """Read a guarantee that states what its lines add up to."""
    from discreet.core.budget.guarantee import _line_from_dict, add_up

    spent = add_up(tuple(_line_from_dict(line) for line in lines))
    facts = Guarantee("central", accounting=accounting, delta=1e-6 if accounting == "rho" else 0.0).to_dict()
    level = float(spent) if accounting == "epsilon" else zcdp_to_epsilon(spent, 1e-6)
    return Guarantee.from_dict({**facts, "ledger": lines, "spent": str(spent), "epsilon": level})


def test_seals_and_canonical_texts() -> None:
    for each in vectors()["seals"]:
        promise = Guarantee.from_json(each["guarantee"])
        assert promise.canonical("digest").decode() == each["canonical"]
        head = each["canonical"].encode()
        payload = each["payload"].encode()
        assert each["digest"] == "sha256:" + hashlib.sha256(len(head).to_bytes(8, "big") + head + payload).hexdigest()
        assert promise.verify(payload) is (promise.digest == each["digest"])


def test_ledger_lines_pay_for_their_draws() -> None:
    for each in vectors()["ledger"]:
        try:
            _promise([each["line"]], each["accounting"])
        except DiscreetError:
            assert not each["holds"], each
        else:
            assert each["holds"], each
    for each in vectors()["rho"]:
        assert zcdp_to_epsilon(Fraction(each["rho"]), each["delta"]) == pytest.approx(each["epsilon"], rel=1e-12)


def test_accounts_add_up(tmp_path: Path) -> None:
    for i, each in enumerate(vectors()["accounts"]):
        (tmp_path / str(i)).write_text(each["text"], encoding="utf-8")
        try:
            found = Account(tmp_path / str(i))
        except DiscreetError:
            assert not each["holds"]
            continue
        assert each["holds"]
        assert (found.head, str(found.remaining.exact)) == (each["head"], each["left"])


def test_statements_have_exact_bytes() -> None:
    told = vectors()["signatures"]
    for each in told:
        made = Signature.from_json(json.dumps(each["signature"]))
        assert made.statement.to_bytes().hex() == each["bytes"]
        assert made.holds() is each["holds"]
    assert {each["holds"] for each in told} == {True, False}


def test_pages_have_digests_without_what_they_carry() -> None:
    told = vectors()["page"]
    assert digest(told["text"]) == told["shown"]
    assert digest(told["text"], SIGNATURE) == told["signed_digest"]


def test_tables_are_counted_again(tmp_path: Path) -> None:
    for i, each in enumerate(vectors()["tables"]):
        place = tmp_path / f"{i}.csv"
        place.write_text(each["csv"], encoding="utf-8")
        promise = Guarantee.from_dict(each["guarantee"])
        found = recount(read_released(place, promise.domain), promise)
        assert bool(found.failures) is (each["result"] == "contradicted"), found
        for name, value in each["found"].items():
            assert found.found[name] == pytest.approx(value), name


def test_whole_releases_get_their_verdict(tmp_path: Path) -> None:
    for i, each in enumerate(vectors()["releases"]):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name, text in each["files"].items():
            (folder / name).write_bytes(text.encode())
        key = PublicKey.load(folder / "office.key.pub")
        found = verify([folder / "safe.csv"], keys=[key])
        assert found.code == each["code"], found.to_dict()


# ---- writing them


def _written() -> dict[str, Any]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    import discreet as dc
    from discreet.core import SigningKey
    from discreet.core.output.signing import Statement

    ledger = Ledger(epsilon=1)
    ledger.spend("Größe \U0001f600", 0.25)
    domain = dc.Domain({"age": dc.Integer(0, 120, role="quasi-identifier"),
                        "illness": dc.Categorical("illness", ["flu", "none"], role="sensitive")})  # fmt: skip
    plain = Guarantee.from_ledger(ledger, model="central", parameters={"a": 1.0, "b": 1e-07}, version="1")
    sealed = plain.seal(b"a\n1\n")
    table = 'age,illness\n"[0, 59]",flu\n"[0, 59]",none\n"[60, 120]",flu\n"[60, 120]",flu\n'
    facts: dict[str, Any] = {"quasi_identifiers": ["age"], "rows": 4, "cells": 2, "output": "interval",
        "required": {"k": 2}, "reached": {"k": 2, "l": {"illness": 1}, "t": {"illness": 0.25}, "l_kind": "distinct",
        "t_kind": {"illness": "equal"}}}  # fmt: skip
    good = Guarantee("syntactic", parameters=facts, domain=domain, version="1")
    key = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))), "Data office")
    safe = good.seal(table.encode())
    beside = safe.to_json(indent=2) + "\n"
    stated = {
        "version": "1",
        "time": "2026-11-17T12:00:00+00:00",
        "guarantee": hashlib.sha256(safe.canonical()).hexdigest(),
    }
    files = tuple((name, hashlib.sha256(text.encode()).hexdigest())
                  for name, text in (("safe.csv", table), ("safe.csv.guarantee.json", beside)))  # fmt: skip
    signature = key.sign(about="release", files=files, **stated)
    head = key.sign(about="account", account={"dataset": "patients", "entry": 1, "head": "sha256:" + "ab" * 32},
                    version="1", time=stated["time"])  # fmt: skip
    lower = Guarantee(
        "syntactic", parameters={**facts, "required": {"k": 3}, "reached": {"k": 3}}, domain=domain, version="1"
    )
    text = json.dumps(signature.to_dict(), indent=2) + "\n"
    shown = hashlib.sha256(_TEMPLATE.replace("FACTS", "").replace("SIGNED", "").encode()).hexdigest()
    page = _TEMPLATE.replace("FACTS", '{"shown":"' + shown + '"}').replace("SIGNED", '{"a":"&lt;&#x27;&amp;"}')
    forged = Signature(Statement(**{**signature.statement.__dict__, "time": "2027-11-17T12:00:00+00:00"}),
                       signature.key, signature.signature)  # fmt: skip
    resealed = lower.seal(table.encode()).to_json(indent=2) + "\n"
    release = {"safe.csv": table, "safe.csv.guarantee.json": beside, "safe.csv.signature.json": text,
               "office.key.pub": json.dumps(key.public.to_dict(), indent=2) + "\n"}  # fmt: skip
    return {
        "seals": [{"guarantee": sealed.to_json(), "canonical": sealed.canonical("digest").decode(),
                   "payload": "a\n1\n", "digest": sealed.digest}],
        "ledger": [{"line": line, "accounting": unit, "holds": holds} for line, unit, holds in LINES],
        "rho": [{"rho": rho, "delta": delta, "epsilon": zcdp_to_epsilon(Fraction(rho), delta)}
                for rho, delta in (("1/2", 1e-6), ("1/1000", 1e-9), ("20", 0.01))],
        "accounts": _accounts(),
        "signatures": [{"signature": s.to_dict(), "bytes": s.statement.to_bytes().hex(), "holds": s.holds()}
                       for s in (signature, head, forged)],
        "page": {"text": page, "shown": shown, "signed_digest": digest(page, SIGNATURE)},
        "tables": [_counted(table, promise) for promise in (good, lower)],
        "releases": [
            {"files": release, "code": 0},
            {"files": {**release, "safe.csv": table.replace("flu", "none", 1)}, "code": 1},
            {"files": {**release, "safe.csv.guarantee.json": resealed}, "code": 1},
            {"files": {name: text for name, text in release.items() if "signature" not in name}, "code": 1},
        ],
    }  # fmt: skip


def _counted(table: str, promise: Guarantee) -> dict[str, Any]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "t.csv")
        place.write_text(table)
        found = recount(read_released(place, promise.domain), promise)
    result = "contradicted" if found.failures else "holds"
    return {"csv": table, "guarantee": promise.to_dict(), "found": found.found, "result": result}


def _accounts() -> list[dict[str, Any]]:
    signed = {"when": "2026-11-17T12:00:00+00:00", "who": "ana@ward"}
    asked = {"job": "synopsis", "asked": {}, "task": None, "delta": "0", **signed}
    events: list[dict[str, Any]] = [
        {"kind": "open", "format": "discreet.account", "version": 1, "dataset": "patients", "unit": "row",
         "epsilon": "3", "rho": None, "delta": "0", **signed},
        {"kind": "reserve", "entry": 1, "price": "1", **asked},
        {"kind": "book", "entry": 1, "price": "2/3", "delta": "0", "digest": "sha256:" + "cd" * 32, "seeded": False,
         "steps": [["laplace", "2/3", "0", 1]], "when": signed["when"]},
        {"kind": "reserve", "entry": 2, "price": "1/3", **asked},
        {"kind": "note", "entry": 2, "text": "lost", **signed},
    ]  # fmt: skip
    whole, head, last = "", "0" * 64, []
    for event in [*events, {"kind": "reserve", "entry": 3, "price": "21/10", **asked}]:
        text = json.dumps({"after": head, **event}, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256(text.encode()).hexdigest()
        last.append((whole := whole + f"{text} {head}\n", f"sha256:{head}"))
    text, head = last[4]
    good = {"text": text, "head": head, "left": "2", "holds": True}
    torn = {**good, "text": text + '{"after"'}
    wrong = [last[5][0], text.replace('"2/3"', '"1/3"', 1), "".join(text.splitlines(keepends=True)[1:])]
    return [good, torn, *({"text": each, "holds": False} for each in wrong)]


if __name__ == "__main__":
    PLACE.write_text(json.dumps(_written(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
