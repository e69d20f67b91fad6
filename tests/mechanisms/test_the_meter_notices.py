"""Broken mechanisms, planted one by one: the meter notices each of them, whatever a test looks at."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import noise
from discreet.clustering.central import auto, lift
from discreet.core.budget.ledger import Entry
from discreet.core.budget.prices import Epsilon, Rho, Wanted
from discreet.errors import FormatError
from discreet.mechanisms import Gate, gate, laws
from meter import Meter

DOMAIN = dc.Domain.box([0, 0], [1, 1])
ROWS = np.random.default_rng(0).random((200, 2))


def noticed(meter: Meter, text: str) -> bool:
    """Tell whether a fault was noticed, and clear it."""
    found = any(text in fault for fault in meter.faults)
    meter.faults.clear()
    return found


def test_an_honest_release_is_metered_and_passes(meter: Meter) -> None:
    dc.TreeSynopsis(1.0, DOMAIN, random_state=1).fit(ROWS)
    assert meter.releases == 1
    assert not meter.faults


def test_noise_of_a_tenth_of_its_scale_is_noticed(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    real = noise.discrete_laplace
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, *rest: real(scale / 10, *rest))
    dc.GridSynopsis(1.0, DOMAIN, 4, random_state=1).fit(ROWS)
    assert noticed(meter, "was drawn")


def test_gaussian_noise_in_a_line_of_laplace_noise_is_noticed(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale, *rest: noise.discrete_gaussian(scale, *rest))
    dc.GridSynopsis(1.0, DOMAIN, 4, random_state=1).fit(ROWS)
    assert noticed(meter, "gaussian noise was drawn")


def test_a_draw_next_to_the_gate_is_noticed(meter: Meter) -> None:
    opened = Gate.open(Wanted.read(1.0, None, None), random_state=1)
    noise.discrete_laplace(1, 3, opened._book.stream)
    assert noticed(meter, "is in no line")


def test_bytes_taken_next_to_the_gate_are_noticed(meter: Meter) -> None:
    opened = Gate.open(Wanted.read(1.0, None, None), random_state=1)
    opened._book.stream.bytes(8)
    assert noticed(meter, "without a reason")


def test_a_line_without_a_draw_is_noticed(meter: Meter) -> None:
    opened = Gate.open(Wanted.read(1.0, None, None), random_state=1)
    opened._scope.charge("nothing", Fraction(1, 2))
    opened.promise({})
    assert noticed(meter, "has no draw")


def test_noise_that_is_left_out_is_noticed(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_drawn", lambda law, size, stream: np.zeros(size, np.int64))
    dc.GridSynopsis(1.0, DOMAIN, 4, n_rows=200, random_state=1).fit(ROWS)
    assert noticed(meter, "none was drawn")


def test_a_choice_for_more_than_its_price_is_noticed(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    real = gate.joint_cuts
    monkeypatch.setattr(gate, "joint_cuts", lambda runs, n, epsilon, stream: real(runs, n, 2 * epsilon, stream))
    dc.TreeSynopsis(1.0, DOMAIN, "median", axis="widest", random_state=1).fit(ROWS)
    assert noticed(meter, "a choice")


def test_a_promise_refuses_lines_cheaper_than_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheaper(self: Entry) -> Any:
        line = real.fget(self)
        return type(line)(line.label, line.amount / 2, line.kind, line.parts, line.draws)

    real = Entry.line
    monkeypatch.setattr(Entry, "line", property(cheaper))
    with pytest.raises(FormatError, match="cheaper than the noise"):
        dc.GridSynopsis(1.0, DOMAIN, 4, random_state=1).fit(ROWS)


@pytest.mark.parametrize("columns", [13, 20, 60])
def test_many_columns_in_pure_epsilon_never_get_gaussian_noise(columns: int, meter: Meter) -> None:
    """Half of all budgets, written as floats, lie above the fraction that they denote: no float may decide."""
    rows = np.random.default_rng(1).random((400, columns))
    domain = dc.Domain.box([0] * columns, [1] * columns)
    for epsilon in (0.3, 0.7, 1.0, 1.1):
        for synopsis in ("auto", "lift"):
            made = dc.PrivateKMeans(3, epsilon, domain, synopsis=synopsis, n_init=1, random_state=3).fit(rows)
            lines = [line for top in made.guarantee_.ledger for _, line in top.walk()]
            laws_used = {draw.law for line in lines for draw in line.draws}
            assert "gaussian" not in laws_used
            assert made.guarantee_.epsilon == epsilon
            assert made.guarantee_.delta == 0


def test_the_old_way_to_gaussian_noise_in_pure_epsilon_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaussian noise for ρ cannot be booked as pure ε: prices have types."""
    real = auto.on_axes

    def as_before(n_rows: float, domain: Any, n_groups: int, price: Any) -> Any:
        return real(n_rows, domain, n_groups, Rho(price.amount))

    monkeypatch.setattr(lift.auto, "on_axes", as_before)
    domain = dc.Domain.box([0] * 20, [1] * 20)
    made = dc.PrivateKMeans(3, 1.0, domain, synopsis="lift", n_init=1, random_state=3)
    made.fit(np.random.default_rng(1).random((400, 20)))
    assert made.guarantee_.delta == 0  # the gate is in ε, whatever the method believes
    opened = Gate.open(Wanted.read(1.0, None, None), random_state=1)
    with pytest.raises(TypeError, match="cannot pay a price in rho"):
        opened.counts("cells", np.zeros(3, np.int64), Rho(Fraction(1, 2)))


def test_a_law_narrower_than_its_price_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = laws.law_for

    def narrow(price: Any, *rest: Any) -> Any:
        return real(price * 2, *rest)

    monkeypatch.setattr(gate, "law_for", narrow)
    with pytest.raises(FormatError, match="cheaper than the noise"):
        dc.GridSynopsis(1.0, DOMAIN, 4, random_state=1).fit(ROWS)


def test_prices_do_not_mix() -> None:
    for wrong in (lambda: Epsilon(1) + Rho(1), lambda: Epsilon(1) == Rho(1), lambda: Epsilon(1) > 0.5,
                  lambda: Epsilon(1) * 0.5, lambda: Rho(1) == 1, lambda: Epsilon(0.5)):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
