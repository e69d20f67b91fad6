"""The account: a privacy budget for one data set, kept in a file."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounts.book import FORMAT, VERSION, WITH_DELTA, WITHDRAWN, Entry, Totals
from discreet.accounts.chain import Chain, Disk
from discreet.accounts.facts import (
    heads_of,
    step_facts,
    steps_of,
    terms_of,
    unit_column,
    unit_facts,
    unit_of,
    unit_text,
)
from discreet.accounts.standing import Standing
from discreet.core import KINDS, LARGEST_BUDGET, SURE_DELTA, Exact, Guarantee, Kind, Line, checks
from discreet.core.budget import zcdp_to_epsilon
from discreet.errors import BudgetExceeded, DataSourceError, FormatError, InvalidArgument, InvalidType, SchemaError


class Account(Standing):
    """A privacy budget for one data set, kept in a file that many programs can charge and none can overspend.

    ``Account(path)`` opens one, `Account.create` makes one. Every central estimator takes it as ``ledger=``, every
    command with a central price as ``--account``.

    A release *reserves* its price before a row is read and *books* it when it is published. Both are on the disk
    before anything else happens. A reservation that is never booked stays spent, because the lost program may have
    shown its result. Many programs may charge one account at the same time.

    Parameters
    ----------
    path : str or Path
        The file. It is checked completely; an edited file is refused.
    disk : Disk, optional
        Durable writing; for tests.

    Privacy
    -------
    Neighbours and unit are those of the releases, which must have the unit of the account. The sum of reserved and
    booked prices never exceeds the limit, in any order of programs and after any crash. So all releases together are
    ε-DP (or (ε, δ)-DP, or ρ-zCDP) with the limits of the account, even if prices were chosen after earlier results.
    Releases about the same people that name no account are not included.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> folder = tempfile.TemporaryDirectory()
    >>> account = Account.create(Path(folder.name) / "patients.account", dataset="patients 2026", epsilon=3)
    >>> grid = dc.GridSynopsis(epsilon=1, domain=(0, 1), rule=2, ledger=account)
    >>> _ = grid.fit([[0.2], [0.7]])
    >>> account
    <Account 'patients 2026': epsilon 1 of 3 spent by 1 release>
    >>> [(entry.state, entry.digest == grid.synopsis_.digest) for entry in account.entries]
    [('booked', True)]
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, disk: Disk | None = None) -> None:
        self._start(path, disk)
        self._chain.read()

    def _start(self, path: str | os.PathLike[str], disk: Disk | None) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidType("path", type(path).__name__, "the path of an account", 'path="patients.account"')
        self._totals, self._task = Totals(), None
        self._said: Mapping[str, str] = {}
        self._disk = disk
        try:
            place = Path(os.path.abspath(Path(path).expanduser()))
            if b"\0" in os.fsencode(place):
                raise ValueError
        except (RuntimeError, ValueError):  # no home folder, or an invalid name
            raise DataSourceError(f"account: {os.fspath(path)!r} is not a valid path; check it") from None
        self._chain = Chain(place, self._totals, disk)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset: str,
        unit: Any = "row",
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        yes_really: bool = False,
        disk: Disk | None = None,
    ) -> Account:
        """Create an account.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is not touched.
        dataset : str
            Name of the data. Every artifact will state it.
        unit : "row" or Person
            The unit of privacy of all releases: ``domain.unit``. For a `Person` only the column counts.
        epsilon : float
            The limit in ε.
        delta : float, default 0
            The limit of the sum of δ; with 0, releases with δ are refused. With ``rho``, the δ at which ε is stated.
        rho : float
            Instead of ``epsilon``: the limit in zCDP. Pure ε releases then cost ε²/2.
        yes_really : bool, default False
            Accept a delta above 0.001: with that probability anything about anyone may be revealed.
        disk : Disk, optional
            Durable writing; for tests.
        """
        if not isinstance(dataset, str) or not dataset.strip():
            raise InvalidType("dataset", dataset, "a name for the data", 'dataset="patients 2026"')
        if (epsilon is None) == (rho is None):
            raise InvalidArgument("epsilon", epsilon, "given, or rho with delta, but not both", "epsilon=3")
        name, limit = ("epsilon", epsilon) if rho is None else ("rho", rho)
        most = checks.positive(name, limit)
        if most > LARGEST_BUDGET:
            raise InvalidArgument(name, limit, f"at most {LARGEST_BUDGET:.0e}", f"{name}=3")
        share = checks.delta_share(delta)
        if rho is not None and not share:
            raise InvalidArgument("delta", delta, "positive with rho, and below 1", "delta=1e-6")
        if share > SURE_DELTA and not yes_really:
            means = f"with probability {float(share):g} anything about anyone may be revealed"
            expected = f"at most {SURE_DELTA:g} unless you confirm it ({means})"
            raise InvalidArgument("delta", delta, expected, "delta=1e-6, or yes_really=True")
        if not yes_really:
            checks.warn_of_delta(share)
        made = cls.__new__(cls)
        made._start(path, disk)
        made._chain.create({
            "kind": "open", "format": FORMAT, "version": VERSION, "dataset": dataset, "unit": unit_facts(unit),
            "epsilon": str(most) if rho is None else None, "rho": None if rho is None else str(most),
            "delta": str(share), **_signed(),
        })  # fmt: skip
        return made

    def reserve(
        self,
        job: str,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = 0,
        unit: Any = "row",
        asked: Mapping[str, Any] | None = None,
        promise: Guarantee | None = None,
    ) -> Reservation:
        """Set a price aside, durably, before any row is read. Book it when the release is published.

        Parameters
        ----------
        job : str
            What it is for.
        epsilon, rho : float or Fraction
            The price of an ε-DP release (with ``delta`` if it is (ε, δ)-DP), or of a ρ-zCDP release, whose ε is stated
            at ``delta``.
        delta : float or Fraction, default 0
            The δ of the release.
        unit : "row" or Person
            The unit of the release, which must be that of the account.
        asked : mapping, optional
            The request, as plain data.
        promise : Guarantee, optional
            Instead of a price: what a release promises that is not of the central model. It is listed with its terms
            and adds nothing to what is spent. For an anonymous table
            ``Guarantee("syntactic", parameters={"required": {"k": 10}})`` will do.
        """
        cost = self._cost(promise, epsilon, rho, delta, unit)
        number = 0

        def line() -> dict[str, Any]:
            nonlocal number
            number = len(self._totals.entries) + 1
            return self._asked("reserve", job, cost, asked or {}, number)

        head = self._chain.append(line)
        return Reservation(self, number, f"sha256:{head}")

    def check(
        self, label: str, epsilon: Any = None, *, rho: Any = None, delta: Any = 0, unit: Any = "row",
        promise: Guarantee | None = None,
    ) -> None:  # fmt: skip
        """Raise the error that `reserve` or `spend` would with this price, without charging anything."""
        cost = self._cost(promise, epsilon, rho, delta, unit)
        with self._chain.lock:  # or another thread takes in lines meanwhile
            totals = self._fresh()
            totals.check(self._asked("reserve", label, cost, {}, len(totals.entries) + 1))

    def spend(
        self, label: str, epsilon: Any = None, kind: Kind = "sequential", *, rho: Any = None, delta: Any = 0,
        unit: Any = "row", law: str = "",
    ) -> Exact:  # fmt: skip
        """Charge an answer without an artifact, durably; as `Ledger.spend`."""
        checks.choice("kind", kind, KINDS)
        cost, share = self._cost(None, epsilon, rho, delta, unit), checks.delta_share(delta, "delta=0")
        given = checks.exact("epsilon" if rho is None else "rho", epsilon if rho is None else rho, "a price", "0.1")
        laws = [step_facts(Line(label, given, kind, law=law), rho is not None, share)]

        def line() -> dict[str, Any]:
            asked = self._asked("spend", label, cost, {}, len(self._totals.entries) + 1)
            return {**asked, "state": "answered", "digest": None, "seeded": False, "steps": laws}

        self._chain.append(line)
        return checks.budget("rho" if epsilon is None else "epsilon", rho if epsilon is None else epsilon)

    def add(self, artifact: Any) -> Entry:
        """Book an artifact that was released without the account.

        Parameters
        ----------
        artifact : Guarantee, or an object with one
            A sealed release. One that is already booked is refused.
        """
        promise = artifact if isinstance(artifact, Guarantee) else getattr(artifact, "guarantee", None)
        if not isinstance(promise, Guarantee):
            raise InvalidType("artifact", type(artifact).__name__, "a release with a guarantee", "artifact=synopsis")
        if promise.digest is None:
            raise InvalidArgument("artifact", "without a seal", "a sealed release", "a saved synopsis")
        self.check_promise(promise)
        cost = self.cost_of(promise)
        known = promise.digest in self._fresh().digests
        if known or any(self._chain.knows(head.removeprefix("sha256:")) for head in heads_of(promise.parameters)):
            raise FormatError(f"account: {promise.digest} is already booked, completely or in part; nothing was added")
        asked = {k: v for k, v in promise.parameters.items() if isinstance(v, (str, int, float, bool))}

        def line() -> dict[str, Any]:
            job = str(promise.parameters.get("method", promise.parameters.get("mechanism", "release")))
            facts = self._asked("spend", job, cost, asked, len(self._totals.entries) + 1)
            return {**facts, "state": "added", **_made(promise)}

        self._chain.append(line)
        return self._totals.entries[max(self._totals.entries)]

    def add_file(self, release: str | None, name: str, digest: str | None) -> None:
        """Note another file of a booked release: post-processing of it, or the same in another format.

        Parameters
        ----------
        release : str
            Digest of the booked release.
        name, digest : str
            Name of the file, and the seal of its guarantee.
        """
        entry = next((e for e in self.entries if release in [known for _, known in e.shown]), None)
        if entry is None:
            raise InvalidArgument("release", release, "the digest of a booked release", "synopsis.digest")
        if (name, digest) not in entry.shown:
            facts = {"kind": "file", "entry": entry.number, "name": name, "digest": digest}
            self._chain.append(lambda: {**facts, **_signed()})

    def withdraw(self, digest: str) -> int | None:
        """Note that nobody received the release with this digest; return its entry, None if there is none."""
        found = [each for each in self.entries if digest in [seal for _, seal in each.shown]]
        if found and not found[-1].withdrawn:
            self.annotate(found[-1].number, WITHDRAWN)
        return found[-1].number if found else None

    def annotate(self, entry: int, text: str) -> None:
        """Add a note to an entry, such as what happened to a lost reservation. Its price stays."""
        number = checks.whole("entry", entry, low=1)
        if not isinstance(text, str) or not text.strip():
            raise InvalidType("text", text, "a sentence", 'text="the machine was switched off"')
        if number not in self._fresh().entries:
            most = len(self._totals.entries)
            raise InvalidArgument("entry", entry, f"an entry of the account, which has {most}", f"entry={most or 1}")
        self._chain.append(lambda: {"kind": "note", "entry": number, "text": text, **_signed()})

    def close(self) -> None:
        """Close the account: reservations can still be booked, but nothing more can be spent."""
        self._chain.append(lambda: {"kind": "close", **_signed()})

    def verify(self, head: str | None = None) -> dict[str, Any]:
        """Read the whole file again and return its totals; raise if it was edited.

        A file that was cut at the end of a line, or an older copy, is consistent in itself. It is detected by a
        ``head`` that was seen before: every artifact states the one of its reservation.

        Parameters
        ----------
        head : str, optional
            A hash from an artifact or `Account.head`. Its line must be in the file.
        """
        found = Account(self.path)
        if head is not None:
            if not isinstance(head, str) or not head.removeprefix("sha256:"):
                raise InvalidType("head", head, "a hash as artifacts name it", 'head="sha256:..."')
            if not found._chain.knows(head.removeprefix("sha256:")):
                raise FormatError(
                    f"account: {str(self.path)!r} has no line {head}; it was cut, is an older copy, or is not the "
                    "account that was charged"
                )
        return found.to_dict()

    def for_task(self, task: str | None, said: Mapping[str, str] | None = None) -> Account:
        """Return the same account for one job, whose reservations are found again by its digest."""
        same = Account.__new__(Account)
        same.__dict__.update(self.__dict__)
        same._task, same._said = task, said or {}  # type: ignore[assignment]
        return same

    def earlier(self, task: str) -> tuple[Entry, ...]:
        """Return the published releases of a job that were not withdrawn, the newest first."""
        found = [e for e in self.entries if e.task == task and e.state == "booked" and e.digest is not None]
        return tuple(e for e in reversed(found) if not e.withdrawn)

    def _asked(
        self, kind: str, job: str, cost: Mapping[str, Any], asked: Mapping[str, Any], number: int
    ) -> dict[str, Any]:
        facts = {"kind": kind, "job": job, "asked": {**asked, **self._said}, **cost}
        return {**facts, "task": self._task, "entry": number, **_signed()}

    def _cost(self, promise: Guarantee | None, epsilon: Any, rho: Any, delta: Any, unit: Any) -> dict[str, Any]:
        """Return the price of a release as a line states it: in the unit of the account, or the terms of a promise."""
        if promise is not None:
            self.check_promise(promise)
            return self.cost_of(promise)
        price, share = self._price(epsilon, rho, delta)
        self._check_unit(unit)
        return {"price": str(price), "delta": str(share)}

    def cost_of(self, promise: Guarantee) -> dict[str, Any]:
        """Return the price of a release with this promise as a line states it."""
        if promise.model != "central":
            return {"price": "0", "delta": "0", "terms": terms_of(promise)}
        spent, rho = promise.spent.exact, promise.accounting == "rho"
        price, share = self._price(None if rho else spent, spent if rho else None, Fraction(repr(promise.delta)))
        return {"price": str(price), "delta": str(share)}

    def _price(self, epsilon: Any, rho: Any, delta: Any) -> tuple[Fraction, Fraction]:
        """Return the price of a release in the unit of the account, and its δ."""
        if (epsilon is None) == (rho is None):
            raise InvalidArgument("epsilon", epsilon, "given, or rho, but not both", "epsilon=0.1")
        given = checks.budget("rho" if epsilon is None else "epsilon", rho if epsilon is None else epsilon)
        share = checks.delta_share(delta, "delta=0")
        if not isinstance(given, Fraction):
            raise BudgetExceeded("a release without privacy (epsilon is infinite) exceeds every account")
        if self.currency == "rho":
            if rho is None and share:
                raise BudgetExceeded(
                    "a release with a delta of its own has no price in rho; charge it to an account in epsilon"
                )
            return (given if rho is not None else given * given / 2), Fraction(0)
        if rho is None:
            return given, share
        if not self.delta:
            raise BudgetExceeded(
                f"a zCDP release has a delta, and the account {self.dataset!r} allows none; leave delta out for a pure "
                f"epsilon release, or charge an account with a delta: {WITH_DELTA}"
            )
        return Fraction(repr(zcdp_to_epsilon(given, share))), share

    def check_promise(self, promise: Guarantee) -> None:
        """Refuse a promise with another unit. Anonymous tables and reports of users are listed in any account."""
        if promise.model == "central" or (promise.unit == "one row" and promise.model in ("metric", "local")):
            self._check_unit(unit_of(promise))

    def _check_unit(self, unit: Any) -> None:
        wanted, asked = self._totals.opened["unit"], unit_facts(unit)
        if (named := unit_column(asked)) != unit_column(wanted):
            shell = "" if named is None else f" ... --person {shlex.quote(named)}"
            held = unit_column(wanted)
            how = "" if held is None else f" ([unit] with person = {json.dumps(held, ensure_ascii=False)} and rows = 8)"
            raise SchemaError(
                f"the account {self.dataset!r} protects {unit_text(wanted)}, the release {unit_text(asked)}; declare "
                f"the unit of the account in the schema{how}, or charge an account with the unit of the release: "
                f"Account.create(..., unit=domain.unit) or 'discreet account create{shell}'"
            )

    # A copy is the same account: it is charged through its file.

    def __copy__(self) -> Account:
        return self

    def __deepcopy__(self, memo: Any) -> Account:
        return self

    def __sklearn_clone__(self) -> Account:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.path), self._task, dict(self._said), self._chain.head)


@dataclass(frozen=True)
class Reservation:
    """A price that was set aside for one release. ``head`` is the hash of its line, which the artifact states.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = Account.create(Path(folder) / "a", dataset="patients", epsilon=1)
    ...     reservation = account.reserve("synopsis", epsilon=0.25)
    ...     float(account.remaining), account.entries[0].state
    (0.75, 'reserved')
    """

    account: Account
    number: int
    head: str

    @property
    def facts(self) -> dict[str, str]:
        """Facts about the reservation in the sealed artifact."""
        return {"dataset": self.account.dataset, "head": self.head}

    def book(self, promise: Guarantee) -> None:
        """Write that the release is published, its cost and its seal."""
        cost = self.account.cost_of(promise)
        reserved = self.account._totals.entries[self.number].delta
        if float(reserved) == promise.delta:  # a promise states its δ as a float; what was set aside is exact
            cost["delta"] = str(reserved)
        facts = {"kind": "book", "entry": self.number, **cost, **_made(promise)}
        self.account._chain.append(lambda: {**facts, "when": _now()})


def _made(promise: Guarantee) -> dict[str, Any]:
    steps = steps_of(promise) if promise.model == "central" else []
    return {"digest": promise.digest, "seeded": promise.seeded, "steps": steps}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _signed() -> dict[str, str]:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid())
    return {"when": _now(), "who": f"{user}@{socket.gethostname()}"}


def _reopen(path: str, task: str | None, said: Mapping[str, str], head: str) -> Account:
    """Open the account again in another process; every line seen before must be there."""
    found = Account(path)
    found._chain.check_holds(head)
    return found.for_task(task, said)
