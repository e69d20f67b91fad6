"""Cluster centres on the page of a release, and the curves behind their number."""

from typing import Any

from discreet.reporting.pages import svg
from discreet.reporting.words import number

#: Curves that support a number of clusters: name of the vote, name of the curve, description.
_CURVES = (
    ("elbow", "elbow", "bend of the log cost"),
    ("silhouette", "silhouette", "beyond no clusters"),
    ("gap", "gap", "to a table without clusters"),
    ("BIC", "bic", "above the best"),
)


#: Most columns in a table of centres.
_MOST_ACROSS = 8


def told(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the centres as a table (heads, rows, columns of figures), and the curves that support their number."""
    if found is None:
        return None
    heads, rows, figures = _table(found)
    said, width = found.get("suggestion"), len(found["columns"])
    shown = {"heads": heads, "rows": rows, "figures": figures, "turned": None}
    if width > _MOST_ACROSS:  # one row per column instead, and sizes separately
        names = ["column", *(row[0] for row in rows)]
        turned = [[name, *(row[j] for row in rows)] for j, name in enumerate(found["columns"], 1)]
        sizes = [[row[0], *row[width + 1 :]] for row in rows]
        shown = {"heads": ["", *heads[width + 1 :]], "rows": sizes, "figures": [1, 2],
                 "turned": (names, turned, list(range(1, len(names))))}  # fmt: skip
    return {**shown, "number": said and said["text"], "curves": _curves(said) if said else []}


#: Figures of centres compared with k-means on raw rows: name, title, meaning.
_COMPARED = (
    ("nicv_ratio", "squared error, relative to raw k-means", "1 is as good"),
    ("centroid_index", "clusters missed", "0 if every raw centre has its own"),
    ("center_error", "distance of matched centres", "as a share of the way to the next centre"),
    ("ari", "adjusted Rand index", "agreement of labels: 1 identical, 0 by chance"),
    ("nmi", "normalised mutual information", "1 identical"),
    ("fowlkes_mallows", "Fowlkes-Mallows", "pairs of rows in one cluster: 1 identical"),
    ("davies_bouldin", "Davies-Bouldin, private centres", "width relative to distance; lower is better"),
    ("davies_bouldin_raw", "Davies-Bouldin, raw centres", "the same without privacy"),
)


def compared(found: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return measure, value and meaning; empty if centres were not compared."""
    if not found:
        return []
    return [
        (name, "not defined" if found[key] is None else number(found[key], 3), words) for key, name, words in _COMPARED
    ]


def _curves(said: dict[str, Any]) -> list[tuple[Any, str]]:
    found = []
    for vote, name, words in _CURVES:
        points = [(k, v) for k, v in enumerate(said["curves"][name], 1) if v is not None]
        if vote not in said["votes"] or len(points) < 2:
            continue
        least = min(v for _, v in points) if name == "bic" else 0.0
        ks, heights, chosen = [k for k, _ in points], [v - least for _, v in points], said["votes"][vote]
        dot = (chosen, heights[ks.index(chosen)], str(chosen)) if chosen in ks else None
        picture = svg.curve(ks, heights, title=vote, x="number of clusters", y=f"{vote}: {words}", dot=dot)
        found.append((picture, f"{vote}, which suggests {chosen}"))
    return found


def marks(found: dict[str, Any] | None, columns: list[str]) -> list[tuple[Any, str]]:
    """Return the places of the centres in the plane of two columns; empty if one of them has no numbers."""
    if found is None or not set(columns) <= set(found["columns"]):
        return []
    places = [[center[found["columns"].index(name)] for name in columns] for center in found["centers"]]
    return [(places, "cross")] if places and not any(isinstance(v, str) for p in places for v in p) else []


def _table(found: dict[str, Any]) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the centres as a table: place, number of rows and its standard error."""
    each = zip(found["centers"], found["weights"], found["weight_std_errors"], found["may_be_noise"], strict=True)
    rows = []
    for i, (center, weight, error, doubtful) in enumerate(each, 1):
        places = [place if isinstance(place, str) else number(place) for place in center]
        noise = "may be only noise" if doubtful else ""
        rows.append([f"centre {i}", *places, f"{weight:,.0f}", f"{error:,.1f}", noise])
    heads = ["", *found["columns"], "rows, about", "standard error", ""]
    words = [i for i, place in enumerate(found["centers"][0], 1) if isinstance(place, str)] if found["centers"] else []
    figures = [i for i in range(1, len(heads) - 1) if i not in words]
    return heads, rows, figures
