"""An account is never overspent and never forgets what was released: killed writers, power cuts, damaged files."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.accounts import Account
from discreet.accounts.chain import Disk
from discreet.errors import BudgetExceeded, DataSourceError, FormatError
from forgetful_disk import ForgetfulDisk, LazyDisk, PowerCut

WRITERS = Path(__file__).parents[1] / "support" / "account_writers.py"


def _promise(price: int, salt: bytes) -> dc.Guarantee:
    ledger = dc.Ledger(epsilon=price)
    ledger.spend("all", price)
    return dc.Guarantee.from_ledger(ledger, model="central").seal(salt)


def _killed(folder: Path, kills: int, seed: int) -> None:
    path, limit = folder / "a.account", 10 + 25 * kills
    Account.create(path, dataset="d", epsilon=limit)
    done = subprocess.run(
        [sys.executable, str(WRITERS), str(path), "8", str(kills), str(seed), "0"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    published = json.loads(done.stdout)["published"]
    account = Account(path)
    entries = {entry.number: entry for entry in account.entries}
    assert len({number for number, _, _ in published}) == len(published)
    for number, price, digest in published:
        entry = entries[int(number)]
        assert entry.price == Fraction(price)
        assert entry.state == "reserved" or entry.digest == digest
    assert sum(Fraction(price) for _, price, _ in published) <= account.spent.exact <= limit
    assert published
    # And it can go on.
    if account.remaining >= 1:
        account.reserve("more", epsilon=1)


def test_writers_that_are_killed_leave_a_whole_account(tmp_path: Path) -> None:
    _killed(tmp_path, 12, 1)


@pytest.mark.slow
def test_two_hundred_killed_writers_leave_a_whole_account(tmp_path: Path) -> None:
    _killed(tmp_path, 200, 2)


def _live(path: Path, disk: ForgetfulDisk, draw: random.Random) -> tuple[list[tuple[int, int]], dict[int, str]]:
    """Let two programs release until the power goes; return what was allowed and what was published for sure."""
    allowed: list[tuple[int, int]] = []
    booked: dict[int, str] = {}
    try:
        programs = [Account(path, disk=disk) for _ in range(2)]

        def release(account: Account) -> None:
            price = draw.choice((1, 2))
            if draw.random() < 0.3:  # somebody else, after the line is written and before it is synced
                disk.meanwhile = lambda: release(programs[0])
            reserved = account.reserve("release", epsilon=price)
            allowed.append((reserved.number, price))
            promise = _promise(price, draw.randbytes(4))
            reserved.book(promise)
            booked[reserved.number] = str(promise.digest)

        for _ in range(30):
            release(draw.choice(programs))
    except (PowerCut, BudgetExceeded):
        pass
    return allowed, booked


def _through_cuts(folder: Path, disk_of: Any, seed: int) -> None:
    draw = random.Random(seed)
    path = folder / f"{seed}.account"
    first = disk_of(draw)
    Account.create(path, dataset="d", epsilon=25, disk=first)
    durable, allowed, booked = first.durable, [], {}
    for _ in range(4):
        disk = disk_of(draw, draw.randrange(1, 30))
        disk.durable = durable
        now_allowed, now_booked = _live(path, disk, draw)
        allowed += now_allowed
        booked |= now_booked
        disk.after_the_cut(path)
        durable = path.read_bytes()
        entries = {entry.number: entry for entry in Account(path).entries}
        for number, price in allowed:
            assert entries[number].price == price
        for number, digest in booked.items():
            assert entries[number].digest == digest
        spent = Account(path).spent
        assert sum(price for _, price in allowed) <= spent <= 25
        assert len({number for number, _ in allowed}) == len(allowed)


def test_power_cuts_lose_nothing_that_was_released(tmp_path: Path) -> None:
    for seed in range(25):
        _through_cuts(tmp_path, ForgetfulDisk, seed)


def test_a_writer_that_does_not_wait_for_the_disk_is_caught(tmp_path: Path) -> None:
    """The check above is worth something: without the sync it fails."""
    caught = 0
    for seed in range(20):
        try:
            _through_cuts(tmp_path, LazyDisk, seed)
        except (AssertionError, KeyError):
            caught += 1
    assert caught >= 15


def _file(path: Path) -> list[bytes]:
    account = Account.create(path, dataset="d", epsilon=9, delta=1e-6)
    for price in (1, 2, 1):
        reserved = account.reserve("release", epsilon=price, asked={"columns": ["a"]})
        reserved.book(_promise(price, bytes([price])) if price > 1 else _promise(price, os.urandom(4)))
    account.reserve("lost", epsilon=1, delta=1e-7)
    account.annotate(4, "the machine was switched off")
    account.spend("bounds", 0.5)
    account.add(_promise(1, b"old"))
    account.close()
    return path.read_bytes().splitlines(keepends=True)


def _mangle(lines: list[bytes], draw: random.Random) -> bytes:
    whole = bytearray(b"".join(lines))
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        act, at = draw.randrange(7), draw.randrange(max(len(whole), 1))
        if act == 0:
            whole[at : at + 1] = bytes([draw.randrange(256)])
        elif act == 1:
            del whole[at : at + draw.choice((1, 2, 64, 500))]
        elif act == 2:
            whole[at:at] = draw.randbytes(draw.choice((1, 3, 80)))
        elif act == 3:
            del whole[at:]
        elif act == 4:
            whole[at : at + 40] = bytes(len(whole[at : at + 40]))
        else:
            parts = bytes(whole).splitlines(keepends=True) or [b""]
            i, j = draw.randrange(len(parts)), draw.randrange(len(parts))
            if act == 5:
                parts[i], parts[j] = parts[j], parts[i]
            else:
                parts.insert(i, parts[j])
            whole = bytearray(b"".join(parts))
    return bytes(whole)


def _read_or_refused(folder: Path, lines: list[bytes], held: bytes) -> bool:
    """Return whether a file was read; then it says what the whole lines at its beginning say, and nothing else."""
    place = folder / "mangled.account"
    place.write_bytes(held)
    try:
        found = Account(place).to_dict()
    except FormatError:
        return False
    kept = held.count(b"\n")
    assert held.splitlines(keepends=True)[:kept] == lines[:kept]
    place.write_bytes(b"".join(lines[:kept]))
    assert found == Account(place).to_dict()
    return True


def _fuzz(folder: Path, times: int) -> None:
    lines, draw = _file(folder / "a.account"), random.Random(3)
    read = sum(_read_or_refused(folder, lines, _mangle(lines, draw)) for _ in range(times))
    assert 0 < read < times / 2


def test_mangled_files_are_refused_or_read_and_never_read_wrongly(tmp_path: Path) -> None:
    _fuzz(tmp_path, 200)


@pytest.mark.slow
def test_ten_thousand_mangled_files(tmp_path: Path) -> None:
    _fuzz(tmp_path, 10_000)


def _chained(bodies: list[dict[str, Any]]) -> bytes:
    """Forge a chain that fits: what lines say must hold anyway."""
    head, made = "0" * 64, b""
    for body in bodies:
        text = json.dumps({**body, "after": head}, sort_keys=True, separators=(",", ":")).encode()
        head = hashlib.sha256(text).hexdigest()
        made += text + b" " + head.encode() + b"\n"
    return made


_ODD: list[Any] = [None, "", "-1", "1/0", "inf", "1e9", "99", 0, -1, 7, 1e30, True, [], {}, "open", "row", "0", "1/3"]


@pytest.mark.parametrize("chosen", [pytest.param(_ODD, marks=pytest.mark.slow), ["1/3", "99", None]])
def test_forged_chains_are_refused_unless_they_add_up(tmp_path: Path, chosen: list[Any]) -> None:
    """Every field of every line is replaced by odd values, the hashes made anew: a second reading agrees with ours."""
    lines = _file(tmp_path / "a.account")
    bodies = [{k: v for k, v in json.loads(line[:-66]).items() if k != "after"} for line in lines]
    place, read, tried = tmp_path / "forged.account", 0, 0
    for i, body in enumerate(bodies):
        for name in body:
            for odd in chosen:
                tried += 1
                forged = [dict(b) for b in bodies]
                forged[i][name] = odd
                place.write_bytes(_chained(forged))
                try:
                    found = Account(place).to_dict()
                except FormatError:
                    continue
                read += 1
                prices: dict[int, Fraction] = {}
                for b in forged:
                    if b["kind"] in ("reserve", "book", "spend"):
                        assert b["kind"] != "book" or Fraction(b["price"]) <= prices[b["entry"]]
                        prices[b["entry"]] = Fraction(b["price"])
                assert sum(prices.values()) == Fraction(found["spent"]) <= Fraction(forged[0]["epsilon"])
                assert all(price > 0 for price in prices.values())
    assert 0 < read < tried / 3


def test_a_torn_last_line_is_repaired_and_the_repair_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "a.account"
    account = Account.create(path, dataset="d", epsilon=3)
    account.reserve("first", epsilon=1)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"after":"' + account.head[7:20].encode())
    again = Account(path)
    assert again.spent == 1  # reading writes nothing
    assert path.read_bytes() != whole
    again.reserve("second", epsilon=1)
    assert path.read_bytes().startswith(whole + b'{"after"')
    assert Account(path).to_dict()["repairs"] == 1
    assert Account(path).spent == 2


def test_a_program_notices_that_its_account_went_back_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.account"
    account = Account.create(path, dataset="d", epsilon=3)
    old = path.read_bytes()
    account.reserve("first", epsilon=1)
    head = account.head
    path.write_bytes(old)
    with pytest.raises(FormatError, match="older copy"):
        account.reserve("second", epsilon=1)
    # A new program cannot know, unless it is given a head; every artifact names one.
    stranger = Account(path)
    assert stranger.spent == 0
    stranger.verify(stranger.head)
    with pytest.raises(FormatError, match="older copy"):
        stranger.verify(head)


def test_a_full_disk_leaves_an_account_that_can_go_on(tmp_path: Path) -> None:
    class FullDisk(ForgetfulDisk):
        full = False

        def append(self, handle: int, data: bytes) -> None:
            super().append(handle, data[:30] if self.full else data)
            if self.full:
                raise OSError(28, "No space left on device")

    disk = FullDisk(random.Random(0))
    account = Account.create(tmp_path / "a", dataset="d", epsilon=3, disk=disk)
    disk.full = True
    with pytest.raises(
        DataSourceError, match=r"account: cannot write .* \(No space left on device\); check the folder"
    ):
        account.reserve("first", epsilon=1)
    with pytest.raises(DataSourceError, match="No space left on device"):
        Account.create(tmp_path / "b", dataset="d", epsilon=3, disk=disk)
    assert [place.name for place in tmp_path.iterdir()] == ["a"]
    disk.full = False
    assert account.reserve("second", epsilon=2).number == 1
    assert account.spent == Account(tmp_path / "a").spent == 2


def test_an_account_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    """Killed at any moment of its creation, it is there or it is not, and can be created then."""
    for last in range(1, 4):
        path = tmp_path / f"{last}.account"
        with suppress(PowerCut):
            Account.create(path, dataset="d", epsilon=3, disk=ForgetfulDisk(random.Random(last), last))
        if path.exists():
            assert Account(path).spent == 0
        else:
            Account.create(path, dataset="d", epsilon=3)


def test_of_many_who_create_an_account_one_does_and_the_others_find_it_whole(tmp_path: Path) -> None:
    path, made = tmp_path / "a.account", []

    class Slow(Disk):
        def append(self, handle: int, data: bytes) -> None:
            time.sleep(0.05)
            super().append(handle, data)

    def create() -> None:
        with suppress(DataSourceError):  # it exists already
            made.append(Account.create(path, dataset="d", epsilon=3, disk=Slow()))
        assert Account(path).spent == 0

    with ThreadPoolExecutor(6) as several:
        for future in [several.submit(create) for _ in range(6)]:
            future.result()
    assert len(made) == 1
    assert [place.name for place in tmp_path.iterdir()] == ["a.account"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_link_to_nowhere_is_not_replaced_by_a_new_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Its account may be back tomorrow, with all that was spent: also on a file system without hard links."""

    def refused(*_: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", refused)  # as file systems of memory cards do
    Account.create(tmp_path / "first.account", dataset="d", epsilon=1)
    (tmp_path / "a.account").symlink_to(tmp_path / "moved" / "a.account")
    for name in ("a.account", "first.account"):
        with pytest.raises(DataSourceError, match="already exists"):
            Account.create(tmp_path / name, dataset="d", epsilon=1)
    assert (tmp_path / "a.account").is_symlink()
    assert Account(tmp_path / "first.account").remaining == 1
