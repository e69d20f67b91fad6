"""Figures of dp-accounting for the same releases, as a reference for ours.

``python tests/support/other_accountant.py tests/accounts/dp_accounting.json`` writes them anew, in an environment with
dp-accounting (extra ``bench-accounts``); the file says which version made it.
"""

import json
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version
from itertools import pairwise
from typing import Any

#: The step of its grid.
INTERVAL = 1e-5
#: Lists of prices, as accounts write them, each with a few δ.
CASES: dict[str, tuple[list[dict[str, Any]], list[float]]] = {
    "a hundred Laplace": ([{"law": "laplace", "epsilon": "1/50", "times": 100}], [1e-6, 1e-9]),
    "one Laplace": ([{"law": "laplace", "epsilon": "1"}], [1e-6, 1e-2]),
    "Laplace of many prices": (
        [{"law": "laplace", "epsilon": f"{a}/1000", "times": n} for a, n in ((7, 40), (31, 25), (113, 9), (257, 4))],
        [1e-5, 1e-8],
    ),
    "one Gaussian": ([{"law": "gaussian", "rho": "1/8"}], [1e-4, 1e-8]),
    "small sigma": ([{"law": "gaussian", "rho": "2", "times": 3}], [1e-6]),
    "fifty Gaussian": ([{"law": "gaussian", "rho": "1/200", "times": 50}], [1e-6, 1e-10]),
    "a thousand Gaussian": ([{"law": "gaussian", "rho": "1/20000", "times": 1000}], [1e-6]),
    "responses among five": (
        [{"law": "randomised_response", "epsilon": "2/5", "values": 5, "times": 30}],
        [1e-6, 1e-9],
    ),
    "one exponential": ([{"law": "exponential", "epsilon": "1"}], [1e-3, 1e-6]),
    "six exponential": ([{"law": "exponential", "epsilon": "1/2", "times": 6}], [1e-6]),
    "pure with delta": ([{"law": "pure", "epsilon": "1/10", "delta": "1/100000000", "times": 40}], [1e-6]),
    "one of each": (
        [
            {"law": "laplace", "epsilon": "1/7", "times": 13},
            {"law": "gaussian", "rho": "3/1000", "times": 11},
            {"law": "exponential", "epsilon": "31/100", "times": 2},
            {"law": "randomised_response", "epsilon": "41/100", "values": 5, "times": 3},
            {"law": "pure", "epsilon": "1/5", "delta": "1/1000000000"},
        ],
        [1e-6],
    ),
}


def figures(prices: Sequence[dict[str, Any]], deltas: Sequence[float]) -> list[dict[str, float]]:
    """Return its optimistic and its pessimistic ε at every δ, and the δ it gives for the pessimistic one."""
    sums = [_sum(prices, pessimistic) for pessimistic in (False, True)]
    found = []
    for delta in deltas:
        low, high = (each.get_epsilon_for_delta(delta) for each in sums)
        at = round(high, 6)
        shares = [float(each.get_delta_for_epsilon(at)) for each in sums]
        found.append(
            {"delta": delta, "low": low, "high": high, "at": at, "low_delta": shares[0], "high_delta": shares[1]}
        )
    return found


def _sum(prices: Sequence[dict[str, Any]], pessimistic: bool) -> Any:
    total: Any = None
    for price in prices:
        one = _law(price, pessimistic).self_compose(price.get("times", 1))
        total = one if total is None else total.compose(one)
    return total


def _law(price: dict[str, Any], pessimistic: bool) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld

    amount = float(Fraction(price.get("epsilon", price.get("rho"))))
    how = {"pessimistic_estimate": pessimistic, "value_discretization_interval": INTERVAL}
    law = price["law"]
    if law == "laplace":
        return pld.from_discrete_laplace_mechanism(amount, use_connect_dots=pessimistic, **how)
    if law == "gaussian":
        return pld.from_discrete_gaussian_mechanism(math.sqrt(1 / (2 * amount)), use_connect_dots=pessimistic, **how)
    if law == "randomised_response":
        k = price["values"]
        return pld.from_randomized_response(k / (math.exp(amount) + k - 1), k, **how)
    if law == "pure":
        failing, rounded = float(Fraction(price["delta"])), math.ceil if pessimistic else math.floor
        weights = {
            rounded(sign * amount / INTERVAL): (1 - failing) / (1 + math.exp(-sign * amount)) for sign in (-1, 1)
        }
        return pld.PrivacyLossDistribution.create_from_rounded_probability(weights, failing, INTERVAL, pessimistic)
    # The exponential mechanism's worst pair, seen through cells of the loss: that is post-processing, so its optimistic
    # figure is a lower bound of the pair's, and with this many cells hardly less.
    cells = 20_000
    edges = [-amount + 2 * amount * i / cells for i in range(cells + 1)]
    upper = [math.exp((amount + b) / 2) - math.exp((amount + a) / 2) for a, b in pairwise(edges)]
    lower = [math.exp((amount - a) / 2) - math.exp((amount - b) / 2) for a, b in pairwise(edges)]
    logs = [{i: math.log(m / math.expm1(amount)) for i, m in enumerate(side)} for side in (lower, upper)]
    return pld.from_two_probability_mass_functions(*logs, **how)


def main(path: str) -> None:
    """Write the figures of all cases."""
    cases = [
        {"name": name, "prices": prices, "figures": figures(prices, deltas)} for name, (prices, deltas) in CASES.items()
    ]
    facts = {"made by": f"dp-accounting {version('dp-accounting')}", "interval": INTERVAL, "cases": cases}
    with open(path, "w") as file:
        json.dump(facts, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
