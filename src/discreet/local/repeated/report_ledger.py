"""A device's own ledger of the cost of its reports."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.core import Budget, checks, read_ledger, written_amount
from discreet.errors import BudgetExceeded, DiscreetError, FormatError, InvalidArgument, InvalidType
from discreet.local.mechanism import Mechanism
from discreet.local.repeated.bit_flip import BitFlip
from discreet.local.repeated.memo import DEVICE, Memo, need
from discreet.local.repeated.rappor import Rappor
from discreet.local.wire.reports import Reports

_FORMAT, _VERSION = "discreet.report-ledger", 1
#: Limits of one data type, and of all together.
_LIMITS = ("per_period", "lifetime")


class ReportLedger:
    """The cost of one user's reports and its limits: per data type, per period and for life. Kept on the device.

    Reports of all data types add up. A report over a limit is refused and not charged. A stored response (`Rappor`,
    memoised `BitFlip`) is charged for what it *adds*: little or nothing when it is sent again. A refusal then depends
    on the value. Choose limits that cover every history, (d + 1)ε for `BitFlip`, or charge whole reports
    (``whole=True``).

    Parameters
    ----------
    per_period, lifetime : float
        The most that all reports of a period, and all reports ever, may cost.
    kinds : dict of str to (float, float), optional
        Limits per period and lifetime for each data type. None allows any data type within the limits above.

    Examples
    --------
    >>> from discreet.local import BitFlip
    >>> ledger = ReportLedger(per_period=2, lifetime=10, kinds={"uptime": (1, 6), "crash": (1, 4)})
    >>> uptime = BitFlip(epsilon=1, domain=26)
    >>> len(ledger.report("uptime", uptime, 17, period="2025-06-01")), ledger.spent("uptime")
    (1, 1.0)
    >>> ledger.remaining("uptime", period="2025-06-01")                # another report would raise BudgetExceeded
    0.0
    >>> ReportLedger.from_json(ledger.to_json()).spent("uptime")
    1.0
    """

    def __init__(self, *, per_period: Any, lifetime: Any, kinds: Mapping[str, tuple[Any, Any]] | None = None) -> None:
        self._total = _limits("per_period, lifetime", (per_period, lifetime))
        if kinds is not None and (not isinstance(kinds, Mapping) or not kinds):
            raise InvalidType("kinds", kinds, "a dict of limits per data type, or None", "kinds={'crash': (1, 4)}")
        self._kinds = (
            None if kinds is None else {_text("kinds", k): _limits(f"kinds[{k!r}]", v) for k, v in kinds.items()}
        )
        #: What was charged, by data type and period; and per stored response, the reports and their cost so far.
        self._spent: dict[tuple[str, str], Fraction] = {}
        self._responses: dict[tuple[str, str], tuple[int, Fraction]] = {}
        self._lock = threading.Lock()

    def report(
        self,
        kind: str,
        mechanism: Mechanism,
        value: Any,
        *,
        period: str,
        memo: Memo | None = None,
        whole: bool = False,
        rng: object = None,
    ) -> Reports:
        """Charge one report, then make it.

        Parameters
        ----------
        kind, period : str
            The data type, and the period, such as a date: any text. Each has its own budget.
        mechanism, value : Mechanism, Any
            The mechanism that makes the report, and the value of the device. No value causes an error.
        memo : Memo, optional
            The device's secret; needed by mechanisms that store responses, refused by others.
        whole : bool, default False
            True charges every report in full, so that a refusal reveals nothing about the value.
        rng : None, int or Generator
            None uses the operating system's entropy.

        Raises
        ------
        BudgetExceeded
            If it costs more than is left. Nothing is charged and no report is made.
        """
        if not isinstance(mechanism, Mechanism):
            raise InvalidType("mechanism", type(mechanism).__name__, "a local mechanism", "mechanism=BitFlip(1, 26)")
        keys: dict[str, Any] = {}
        if isinstance(mechanism, Rappor) or (isinstance(mechanism, BitFlip) and mechanism.memoised):
            keys = {"users": [DEVICE], "memo": need([DEVICE], memo)}
        elif memo is not None:
            raise InvalidArgument("memo", "given", "None: this mechanism stores no responses", "memo=None")
        if keys and not whole:
            self._charge_stored(kind, mechanism, int(mechanism.responses([value], **keys)[0]), period)  # type: ignore[attr-defined]
        else:
            self.spend(kind, mechanism.epsilon, period=period)
        return mechanism.encode([value], **keys, rng=rng)

    def _charge_stored(self, kind: str, mechanism: Mechanism, label: int, period: str) -> None:
        """Charge the cost that one more report of a stored response adds; d-bit flip has it from the first one on.

        p and q of RAPPOR may change without a new permanent response. Costs grow ever more slowly, so reports of
        different p and q cost at most the sum: they are counted separately.
        """
        bloom = mechanism if isinstance(mechanism, Rappor) else None
        name = (_text("kind", kind), str(label) if bloom is None else f"{label} {bloom.p} {bloom.q}")
        with self._lock:
            reports, before = self._responses.get(name, (0, Fraction(0)))
            after = mechanism._exact if bloom is None else Fraction(bloom.epsilon_over(reports + 1))
            self._charge(name[0], max(after - before, Fraction(0)), _text("period", period))
            self._responses[name] = (reports + 1, max(after, before))

    def spend(self, kind: str, epsilon: Any, *, period: str) -> Budget:
        """Charge a given cost, for a report that is made elsewhere."""
        price = checks.exact("epsilon", epsilon, "a finite number of at least 0", "epsilon=1.0")
        if price < 0:
            raise InvalidArgument("epsilon", epsilon, "a finite number of at least 0", "epsilon=1.0")
        with self._lock:
            self._charge(_text("kind", kind), price, _text("period", period))
        return Budget(price)

    def spent(self, kind: str | None = None, *, period: str | None = None) -> Budget:
        """Return the total charged: for one data type or all, in one period or ever."""
        return Budget(self._sum(kind, period))

    def remaining(self, kind: str, *, period: str) -> Budget:
        """Return the most that a report of a data type may cost now."""
        return Budget(min(left for left, _, _ in self._left(_text("kind", kind), _text("period", period))))

    def _sum(self, kind: str | None, period: str | None) -> Fraction:
        chosen = (x for (k, p), x in self._spent.items() if kind in (None, k) and period in (None, p))
        return sum(chosen, start=Fraction(0))

    def _left(self, kind: str, period: str) -> list[tuple[Fraction, Fraction, str]]:
        """Return for every limit the rest, the limit, and its name."""
        if self._kinds is not None and kind not in self._kinds:
            raise InvalidArgument("kind", kind, f"one of {', '.join(map(repr, self._kinds))}")
        limits = [] if self._kinds is None else [(kind, self._kinds[kind], f" for {kind!r}")]
        found = []
        for scope, (per_period, lifetime), words in [*limits, (None, self._total, "")]:
            here = f"in period {period!r}" + (" for all data types" if scope is None and limits else "")
            found.append((per_period - self._sum(scope, period), per_period, here))
            found.append((lifetime - self._sum(scope, None), lifetime, f"for life{words}"))
        return found

    def _charge(self, kind: str, price: Fraction, period: str) -> None:
        for left, limit, where in self._left(kind, period):
            if price > left:
                fix = "wait for the next period" if "period" in where else "this user reports no more"
                raise BudgetExceeded(
                    f"a report of {kind!r} costs epsilon {float(price):.6g}, and {float(left):.6g} of "
                    f"{float(limit):.6g} is left {where}; {fix}"
                )
        self._spent[kind, period] = self._spent.get((kind, period), Fraction(0)) + price

    def to_json(self) -> str:
        """Return the ledger as JSON with exact amounts. It reveals when the device reported: keep it there."""
        kinds = None if self._kinds is None else {k: list(map(str, v)) for k, v in self._kinds.items()}
        facts = {
            "format": _FORMAT,
            "version": _VERSION,
            "limits": list(map(str, self._total)),
            "kinds": kinds,
            "spent": [[kind, period, str(x)] for (kind, period), x in self._spent.items()],
            "responses": [[kind, name, n, str(x)] for (kind, name), (n, x) in self._responses.items()],
        }
        return json.dumps(facts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> ReportLedger:
        """Read what `to_json` wrote."""
        facts = read_ledger(text, "report ledger", _FORMAT, _VERSION)
        try:
            kinds = facts["kinds"]
            per_period, lifetime = map(written_amount, facts["limits"])
            limits = None if kinds is None else {k: tuple(map(written_amount, v)) for k, v in kinds.items()}
            ledger = cls(per_period=per_period, lifetime=lifetime, kinds=limits)  # type: ignore[arg-type]
            ledger._spent = {(str(k), str(p)): written_amount(x) for k, p, x in facts["spent"]}
            ledger._responses = {(str(k), str(r)): (int(n), written_amount(x)) for k, r, n, x in facts["responses"]}
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DiscreetError) as error:
            raise FormatError(f"the report ledger is damaged: {error}") from None
        return ledger

    def __repr__(self) -> str:
        return f"<ReportLedger: {float(self._sum(None, None)):.6g} of {float(self._total[1]):.6g} spent>"


def _limits(name: str, value: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(value, (tuple, list)) or len(value) != len(_LIMITS):
        raise InvalidType(name, value, "two limits: per period, and for life", f"{name}=(1, 100)")
    per_period, lifetime = (checks.positive(f"{name}: {what}", x) for what, x in zip(_LIMITS, value, strict=True))
    return per_period, lifetime


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidType(name, value, "text", f"{name}='2025-06-01'" if name == "period" else f"{name}='crash'")
    return value
