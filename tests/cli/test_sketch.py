"""`discreet sketch`, used as a telemetry engineer would: values in a file, reports, counts, estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import output, run
from discreet.accounts import Account
from discreet.engines import texts
from discreet.errors import BudgetExceeded, DataSourceError, DiscreetError, InvalidArgument, SchemaError
from discreet.local import Counts, FlippedBitmap, HadamardSketch, Reports

WORDS = ["cat"] * 3000 + ["dog"] * 2000 + ["émeu"] * 1000


def sketch(*words: object) -> str:
    return output("sketch", *words)


def figures(*arguments: object) -> Any:
    return json.loads(sketch(*arguments, "--json"))


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


def test_from_values_to_estimates(words: Path, tmp_path: Path) -> None:
    reports, counts, table = tmp_path / "r.bin", tmp_path / "c.bin", tmp_path / "e.csv"
    made = figures("encode", words, "-m", "hadamard-sketch", "--epsilon", 4, "--key", 7, "-o", reports, "--seed", 1)
    assert (made["reports"], made["epsilon"], made["seeded"]) == (6000, 4.0, True)
    assert made["mechanism"]["key"] == "07" + 30 * "0"
    assert figures("aggregate", reports, "-o", counts)["reports"] == 6000
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("cat\ndog\némeu\nyak\n", encoding="utf-8")
    found = figures("estimate", counts, "--candidates", candidates, "-o", table)
    by_name = {row["candidate"]: row for row in found["estimates"]}
    for name, truth in {"cat": 3000, "dog": 2000, "émeu": 1000, "yak": 0}.items():
        assert abs(by_name[name]["count"] - truth) < 5 * by_name[name]["std_error"], name
    assert table.read_text(encoding="utf-8").startswith('"candidate","count","std_error"')


def test_all_kinds_of_files_give_the_same_reports(words: Path, tmp_path: Path) -> None:
    csv, parquet = tmp_path / "w.csv", tmp_path / "w.parquet"
    csv.write_text("id,word\n" + "".join(f"{i},{w}\n" for i, w in enumerate(WORDS)), encoding="utf-8")
    pq.write_table(pa.table({"word": pa.array(WORDS).dictionary_encode()}), parquet, row_group_size=1000)
    outputs = []
    for i, (file, extra) in enumerate([(words, []), (csv, ["--column", "word"]), (parquet, [])]):
        output = tmp_path / f"{i}.bin"
        sketch("encode", file, *extra, "-m", "hadamard-sketch", "--epsilon", 2, "--key", 5, "--seed", 3, "-o", output)
        outputs.append(
            Counts.from_bytes((sketch("aggregate", output, "-o", tmp_path / "c") and tmp_path / "c").read_bytes())
        )
    assert outputs[0] == outputs[1] == outputs[2]


def test_later_clients_take_the_parameters_of_earlier_ones(words: Path, tmp_path: Path) -> None:
    monday, tuesday, week = tmp_path / "mon", tmp_path / "tue", tmp_path / "week"
    sketch(
        "encode",
        words,
        "-m",
        "count-mean-sketch",
        "--epsilon",
        3,
        "--set",
        "width=64",
        "--set",
        "n_hashes=16",
        "-o",
        monday,
    )
    sketch("encode", words, "-m", monday, "-o", tuesday)
    for file in (monday, tuesday):
        sketch("aggregate", file, "-o", f"{file}.c")
    text = sketch("merge", f"{monday}.c", f"{tuesday}.c", "-o", week)
    assert "12,000 reports" in text
    assert "Seeded" not in text
    assert Counts.load(week).mechanism.to_dict()["width"] == 64


def test_an_automatic_choice_for_declared_values(tmp_path: Path) -> None:
    data, labels = tmp_path / "d.csv", tmp_path / "labels.txt"
    data.write_text("pet\n" + "cat\n" * 500 + "dog\n" * 500, encoding="utf-8")
    labels.write_text("cat\ndog\nemu\n", encoding="utf-8")
    sketch("encode", data, "--epsilon", 2, "--domain", labels, "-o", tmp_path / "r")
    sketch("aggregate", tmp_path / "r", "-o", tmp_path / "c")
    text = sketch("estimate", tmp_path / "c", "--consistency", "simplex", "--plot", tmp_path / "p.html")
    assert "cat" in text
    assert "Guarantee" in text
    assert (tmp_path / "p.html").stat().st_size > 1000


def test_a_mechanism_that_remembers_needs_users_and_a_secret(tmp_path: Path) -> None:
    data, secret = tmp_path / "d.csv", tmp_path / "secret"
    data.write_text("who,pet\n" + "".join(f"u{i},{'cat' if i % 3 else 'dog'}\n" for i in range(900)), encoding="utf-8")
    secret.write_bytes(b"0123456789abcdef0123456789abcdef")
    base = ["encode", data, "--column", "pet", "-m", "rappor", "--set", "f=0.5", "--set", "p=0.25", "--set", "q=0.75"]
    base += ["--set", "cohorts=4", "--set", "bits=16"]
    with pytest.raises(DiscreetError, match="users"):
        sketch(*base, "-o", tmp_path / "r")
    sketch(*base, "--users", "who", "--secret", secret, "-o", tmp_path / "r")
    sketch("aggregate", tmp_path / "r", "-o", tmp_path / "c")
    asked = tmp_path / "asked.txt"
    asked.write_text("cat\ndog\n")
    found = figures("estimate", tmp_path / "c", "--candidates", asked)
    assert {row["candidate"]: row["count"] for row in found["estimates"]}["cat"] > 300
    with pytest.raises(DiscreetError, match="does not remember answers"):
        sketch(
            "encode",
            data,
            "--column",
            "pet",
            "-m",
            "hadamard-sketch",
            "--epsilon",
            1,
            "--secret",
            secret,
            "-o",
            tmp_path / "r",
        )


def test_numbered_values(tmp_path: Path) -> None:
    data = tmp_path / "numbers.csv"
    data.write_text("n\n" + "".join(f"{i % 5}\n" for i in range(1000)) + "spam\n", encoding="utf-8")
    sketch(
        "encode", data, "-m", "direct-response", "--epsilon", 6, "--domain-size", 5, "-o", tmp_path / "r", "--seed", 1
    )
    sketch("aggregate", tmp_path / "r", "-o", tmp_path / "c")
    found = figures("estimate", tmp_path / "c")
    assert [row["candidate"] for row in found["estimates"]] == [0, 1, 2, 3, 4]
    assert all(abs(row["count"] - 200) < 40 for row in found["estimates"])


def test_a_plan_touches_no_data() -> None:
    rows = figures("plan", "--epsilon", 2, "--domain-size", 1000, "--reports", 100_000)
    assert len(rows) >= 5
    assert "best first" in sketch("plan", "--epsilon", 2, "--domain-size", 1000, "--reports", 100_000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "nonsense"], "mechanism must be 'auto'"),
        (["-m", "hadamard-sketch"], "epsilon must be given"),
        (["-m", "hadamard-sketch", "--epsilon", 1, "--set", "depth=3"], "name=value"),
        (["-m", "hadamard-sketch", "--epsilon", 1, "--domain-size", 5], "no such parameter"),
        (["-m", "direct-response", "--epsilon", 1], "--domain"),
        (["--epsilon", 1], "--domain"),
        (["-m", "hadamard-sketch", "--epsilon", -1], "epsilon must be a positive"),
    ],
)
def test_what_is_wrong_is_named(words: Path, tmp_path: Path, arguments: list[object], message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        sketch("encode", words, *arguments, "-o", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_damaged_files_are_refused(words: Path, tmp_path: Path) -> None:
    good = tmp_path / "good"
    sketch("encode", words, "-m", "hadamard-sketch", "--epsilon", 2, "-o", good)
    for i, damage in enumerate([lambda b: b[:-1], lambda b: b"x" + b, lambda b: b[:50] + b"?" + b[51:], lambda b: b""]):
        bad = tmp_path / f"bad{i}"
        bad.write_bytes(damage(good.read_bytes()))
        with pytest.raises(DiscreetError):
            sketch("aggregate", bad, "-o", tmp_path / "out")
        assert not (tmp_path / "out").exists()
    with pytest.raises(DiscreetError, match="cannot read"):
        sketch("aggregate", tmp_path / "absent", "-o", tmp_path / "out")


def test_a_file_of_several_messages_is_one_set_of_reports(tmp_path: Path) -> None:
    m = HadamardSketch(epsilon=2, n_hashes=8, width=16, key=1)
    parts = [m.encode(WORDS[i::3], rng=i) for i in range(3)]
    file = tmp_path / "r"
    file.write_bytes(b"".join(p.to_bytes() for p in parts))
    sketch("aggregate", file, "-o", tmp_path / "c")
    whole = Reports(m, np.concatenate([p.rows for p in parts]), seeded=True)
    assert Counts.load(tmp_path / "c") == m.aggregate(whole)


def call(*words: object) -> Any:
    result = run("sketch", *map(str, words), catch=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def counted(folder: Path, data: str, *settings: object) -> Path:
    (folder / "data.txt").write_text(data)
    call("encode", folder / "data.txt", "-o", folder / "r.bin", *settings)
    call("aggregate", folder / "r.bin", "-o", folder / "c.bin")
    return folder / "c.bin"


def test_distributions_and_means_from_files(tmp_path: Path) -> None:
    bounds = ("--epsilon", 4, "--set", "low=0", "--set", "high=10")
    counts = counted(tmp_path, "2.5\n" * 2000 + "x\n\n", "-m", "square-wave", *bounds)
    assert "quartiles" in call("estimate", counts, "-o", tmp_path / "d.csv")
    facts = json.loads(call("estimate", counts, "--json"))
    assert len(facts["distribution"]) == 256
    assert abs(facts["mean"] - 2.5) < 0.5
    assert (tmp_path / "d.csv").read_text().startswith('"low","high","share"')
    counts = counted(tmp_path, "2.5\n" * 2000, "-m", "mean-response", *bounds)
    assert "standard error" in call("estimate", counts, "-o", tmp_path / "m.csv")
    facts = json.loads(call("estimate", counts, "--json"))
    assert facts["lower"] < facts["mean"] < facts["upper"]
    assert abs(facts["mean"] - 2.5) < 1
    assert (tmp_path / "m.csv").read_text().startswith('"mean","std_error"')
    with pytest.raises(InvalidArgument, match="consistency must be left out"):
        call("estimate", counts, "--consistency", "simplex")


def test_numbers_in_files_are_the_numbers_that_are_asked_for(tmp_path: Path) -> None:
    # Text and number hash differently: a column of "3" must not miss the candidate 3.
    counts = counted(tmp_path, "3\n" * 400, "-m", "local-hashing", "--epsilon", 6, "--set", "candidates=5")
    found = {row["candidate"]: row["count"] for row in json.loads(call("estimate", counts, "--json"))["estimates"]}
    assert found[3] > 300 > found[2]
    sets = ("--epsilon", 6, "--set", "bits=8", "--set", "steps=4,4")
    counts = counted(tmp_path, "3\n" * 2000, "-m", "prefix-extension", *sets, "--seed", 1, "--key", 1)
    assert [row["candidate"] for row in json.loads(call("estimate", counts, "--json"))["estimates"]] == [3]
    (tmp_path / "asked.txt").write_text("3\n4\n")
    facts = json.loads(call("estimate", counts, "--candidates", tmp_path / "asked.txt", "--json"))
    assert facts["estimates"][0]["count"] > 1000


def test_settings_of_text_stay_text(tmp_path: Path) -> None:
    counted(tmp_path, "12\n", "-m", "prefix-extension", "--epsilon", 6, "--set", "alphabet=0123456789")


def test_infinite_errors_are_null_in_json(tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("cat\n")
    counts = counted(tmp_path, "", "-m", "prefix-extension", "--epsilon", 6)
    text = call("estimate", counts, "--candidates", tmp_path / "asked.txt", "--json")
    assert "Infinity" not in text
    assert json.loads(text)["estimates"][0]["std_error"] is None


def test_users_need_a_column_of_values(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(range(1, 33)))
    (tmp_path / "data.csv").write_text("user,value\n" + "ann,cat\nbob,dog\n")
    (tmp_path / "none.csv").write_text("user,value\n")
    rest = ("-m", "rappor", "--set", "f=0.5", "--set", "p=0.5", "--set", "q=0.75", "--secret", tmp_path / "secret")
    out = ("-o", tmp_path / "r.bin", "--users", "user", "--json")
    with pytest.raises(InvalidArgument, match="column must be given together with 'users'"):
        call("encode", tmp_path / "data.csv", *rest, *out)
    assert json.loads(call("encode", tmp_path / "data.csv", "--column", "value", *rest, *out))["reports"] == 2
    assert json.loads(call("encode", tmp_path / "none.csv", "--column", "value", *rest, *out))["reports"] == 0
    (tmp_path / "data.txt").write_text("cat\n")
    with pytest.raises(InvalidArgument, match="no columns; try leaving --column out"):
        call("encode", tmp_path / "data.txt", "--column", "value", "-m", "hadamard-sketch", "--epsilon", 1, *out[:2])


def test_from_items_of_two_holders_to_their_overlap(tmp_path: Path) -> None:
    """Bitmaps from files, a charge before anything is read, questions by the names of the files."""
    for name, start, stop in (("clinic", 0, 6000), ("lab", 4000, 9000)):
        lines = "".join(f"p{i},{i // 3}\n" for i in range(start, stop))
        (tmp_path / f"{name}.csv").write_text("patient,user\n" + lines, encoding="utf-8")
    settings = ("--column", "patient", "--epsilon", 4, "--key", 7, "--buckets", 1024)
    for seed, name in enumerate(("clinic", "lab")):  # coins of its own for each
        place = ("--seed", seed, "-o", tmp_path / f"{name}.bin")
        made = figures("distinct", tmp_path / f"{name}.csv", *settings, *place)
        assert (made["epsilon"], made["unit"], made["seeded"]) == (4.0, "one item, with all its rows", True)
    bitmaps = [tmp_path / "clinic.bin", tmp_path / "lab.bin"]
    asked = ("--question", "clinic and lab", "--question", "clinic and not lab")
    out = ("-o", tmp_path / "found.csv", "--merged", tmp_path / "all.bin")
    found = figures("overlap", *bitmaps, *asked, *out)["answers"]
    for row, truth in zip(found, (2000, 4000), strict=True):
        assert abs(row["count"] - truth) < 4 * row["std_error"]
    assert (tmp_path / "found.csv").read_text(encoding="utf-8").startswith('"question","count"')
    assert FlippedBitmap.load(tmp_path / "all.bin").guarantee.epsilon == 8
    assert len(figures("overlap", *bitmaps)["answers"]) == 3
    assert "clinic" in sketch("overlap", *bitmaps)
    whose = ("--persons", "user", "--items", 2, "-o", tmp_path / "p.bin")
    assert "person" in figures("distinct", tmp_path / "clinic.csv", *settings, *whose)["unit"]
    with pytest.raises(DiscreetError, match="items"):
        sketch("distinct", tmp_path / "clinic.csv", *settings, "--persons", "user", "-o", tmp_path / "q.bin")


def test_a_bitmap_is_charged_to_an_account_and_refused_when_it_is_empty(words: Path, tmp_path: Path) -> None:
    account = Account.create(tmp_path / "w.account", dataset="words", epsilon=1)
    paid = ("--epsilon", 0.75, "--account", account.path, "-o", tmp_path / "b.bin")
    sketch("distinct", words, *paid)
    assert float(Account(account.path).remaining) == 0.25
    made = (tmp_path / "b.bin").read_bytes()
    assert figures("distinct", words, *paid)["account"]["repeated"]
    assert (tmp_path / "b.bin").read_bytes() == made, "the same job again returns what was paid for"
    with pytest.raises(DataSourceError, match=r"could not be made again; try --output .*b-2\.bin, or --overwrite"):
        sketch("distinct", words, *paid, "--buckets", 64)
    assert float(Account(account.path).remaining) == 0.25
    (tmp_path / "b.bin").unlink()
    (tmp_path / "folder.txt").mkdir()
    for lost in (tmp_path / "other.txt", tmp_path / "other.csv", tmp_path / "folder.txt"):
        with pytest.raises(DataSourceError, match=r"other|folder"):
            sketch("distinct", lost, "--epsilon", 0.1, *paid[2:])
    (tmp_path / "t.csv").write_text("word;n\ncat;1\n")
    (tmp_path / "t.toml").write_text('[source]\ndelimiter = ";"\n[columns.word]\n[columns.n]\n')
    written = (tmp_path / "t.csv", "--column", "word", "--schema", tmp_path / "t.toml", "--epsilon", 0.1, *paid[2:])
    for repeated in (False, True):  # its columns need not be declared
        assert figures("distinct", *written)["account"].get("repeated", False) == repeated
    Path(tmp_path / "b.bin").unlink()
    (tmp_path / "t.csv").write_text("word\ncat\n")
    with pytest.raises(SchemaError, match="no column 'wrod'"):
        sketch("distinct", tmp_path / "t.csv", "--column", "wrod", "--epsilon", 0.1, *paid[2:])
    assert float(Account(account.path).remaining) == 0.15, "nothing is charged for what cannot be read"
    with pytest.raises(BudgetExceeded):
        sketch("distinct", words, *paid)
    assert not (tmp_path / "b.bin").exists()


@pytest.mark.parametrize("content", [b"cat\ndog\n", b"a\n", b"a", b""])
def test_a_byte_order_mark_is_no_part_of_the_first_value(content: bytes, tmp_path: Path) -> None:
    for name, mark in (("plain.txt", b""), ("marked.txt", b"\xef\xbb\xbf")):
        (tmp_path / name).write_bytes(mark + content)
    plain, marked = ([batch[0].to_pylist() for batch in texts(tmp_path / f"{n}.txt")] for n in ("plain", "marked"))
    assert marked == plain
    assert [value for batch in plain for value in batch] == content.decode().split()
