"""Which tests state the laws of which room: small and quick ones, run against every fault of the room."""

from __future__ import annotations

#: From a room to its modules (of the longest name that fits) and its tests, the sharpest first.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clustering": (("clustering",), ("test_clustering_law.py",)),
    "synopses": (
        ("synopses",),
        (
            "test_whole_budget.py",
            "test_privtree_draws.py",
            "test_tree_level_law.py",
            "test_pipeline_law.py",
            "test_tree_law.py",
            "test_grid_lazy.py",
            "test_budgets.py",
            "test_tree.py",
        ),
    ),
    "ledgers": (
        ("_ledger", "_zcdp", "local._report_ledger", "metric.user_ledger"),
        (
            "test_ledger.py",
            "test_guarantee.py",
            "test_budget_limits.py",
            "test_metric_repeats.py",
            "test_local_repeats.py",
        ),
    ),
    "tables": (
        ("anonymity",),
        (
            "test_anonymity_rules.py",
            "test_anonymity_risk.py",
            "test_suppressed_rows.py",
            "test_rules_at_the_limit.py",
            "test_release_randomness.py",
            "test_anonymity_tree.py",
            "test_anonymity_classical.py",
            "test_streamed_rows.py",
        ),
    ),
    "numbers": (
        ("local.square_wave", "local.means", "local.mean_vectors", "noise._means", "noise._square_wave"),
        ("test_local_numbers.py", "test_metric_columns.py"),
    ),
    "oracles": (
        ("local", "noise._coins", "noise._coin_bytes", "noise._subsets", "noise._projective"),
        (
            "test_local_direct.py",
            "test_local_oracles.py",
            "test_local_hashing.py",
            "test_local_projective.py",
            "test_coin_bytes.py",
        ),
    ),
    "sketches": (
        ("local.count_mean", "local.hadamard_sketch", "local._sketch", "noise._hashing"),
        ("test_local_sketches.py", "test_hashing.py"),
    ),
    "remembered": (
        ("local.bit_flip", "local.rappor", "local._memo", "noise._stored"),
        ("test_local_bit_flip.py", "test_local_rappor.py"),
    ),
    "strings": (("local.puzzle", "local.prefix", "local._alphabet"), ("test_local_heavy.py",)),
    "noise": (
        ("noise",),
        (
            "test_noise_exact.py",
            "test_noise_samples.py",
            "test_exponential.py",
            "test_quantiles.py",
            "test_bounds.py",
            "test_bounds_law.py",
            "test_max_norm.py",
            "test_grid_lazy.py",
        ),
    ),
    "points": (
        ("metric", "noise._isotropic", "noise._spherical", "noise._caps", "noise._support", "noise._resample"),
        (
            "test_metric_law.py",
            "test_metric_columns.py",
            "test_metric_sphere.py",
            "test_metric_repeats.py",
            "test_nd_laplace.py",
        ),
    ),
    "engines": (("engines",), ("test_engines.py", "test_tree_engine.py")),
}


def room_of(module: str) -> str:
    """Return the room whose tests a module's faults are tried against."""
    fits = {
        name: room
        for room, (names, _) in ROOMS.items()
        for name in names
        if module == name or module.startswith(f"{name}.")
    }
    return fits[max(fits, key=len)]
