"""Law tests of each room: small, quick tests that are run against every fault of the room."""

from __future__ import annotations

#: From a room to its modules (of the longest name that fits) and its tests, the sharpest first.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clustering": (
        ("clustering", "engines.passes.lattice"),
        ("clustering/test_ball_sum_laws.py", "clustering/test_clustering_laws.py", "clustering/test_mixed_tables.py"),
    ),
    "models": (("models", "engines.passes.moments"), ("models/test_models.py",)),
    "mechanisms": (
        ("mechanisms",),
        (
            "mechanisms/test_gate.py",
            "mechanisms/test_bounds.py",
            "mechanisms/test_categories.py",
            "mechanisms/test_categories_law.py",
            "mechanisms/test_sampling_law.py",
            "local/distinct/test_distinct.py",
            "synopses/test_published_scales.py",
            "synopses/boxes/tree/test_own_partitioner_laws.py",
            "synopses/boxes/tree/test_privtree_draws.py",
            "mechanisms/test_zcdp_releases.py",
            "clustering/test_ball_sum_laws.py",
            "synopses/boxes/grid/test_grid_laws.py",
            "synopses/boxes/tree/test_tree_laws.py",
            "synopses/boxes/tree/test_mixed_tree_laws.py",
            "synopses/marginals/test_marginal_laws.py",
            "synopses/test_query_session.py",
            "synopses/boxes/grid/test_sparse_grids.py",
            "synopses/test_publish.py",
            "synopses/test_unit_is_a_person.py",
        ),
    ),
    "synopses": (
        ("synopses", "engines.passes.where"),
        (
            "synopses/test_whole_budget.py",
            "engines/persons/test_person_laws.py",
            "mechanisms/test_zcdp_releases.py",
            "synopses/boxes/tree/test_own_partitioner_laws.py",
            "synopses/test_query_session.py",
            "synopses/test_session_sql.py",
            "synopses/boxes/tree/test_privtree_draws.py",
            "synopses/boxes/tree/test_level_law.py",
            "synopses/test_published_scales.py",
            "synopses/boxes/grid/test_grid_laws.py",
            "synopses/boxes/tree/test_tree_laws.py",
            "synopses/boxes/grid/test_sparse_grids.py",
            "core/test_budgets.py",
            "synopses/test_publish.py",
            "synopses/boxes/tree/test_tree.py",
            "core/test_unit_of_privacy.py",
            "synopses/test_unit_is_a_person.py",
        ),
    ),
    "persons": (
        ("engines.persons", "noise.choice.persons"),
        (
            "engines/persons/test_person_laws.py",
            "engines/persons/test_contribution_bounds.py",
            "noise/test_columns_of_persons.py",
        ),
    ),
    "ledgers": (
        ("accounts", "core.budget", "local.repeated.report_ledger", "metric.user_ledger"),
        (
            "core/test_prices.py",
            "core/test_ledger.py",
            "accounts/test_charging_an_account.py",
            "accounts/test_releases_together.py",
            "core/test_guarantee.py",
            "core/test_budget_limits.py",
            "metric/test_repeats.py",
            "local/repeated/test_repeats.py",
        ),
    ),
    "tables": (
        ("anonymity",),
        (
            "anonymity/risk/test_rules_at_the_limit.py",
            "anonymity/release/test_suppressed_rows.py",
            "anonymity/release/test_blanks.py",
            "anonymity/release/test_bounded_rows.py",
            "anonymity/release/test_release_randomness.py",
            "anonymity/masking/test_rank_swapping.py",
            "anonymity/masking/test_multiplicative_noise.py",
            "anonymity/masking/test_microaggregation.py",
            "anonymity/risk/test_rules.py",
            "anonymity/risk/test_values_by_person.py",
            "anonymity/risk/test_risk.py",
            "anonymity/release/test_kept_columns.py",
            "anonymity/methods/test_minimality.py",
            "anonymity/methods/test_drawing.py",
            "anonymity/release/test_row_order.py",
            "anonymity/release/test_months.py",
            "anonymity/release/test_second_releases.py",
            "anonymity/masking/test_classical.py",
            "anonymity/methods/test_density_tree.py",
            "anonymity/growth/test_growth.py",
            "anonymity/methods/test_random_tables.py",
            "anonymity/growth/test_trees_from_files.py",
            "anonymity/release/test_memory.py",
            "anonymity/methods/test_next_month.py",
            "anonymity/methods/test_choice_of_k.py",
            "mechanisms/test_sampling_law.py",
            "anonymity/methods/test_sampled_generalization.py",
            "engines/test_streamed_rows.py",
        ),
    ),
    "numbers": (
        (
            "local.numbers.square_wave",
            "local.numbers.scales",
            "local.numbers.means",
            "local.numbers.mean_vectors",
            "noise.reports.means",
        ),
        (
            "noise/test_separate_draws.py",
            "noise/test_draws_byte_by_byte.py",
            "local/numbers/test_numbers.py",
            "local/tasks/test_number_tasks.py",
            "metric/test_columns.py",
        ),
    ),
    "oracles": (
        (
            "local",
            "noise.reports.laws",
            "noise.reports.coins",
            "noise.reports.coin_bytes",
            "noise.reports.subsets",
            "noise.reports.projective",
        ),
        (
            "noise/test_separate_draws.py",
            "engines/passes/test_clamping.py",
            "noise/test_coin_bytes.py",
            "noise/test_noise_samples.py",
            "local/oracles/test_direct.py",
            "local/oracles/test_oracles.py",
            "local/oracles/test_own_oracle.py",
            "local/oracles/test_local_hashing.py",
            "local/oracles/test_projective.py",
            "local/test_report_laws.py",
            "local/numbers/test_numbers.py",
            "local/tasks/test_number_tasks.py",
            "local/sketches/test_sketches.py",
            "local/repeated/test_bit_flip.py",
            "local/strings/test_heavy_hitters.py",
        ),
    ),
    "distinct": (
        ("local.distinct",),
        (
            "local/distinct/test_distinct.py",
            "local/distinct/test_distinct_spellings.py",
            "local/distinct/test_overlap.py",
        ),
    ),
    "tasks": (
        ("local.tasks", "noise.reports.one_device"),
        ("local/tasks/test_device_reports.py", "local/tasks/test_tasks.py", "local/tasks/test_client.py"),
    ),
    "sketches": (
        ("local.sketches.count_mean", "local.sketches.hadamard", "local.sketches.base", "noise.hashing.families"),
        ("local/sketches/test_sketches.py", "noise/test_hashing.py"),
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
        ("noise/test_draws_byte_by_byte.py", "local/repeated/test_bit_flip.py", "local/repeated/test_rappor.py"),
    ),
    "strings": (
        ("local.strings.puzzle", "local.strings.prefix", "local.strings.alphabet"),
        ("local/strings/test_heavy_hitters.py", "local/strings/test_texts_as_symbols.py"),
    ),
    "noise": (
        ("noise",),
        (
            "noise/test_exact_laws.py",
            "noise/test_separate_draws.py",
            "noise/test_draws_byte_by_byte.py",
            "engines/passes/test_clamping.py",
            "noise/test_noise_samples.py",
            "noise/test_exponential.py",
            "noise/test_quantiles.py",
            "mechanisms/test_bounds.py",
            "mechanisms/test_bounds_law.py",
            "mechanisms/test_categories_law.py",
            "mechanisms/test_zcdp_releases.py",
            "mechanisms/test_categories.py",
            "noise/test_max_norm.py",
            "synopses/boxes/grid/test_sparse_grids.py",
        ),
    ),
    "points": (
        (
            "metric",
            "noise.vector.isotropic",
            "noise.vector.spherical",
            "noise.vector.caps",
        ),
        (
            "metric/test_user_draws.py",
            "noise/test_isotropic_law.py",
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
            "engines/passes/test_clamping.py",
            "noise/test_separate_draws.py",
            "core/test_whole_numbers.py",
            "engines/passes/test_counts.py",
            "engines/passes/test_tree_cells.py",
            "engines/test_streamed_rows.py",
            "engines/persons/test_contribution_bounds.py",
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
