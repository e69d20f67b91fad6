"""Which tests state the laws of which room: small and quick ones, run against every fault of the room."""

from __future__ import annotations

ROOMS: dict[str, tuple[str, ...]] = {
    "ledgers": ("test_ledger.py", "test_guarantee.py", "test_metric_repeats.py", "test_local_repeats.py"),
    "noise": (
        "test_noise_exact.py",
        "test_noise_samples.py",
        "test_exponential.py",
        "test_quantiles.py",
        "test_bounds.py",
        "test_max_norm.py",
        "test_hashing.py",
        "test_coin_bytes.py",
        "test_nd_laplace.py",
        "test_metric_sphere.py",
        "test_local_numbers.py",
        "test_local_direct.py",
        "test_local_projective.py",
        "test_local_bit_flip.py",
    ),
    "engines": ("test_engines.py", "test_domain.py", "test_tree_engine.py"),
    "synopses": (
        "test_pipeline_law.py",
        "test_tree_law.py",
        "test_grid.py",
        "test_grid_lazy.py",
        "test_tree.py",
        "test_publish.py",
        "test_budgets.py",
    ),
    "clustering": ("test_clustering_law.py",),
    "local": (
        "test_local_direct.py",
        "test_local_oracles.py",
        "test_local_hashing.py",
        "test_local_sketches.py",
        "test_local_bit_flip.py",
        "test_local_rappor.py",
        "test_local_projective.py",
        "test_local_numbers.py",
        "test_local_heavy.py",
        "test_local_repeats.py",
        "test_wire_format.py",
    ),
    "metric": (
        "test_metric_law.py",
        "test_metric_columns.py",
        "test_metric_sphere.py",
        "test_metric_repeats.py",
        "test_metric_review.py",
        "test_nd_laplace.py",
        "test_streamed_rows.py",
    ),
    "anonymity": (
        "test_anonymity_rules.py",
        "test_anonymity_tree.py",
        "test_anonymity_classical.py",
        "test_anonymity_review.py",
        "test_streamed_rows.py",
    ),
}


def room_of(module: str) -> str:
    """Return the room whose tests a module's faults are tried against."""
    if module in ("_ledger", "_zcdp", "local._report_ledger", "metric.user_ledger"):
        return "ledgers"
    return module.split(".")[0]
