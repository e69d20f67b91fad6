"""The record of a release for programs: its facts, and an entry for the registry of DP deployments.

docs/records.md describes it and docs/record.schema.json is its schema. The entry has the fields of the Differential
Privacy Deployments Registry that NIST proposed to host (github.com/opendp/deployments-registry-data). Fields that only
the owner can fill are null.
"""

import re
from typing import Any

from discreet.reporting.words import number

_TYPES = {
    "synopsis": "Summary statistics", "counts of local reports": "Summary statistics",
    "synthetic rows": "Synthetic data", "drawn rows": "Dataset", "perturbed table": "Dataset",
}  # fmt: skip
_NOISE = "Noise comes from the operating system's entropy; integers are drawn by exact integer arithmetic."


def release_record(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a release from the facts of its page."""
    about, checks, promise = facts["about"], facts["checks"], facts["promise"]
    same = ("file", "bytes", "file_sha256", "kind", "digest", "made_by", "behind")
    raw = "comparison" in facts or any(each["result"].get("private") is False for each in facts["attacks"])
    return {
        "format": "discreet.record",
        "format_version": 1,
        "publishable": bool(checks["holds"] and not checks["seeded"] and not raw),
        "release": {**{name: facts[name] for name in same}, "rows": facts["release"].get("rows")},
        "about": {name: about[name] for name in ("title", "owner", "purpose", "date")},
        "promise": {**promise, "epsilon": _finite(promise["epsilon"]), "rho": _finite(promise["rho"])},
        "reached": facts["parameters"].get("reached"),
        "ledger": [{name: _finite(value) for name, value in line.items()} for line in facts["ledger"]],
        "assumptions": facts["assumptions"],
        "columns": facts["columns"],
        "checks": {name: checks[name] for name in ("holds", "seal", "seeded", "failures")},
        "account": facts["account"],
        "attacks": facts["attacks"],
        "audits": facts["audits"],
        "registry": None if promise["epsilon"] is None else _entry(facts),
        "reported_by": facts["reported_by"],
    }


def _entry(facts: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of the registry, a draft."""
    about, promise, account = facts["about"], facts["promise"], facts["account"]
    model, owners = promise["model"], [about["owner"]] if about["owner"] else None
    variant = "Custom" if model == "metric" else "Approximate DP" if promise["delta"] else "Pure DP"
    spent = {"epsilon": _finite(promise["epsilon"]), "delta": promise["delta"]}
    if promise["rho"] is not None:
        variant, spent = "Zero-concentrated DP", {**spent, "rho": _finite(promise["rho"])}
    held = account and f"{number(account['spent'])} of {number(account['total'])} spent of this dataset."
    steps = [f"{each['step']} ({each['composition']})" for each in facts["ledger"] if not each["depth"]]
    noise = "The noise was seeded." if facts["checks"]["seeded"] else _NOISE
    title = about["title"] or facts["file"].rsplit(".", 1)[0]
    parts = {
        "basic": {
            "name": about["title"], "data_curators": owners,
            "description": f"{facts['kind']}, columns {', '.join(c['name'] for c in facts['columns'])}",
            "intended_use": about["purpose"], "data_product_type": _TYPES.get(facts["kind"], "Dataset"),
            "data_product_region": None, "publication_date": about["date"], "data_product_sector": None,
        },
        "dp_variant": {
            "variant_name": variant, "data_domain": "Tables with the declared columns, whatever their values.",
            "unprotected_quantities": None if model == "central" else "The number of records.",
        },
        "privacy_loss": {
            "privacy_unit": promise["unit"], "privacy_unit_details": promise["neighbours"],
            "privacy_parameters": spent, "privacy_parameters_details": " ".join(promise["plain"]),
        },
        "deployment_model": {
            "model_name": {"central": "Central", "local": "Local", "shuffled": "Shuffle"}.get(model),
            "model_name_details": "Each record is perturbed by itself." if model == "metric" else None, "actors": None,
            "release_type": "Many releases" if account and account["releases"] > 1 else "One release",
            "release_type_details": held or None, "data_source_type": None, "data_source_type_details": None,
            "access_type": "Non-interactive", "access_type_details": None,
        },
        "accounting": {
            "post_processing": "Whatever is computed from the release.", "composition": "; ".join(steps) or None,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": " ".join(f"{a}." for a in facts["assumptions"]) or None,
            "mechanisms": f"Discreet {facts['made_by']}. {noise}", "justification": None,
        },
        "administrative": {
            "sources": None, "notes": f"SHA-256 of the file: {facts['file_sha256']}", "registry_authors": owners,
        },
    }  # fmt: skip
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    return {"url_slug": slug, "status": "Draft", "tier": 2, "deployment": parts}


def _finite(value: Any) -> Any:
    """Return a number that JSON can hold."""
    return "inf" if isinstance(value, float) and value == float("inf") else value
