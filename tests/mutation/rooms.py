"""Which tests state the laws of which room: small and quick ones, run against every fault of the room."""

from __future__ import annotations

#: From a room to its modules (of the longest name that fits) and its tests, the sharpest first.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clustering": (
        ("clustering", "engines.passes.lattice"),
        ("laws/test_balls.py", "laws/test_clustering.py", "clustering/test_clusters_of_mixed_tables.py"),
    ),
    "mechanisms": (
        ("mechanisms",),
        (
            "mechanisms/test_gate.py",
            "mechanisms/test_bounds.py",
            "mechanisms/test_categories.py",
            "laws/test_categories_law.py",
            "laws/test_sampled_classes_law.py",
            "local/test_distinct.py",
            "laws/test_published_scales.py",
            "laws/test_bought_answers.py",
            "laws/test_privtree_draws.py",
            "laws/test_zcdp_releases.py",
            "laws/test_balls.py",
            "laws/test_pipelines.py",
            "laws/test_trees.py",
            "laws/test_mixed_trees.py",
            "laws/test_marginals.py",
            "laws/test_query_session.py",
            "synopses/test_grid_lazy.py",
            "synopses/test_publish.py",
            "synopses/test_unit_is_a_person.py",
        ),
    ),
    "synopses": (
        ("synopses",),
        (
            "laws/test_whole_budget.py",
            "laws/test_promises_to_persons.py",
            "laws/test_zcdp_releases.py",
            "laws/test_bought_answers.py",
            "laws/test_query_session.py",
            "laws/test_privtree_draws.py",
            "laws/test_tree_level_law.py",
            "laws/test_published_scales.py",
            "laws/test_pipelines.py",
            "laws/test_trees.py",
            "synopses/test_means_along_a_public_order.py",
            "synopses/test_grid_lazy.py",
            "core/test_budgets.py",
            "synopses/test_publish.py",
            "synopses/test_tree.py",
            "core/test_unit_of_privacy.py",
            "synopses/test_unit_is_a_person.py",
        ),
    ),
    "persons": (
        ("engines.persons", "noise.choice.persons"),
        (
            "laws/test_promises_to_persons.py",
            "engines/test_rows_of_persons.py",
            "noise/test_columns_of_persons.py",
        ),
    ),
    "ledgers": (
        ("accounts", "core.ledger", "core.budget", "local.repeated.report_ledger", "metric.user_ledger"),
        (
            "core/test_prices.py",
            "core/test_ledger.py",
            "accounts/test_charging_an_account.py",
            "accounts/test_releases_together.py",
            "core/test_guarantee.py",
            "core/test_budget_limits.py",
            "metric/test_repeats.py",
            "local/test_repeats.py",
        ),
    ),
    "tables": (
        ("anonymity",),
        (
            "anonymity/test_rules_at_the_limit.py",
            "anonymity/test_suppressed_rows.py",
            "anonymity/test_release_randomness.py",
            "anonymity/test_swapping_in_groups.py",
            "anonymity/test_multiplicative_noise.py",
            "anonymity/test_microaggregation.py",
            "anonymity/test_rules.py",
            "anonymity/test_values_count_by_person.py",
            "anonymity/test_risk.py",
            "anonymity/test_kept_columns.py",
            "anonymity/test_minimality.py",
            "anonymity/test_order_of_rows.py",
            "anonymity/test_releasing_again.py",
            "anonymity/test_classical.py",
            "anonymity/test_tree.py",
            "anonymity/test_growth.py",
            "anonymity/test_thousand_tables.py",
            "anonymity/test_trees_from_files.py",
            "anonymity/test_memory_of_cells.py",
            "anonymity/test_trees_take_new_records.py",
            "anonymity/test_choice_of_k.py",
            "laws/test_sampled_classes_law.py",
            "anonymity/test_sampled_generalization.py",
            "engines/test_streamed_rows.py",
        ),
    ),
    "numbers": (
        (
            "local.numbers.square_wave",
            "local.numbers.means",
            "local.numbers.mean_vectors",
            "noise.reports.means",
            "noise.reports._means_kernels",
            "noise.reports.square_wave",
        ),
        (
            "laws/test_draws_of_their_own.py",
            "laws/test_draws_byte_by_byte.py",
            "local/test_numbers.py",
            "metric/test_columns.py",
        ),
    ),
    "oracles": (
        (
            "local",
            "noise.reports.laws",
            "noise.reports.coins",
            "noise.reports._coin_kernels",
            "noise.reports.coin_bytes",
            "noise.reports.subsets",
            "noise.reports.projective",
        ),
        (
            "laws/test_draws_of_their_own.py",
            "laws/test_cells_at_the_edges.py",
            "noise/test_coin_bytes.py",
            "local/test_direct.py",
            "local/test_oracles.py",
            "local/test_local_hashing.py",
            "local/test_projective.py",
            "local/test_report_laws.py",
            "local/test_numbers.py",
            "local/test_sketches.py",
            "local/test_bit_flip.py",
            "local/test_heavy.py",
        ),
    ),
    "distinct": (
        ("local.distinct",),
        ("local/test_distinct.py", "local/test_distinct_spellings.py", "local/test_distinct_together.py"),
    ),
    "tasks": (
        ("local.tasks", "noise.reports.one_device"),
        ("local/test_device_reports.py", "local/test_tasks.py", "local/test_client.py"),
    ),
    "sketches": (
        ("local.sketches.count_mean", "local.sketches.hadamard", "local.sketches.base", "noise.hashing.families"),
        ("local/test_sketches.py", "noise/test_hashing.py"),
    ),
    "remembered": (
        (
            "local.repeated.bit_flip",
            "local.repeated.rappor",
            "local.repeated.rappor_law",
            "local.repeated.memo",
            "noise.reports.stored",
            "noise.reports._prf_kernels",
        ),
        ("laws/test_draws_byte_by_byte.py", "local/test_bit_flip.py", "local/test_rappor.py"),
    ),
    "strings": (
        ("local.strings.puzzle", "local.strings.prefix", "local.strings.alphabet"),
        ("local/test_heavy.py", "local/test_texts_as_symbols.py"),
    ),
    "noise": (
        ("noise",),
        (
            "laws/test_noise_exact.py",
            "laws/test_draws_of_their_own.py",
            "laws/test_draws_byte_by_byte.py",
            "laws/test_cells_at_the_edges.py",
            "noise/test_noise_samples.py",
            "noise/test_exponential.py",
            "noise/test_quantiles.py",
            "mechanisms/test_bounds.py",
            "laws/test_bounds_law.py",
            "laws/test_categories_law.py",
            "laws/test_zcdp_releases.py",
            "mechanisms/test_categories.py",
            "noise/test_max_norm.py",
            "synopses/test_grid_lazy.py",
        ),
    ),
    "points": (
        (
            "metric",
            "noise.vector.isotropic",
            "noise.vector.spherical",
            "noise.vector._spherical_kernels",
            "noise.vector.caps",
            "noise.hashing.support",
        ),
        (
            "laws/test_points_draws.py",
            "laws/test_metric.py",
            "metric/test_lattice_rounding.py",
            "metric/test_elastic.py",
            "metric/test_columns.py",
            "metric/test_sphere.py",
            "metric/test_repeats.py",
            "metric/test_nd_laplace.py",
            "core/test_unit_of_privacy.py",
        ),
    ),
    "engines": (
        ("engines",),
        (
            "laws/test_cells_at_the_edges.py",
            "laws/test_draws_of_their_own.py",
            "core/test_whole_numbers.py",
            "engines/test_engines.py",
            "engines/test_tree_engine.py",
            "engines/test_streamed_rows.py",
            "engines/test_rows_of_persons.py",
        ),
    ),
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
