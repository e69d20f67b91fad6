"""Damage to what was handed out, as accidents and forgers do it, and a comparison of two programs that check it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core import PublicKey
from discreet.reporting import verify
from evidence_releases import Base

PLACE = Path(__file__).parents[2] / "verifier" / "verify.py"


def independent() -> Any:
    """Import the verifier that does not trust us."""
    if "independent_verifier" not in sys.modules:
        found = importlib.util.spec_from_file_location("independent_verifier", PLACE)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules["independent_verifier"] = module
        found.loader.exec_module(module)
    return sys.modules["independent_verifier"]


@dataclass
class Case:
    """Files in a folder of their own, what a reader gives to a checker, and what was done to them."""

    folder: Path
    files: list[str]
    page: str | None
    account: str | None
    keys: list[str]
    heads: list[str]
    done: list[str]

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def given(self) -> dict[str, Any]:
        return {
            "page": self.page and self.path(self.page),
            "account": self.account and self.path(self.account),
            "keys": [self.path(key) for key in self.keys],
            "heads": self.heads,
        }


# ---- damages


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for path in [path] if path] + [leaf for name, inner in items for leaf in _leaves(inner, (*path, name))]


def edited(value: Any, chance: random.Random) -> str:
    """Change one place of a JSON value, and say which."""
    path = chance.choice(_leaves(value))
    inner = value
    for name in path[:-1]:
        inner = inner[name]
    old, name = inner[path[-1]], path[-1]
    how = chance.random()
    if how < 0.1:
        del inner[name]
    elif how < 0.15 and isinstance(inner, dict):
        inner["more"] = 1
    elif isinstance(old, bool):
        inner[name] = not old
    elif isinstance(old, int):
        inner[name] = chance.choice([old + 1, old - 1, old * 2, -old, str(old), 0, old + 0.5])
    elif isinstance(old, float):
        inner[name] = chance.choice([old * 2, old / 2, -old, old + 1e-7, 0.0, old + 1e-12, str(old)])
    elif isinstance(old, str):
        digits = re.sub(r"\d", lambda found: str((int(found.group()) + 1) % 10), old, count=1)
        inner[name] = chance.choice([digits, old + "x", old[:-1], "", old.upper(), "1/2", "2", "sequential", "inf"])
    elif isinstance(old, list) and old:
        inner[name] = chance.choice([old[:-1], [*old, old[0]], []])
    else:
        inner[name] = chance.choice([None, 0, "x", {}, []])
    return "/".join(map(str, path))


def _flip(case: Case, name: str, chance: random.Random) -> str:
    place = case.folder / name
    data = bytearray(place.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    place.write_bytes(data)
    return f"flip {name} at {at}"


def _cut(case: Case, name: str, chance: random.Random) -> str:
    place = case.folder / name
    data = place.read_bytes()
    place.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.7 else data + data[-20:])
    return f"cut {name}"


def _swap(case: Case, name: str, others: list[Base], chance: random.Random) -> str:
    other = chance.choice(others).folder
    whole = chance.random() < 0.4  # with everything that belongs to it
    ends = ("", ".guarantee.json", ".signature.json") if whole else ("",)
    for part in [name + end for end in ends if (other / (name + end)).is_file()]:
        shutil.copy(other / part, case.folder / part)
    return f"swap {name} with {other.name}"


def _promise(case: Case, name: str, chance: random.Random) -> str:
    """Edit the promise of a table and, mostly, seal it again."""
    place = case.folder / name
    facts = json.loads(place.read_bytes())
    where = edited(facts, chance)
    if chance.random() < 0.25 and isinstance(facts.get("parameters"), dict):
        where += f" and {_restated(facts, chance)}"
    sealed = chance.random() < 0.8
    if sealed:
        reseal(place, facts)
    else:
        place.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"edit {name}: {where}{', sealed again' if sealed else ''}"


def _restated(facts: dict[str, Any], chance: random.Random) -> str:
    """State other rules than those of the release: l or t without k, another kind of k, another form of CSV."""
    told = facts["parameters"]
    if chance.random() < 0.2:
        told["csv"] = chance.choice(
            [{"delimiter": ";"}, {"delimiter": "ab"}, {"quote": "'"}, [], {"encoding": "utf-7"}]
        )
        return "csv"
    if chance.random() < 0.2:
        facts["unit"] = chance.choice(["one row\u202e", "one row\nor more", "one person"])
        return "unit"
    quasi = told.get("quasi_identifiers")
    if chance.random() < 0.2:
        told.pop("quasi_identifiers", None)
        return "no list"
    if chance.random() < 0.1:
        told["most_rows"] = chance.choice([None, 0, 1, 3, "x"])
        return "rows of a person"
    if chance.random() < 0.3:
        k = chance.choice([None, 0, 1, 4, 5, 1000, "x"])
        told.update({"reached_together": {"k": k}} if k != 5 else {"earlier_releases": chance.choice([0, 1, "x"])})
        return "together"
    least, part = chance.choice([0, 1, 2, 9]), [[each] for each in quasi or ["age"]]
    rules: dict[str, Any] = {
        "k": chance.choice([None, least]), "l": {"least": least}, "t": {"most": chance.choice([0.0, 0.5, 1.0])},
        "k_by_columns": {"least": least, "columns": part}, "probabilistic_k": least, "k_of_rows": least,
    }  # fmt: skip
    for place, names in (
        ("required", list(rules)[:5]),
        ("reached", ["k", "k_by_columns", "probabilistic_k", "k_of_rows"]),
    ):
        if chance.random() < 0.6:
            told[place] = {n: rules[n] for n in chance.sample(names, chance.randint(0, 2))}
    return "rules"


def reseal(place: Path, facts: dict[str, Any]) -> None:
    """Write a guarantee with the seal of its table, as anyone can."""
    head = {field: value for field, value in facts.items() if field != "digest"}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    payload = place.with_name(place.name.removesuffix(".guarantee.json")).read_bytes()
    if "digest" in facts:
        facts["digest"] = "sha256:" + hashlib.sha256(len(text).to_bytes(8, "big") + text + payload).hexdigest()
    place.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rows(case: Case, name: str, chance: random.Random) -> str:
    """Change a few rows of a table, and seal it again."""
    place = case.folder / name
    lines = place.read_bytes().splitlines(keepends=True)
    at, other = chance.randrange(1, len(lines)), chance.randrange(1, len(lines))
    how = chance.choice(["gone", "twice", "cell", "cell", "cell", "blank", "header"])
    mark = b";" if b";" in lines[0] else b","
    if how == "gone":
        del lines[at]
    elif how == "twice":
        lines[at] = lines[other]
    elif how == "header":
        lines[0] = lines[0].replace(chance.choice([b"age", b"town", b"ill", b"pay"]), b"other", 1)
    else:
        parts = [re.split(mark + rb'(?=(?:[^"]*"[^"]*")*[^"]*$)', lines[i].rstrip(b"\r\n")) for i in (at, other)]
        column = chance.randrange(len(parts[0]))
        if len(parts[0]) == len(parts[1]):
            parts[0][column] = parts[1][column] if how == "cell" else b""
            lines[at] = mark.join(parts[0]) + (b"\r\n" if lines[at].endswith(b"\r\n") else b"\n")
    place.write_bytes(b"".join(lines))
    if chance.random() < 0.8:
        promise = case.folder / f"{name}.guarantee.json"
        reseal(promise, json.loads(promise.read_bytes()))
    return f"rows of {name}: {how}"


def _account(case: Case, name: str, chance: random.Random) -> str:
    """Cut an account back, or edit an event and make the chain anew."""
    place = case.folder / name
    lines = place.read_bytes().splitlines(keepends=True)
    how = chance.choice(["older", "half a line", "edit", "edit", "edit", "twice", "withdrawn"])
    if how == "older":
        place.write_bytes(b"".join(lines[: chance.randrange(1, len(lines) + 1)]))
        return "older account"
    if how == "half a line":
        place.write_bytes(b"".join(lines) + lines[-1][: chance.randrange(1, 50)])
        return "half a line more"
    events = [json.loads(line.rpartition(b" ")[0]) for line in lines]
    where = ""
    if how == "twice":
        events.append(dict(chance.choice(events)))
    elif how == "withdrawn":
        text = chance.choice(["withdrawn", "withdrawn (was only the draft)"])
        events.append({"after": "", "kind": "note", "entry": 1, "text": text, "when": "later", "who": "x"})
    else:
        where = edited(events, chance)
    after, made = "0" * 64, []
    for event in events:
        if not isinstance(event, dict):
            return "no account"
        if "after" in event and where[2:] != "after":
            event["after"] = after
        text = json.dumps(event, sort_keys=True, separators=(",", ":"))
        after = hashlib.sha256(text.encode()).hexdigest()
        made.append(f"{text} {after}\n")
    place.write_text("".join(made), encoding="utf-8")
    return f"account made anew: {how} {where}"


#: Ways to make a page display something else than it carries.
_DISPLAYS: list[Any] = [
    lambda page: page.replace("<main>", "<main><p>k = 1000</p>", 1),
    lambda page: page.replace("</head>", "<style>main p { display: none }</style></head>", 1),
    lambda page: page.replace("</body>", "<div style='position: fixed; inset: 0'>epsilon = 0.01</div></body>", 1),
    lambda page: page.replace("</body>", "<script>document.body.innerHTML = 'k = 1000'</script></body>", 1),
    lambda page: page.replace("<p>", "<p>\u202e", 1),
    lambda page: page.replace("<p>", "<p>\u200b", 1),
    lambda page: re.sub(r">([^<>]*)\d([^<>]*)<", r">\g<1>9\g<2><", page, count=3),
]


def _page(case: Case, name: str, chance: random.Random) -> str:
    """Edit the facts of a page, its text, or its signature, and mostly make `shown` anew."""
    place = case.folder / name
    text = place.read_text(encoding="utf-8")
    form = "<meta name=\"discreet-{}\" content='([^<>']*)'>"
    facts = re.search(form.format("facts"), text)
    signature = re.search(form.format("signature"), text)
    if facts is None or signature is None:
        return "no page"
    told = json.loads(facts[1].replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'").replace("&amp;", "&"))
    how = chance.choice(["facts", "facts", "facts", "text", "signature"])
    where, signed = "", signature[1]
    if how == "facts":
        where = edited(told, chance)
    elif how == "signature":
        signed, told["signer"] = "", chance.choice([None, told["signer"]])
    bare = text.replace(facts[0], "FACTS").replace(signature[0], "SIGNATURE")
    if how == "text":
        bare = chance.choice(_DISPLAYS)(bare)
    if chance.random() < 0.8 and isinstance(told, dict):
        empty = "<meta name=\"discreet-{}\" content=''>"
        shown = bare.replace("FACTS", empty.format("facts")).replace("SIGNATURE", empty.format("signature"))
        told["shown"] = hashlib.sha256(shown.encode()).hexdigest()
    written = json.dumps(told, ensure_ascii=False)
    if how == "facts" and chance.random() < 0.1:
        written = written.replace("{", '{"file": "other.csv", ', 1)  # a field twice
    for mark, word in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#x27;")):
        written = written.replace(mark, word)
    if how == "facts" and chance.random() < 0.1:
        written = written.replace('"', "&quot;")  # another form of the same text
    bare = bare.replace("FACTS", form.format("facts").replace("([^<>']*)", "\0")).replace("\0", written)
    bare = bare.replace("SIGNATURE", form.format("signature").replace("([^<>']*)", "\0")).replace("\0", signed)
    place.write_text(bare, encoding="utf-8")
    return f"page: {how} {where}"


def _signature(case: Case, name: str, chance: random.Random) -> str:
    place = case.folder / name
    if chance.random() < 0.3:
        place.unlink()
        return f"{name} taken away"
    facts = json.loads(place.read_bytes())
    where = edited(facts, chance)
    place.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"edit {name}: {where}"


def _synopsis(case: Case, name: str, chance: random.Random) -> str:
    """Change a digit of the guarantee in a synopsis, and make the checksum of the file anew."""
    place = case.folder / name
    data = bytearray(place.read_bytes())
    start = data.rfind(b'{"format": "discreet.guarantee"')
    digits = [at for at in range(start, len(data)) if 48 <= data[at] <= 57] if start > 0 else []
    mark = data.rfind(b"discreet-file-sha256:") + 21
    digits = [at for at in digits if not mark <= at < mark + 64]
    if digits:
        at = chance.choice(digits)
        data[at] = 48 + (data[at] - 47) % 10
        data[mark : mark + 64] = b"0" * 64
        data[mark : mark + 64] = hashlib.sha256(data).hexdigest().encode()
        place.write_bytes(data)
    return f"digit of {name}, summed again"


def damaged(base: Base, others: list[Base], folder: Path, chance: random.Random) -> Case:
    """Copy a release, give some of it to a reader, and damage it in up to two ways."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base.folder, folder)
    for key in ("office", "other"):
        shutil.copy(base.folder.parent / f"{key}.key.pub", folder / f"{key}.key.pub")
    keys = chance.choice([[], [], ["office.key.pub"], ["office.key.pub"], ["other.key.pub"]])
    case = Case(folder, list(base.files), base.page if chance.random() < 0.8 else None,
                base.account if chance.random() < 0.8 else None, keys, [], [])  # fmt: skip
    if case.account and chance.random() < 0.3:
        line = (folder / case.account).read_bytes().splitlines()[chance.randrange(-2, 0)]
        case.heads = ["sha256:" + line.rpartition(b" ")[2].decode()]
    for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 2])):
        names = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".pub"))
        name = chance.choice(names)
        how: list[Any] = [_flip, _cut]
        if name.endswith(".guarantee.json"):
            how += [_promise] * 8
        elif name.endswith(".csv"):
            how += [_rows] * 6
        elif name.endswith(".account"):
            how += [_account] * 6
        elif name.endswith(".html"):
            how += [_page] * 6
        elif name.endswith(".signature.json"):
            how += [_signature] * 3
        elif name.endswith(".parquet"):
            how += [_synopsis] * 2
        try:
            if chance.random() < 0.15:
                case.done.append(_swap(case, name, others, chance))
            else:
                case.done.append(chance.choice(how)(case, name, chance))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError):  # damaged before: no such damage is left
            case.done.append(f"nothing more to {name}")
    return case


# ---- comparison

#: What each program checks, in the areas in which both must come to the same result (docs/evidence-format.md).
_AREAS = {
    "file": ("file", "promise", "checksum", "seal", "ledger", "draws", "external", "seed", "domain", "recount", "cells",
             "facts", "content", "weights", "mechanism", "numbers", "rows", "words"),
    "page": ("page", "text", "stated"), "signature": ("signature", "key", "files"), "guarantee": ("guarantee",),
    "account": ("account",), "head": ("head",),
}  # fmt: skip
_AREA = {check: area for area, checks in _AREAS.items() for check in checks}
#: What the format lets a program leave out if it says so: its answer "not checked" about a file or page, and the checks
#: of `discreet verify` whose contradictions that leaves open. Nothing else is excused.
LEFT_OUT = {
    "text": {"text"},
    "cells": {"cells", "facts"},
    "rows": {"file", "domain", "recount", "cells", "facts"},
    "numbers": {"file", "domain", "weights"},
    "mechanism": {"file", "mechanism", "checksum", "account"},
    "page": {"page", "text"},
    "words": {"promise"},
}

Pair = tuple[str, str]


def compare(case: Case) -> tuple[list[str], Any, Any]:
    """Return where two programs disagree about a case, and what both say."""
    given = case.given()
    files = [case.path(name) for name in case.files]
    theirs = independent().verify(files, given["page"], given["account"], given["keys"], given["heads"]).to_dict()
    keys = [PublicKey.load(Path(key)) for key in given["keys"]]
    page, account = (name and Path(name) for name in (given["page"], given["account"]))
    ours = verify([Path(file) for file in files], page, account=account, keys=keys, heads=given["heads"]).to_dict()
    return disagreements(theirs, ours), theirs, ours


def _found(verdict: dict[str, Any], *results: str) -> dict[Pair, set[str]]:
    """Return, by what a check is about and its area, the checks that had one of these results."""
    found: dict[Pair, set[str]] = {}
    for check in verdict["checks"]:
        if check["result"] in results:
            found.setdefault((check["about"], _AREA[check["check"]]), set()).add(check["check"])
    return found


def disagreements(theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Compare two verdicts by area and as a whole.

    Excused is only what the independent verifier says that it leaves out, and, where `discreet verify` contradicts a
    file by itself, what follows from a promise that it therefore does not compare with page, account and signature.
    """
    left, right = _found(theirs, "contradicted"), _found(ours, "contradicted")
    open_left, open_right = _found(theirs, "not checked"), _found(ours, "not checkable")
    said = [(about, check) for (about, _), checks in open_left.items() for check in checks]
    excused = {(about, inner) for about, check in said for inner in LEFT_OUT.get(check, ())}
    bad_file = any(area == "file" for _, area in right)

    def follows(pair: Pair) -> bool:
        return bad_file and pair[1] in ("page", "guarantee", "account")

    alone = [pair for pair in left if pair not in right and not follows(pair)]
    wrong = [f"only the independent verifier contradicts: {pair}" for pair in alone]
    for pair in right:
        unexcused = {check for check in right[pair] if (pair[0], check) not in excused}
        if pair not in left and unexcused and not follows(pair):
            wrong.append(f"only `discreet verify` contradicts: {pair} {sorted(unexcused)}")
    unsaid = [pair for pair in open_right if pair not in {*left, *open_left, *right} and not follows(pair)]
    wrong += [f"only `discreet verify` cannot check: {pair}" for pair in unsaid]
    for pair, checks in open_left.items():
        rest = checks - set(LEFT_OUT)
        if rest and pair not in open_right and pair not in right and not follows(pair):
            wrong.append(f"only the independent verifier cannot check: {pair} {sorted(rest)}")
    if theirs["code"] == 1 and ours["code"] != 1:
        wrong.append(f"codes 1 and {ours['code']}")
    return wrong


class PageProgram:
    """The offline page `verifier/verify.html`, run by node: its checks, without its display."""

    def __init__(self) -> None:
        place = Path(__file__).parent / "evidence_page.js"
        call = ["node", str(place), str(PLACE.with_suffix(".html"))]
        self._node = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def differences(self, case: Case, theirs: dict[str, Any]) -> list[str]:
        """Return how the answers of the page differ from those of the program in Python, check by check."""
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        self._node.stdin.write(json.dumps([given_files(case), case.heads]) + "\n")
        self._node.stdin.flush()
        found = json.loads(self._node.stdout.readline())
        if "error" in found:
            return [f"the page fails: {found['error']}"]
        here, there = ({(c["about"], c["check"], c["result"]) for c in told["checks"]} for told in (found, theirs))
        wrong = [f"only the page: {each}" for each in sorted(here - there)]
        wrong += [f"only the program: {each}" for each in sorted(there - here)]
        return wrong + ["other promises"] * (found["promises"] != theirs["promises"])

    def close(self) -> None:
        self._node.communicate()


def given_files(case: Case) -> list[dict[str, str]]:
    """Return what a reader would choose on the page: names, and bytes in base64."""
    given = case.given()
    files = [case.path(name) for name in case.files]
    signed = [f"{name}.signature.json" for name in [*files, given["page"], given["account"]] if name]
    beside = [f"{name}.guarantee.json" for name in files]
    names = [*files, *beside, given["page"], given["account"], *signed, *given["keys"]]
    return [{"name": Path(name).name, "data": base64.b64encode(Path(name).read_bytes()).decode()}
            for name in dict.fromkeys(names) if name and Path(name).exists()]  # fmt: skip
