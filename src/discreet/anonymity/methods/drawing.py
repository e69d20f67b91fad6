"""Drawings of a fitted tree, for internal use: lines of text, and a Plotly figure."""

from typing import Any, NamedTuple

import numpy as np

from discreet.core import checks, counted, plotly, portable

#: Sand is sparser than an even spread, teal is denser.
_SCALE = [[0.0, "#e9c46a"], [0.5, "#ffffff"], [1.0, "#1f8a7d"]]


class Node(NamedTuple):
    """Its number in the tree, the place of its parent in the list, its side of the cut, and cells below not drawn."""

    number: int
    parent: int
    cut: str
    right: bool
    more: int


def shown_nodes(model: Any, depth: Any) -> list[Node]:
    """Return the upper nodes, left first. A cut is shown only if both sides hold k rows (or persons)."""
    levels, tree, k = checks.whole("depth", depth, low=0), model.tree_, model.rules_.k
    before, held, (first, last) = tree.leaves_before, model._people, tree.cells
    found: list[Node] = []
    waiting = [(0, -1, "all", True)]
    while waiting:
        node, parent, cut, is_right = waiting.pop()
        j, right = int(tree.column[node]), int(tree.right[node])
        more, is_cut = 0, j >= 0 and (held is None or min(held[node + 1], held[right]) >= k)
        if is_cut and tree.levels[node] >= levels:
            more = int(before[tree.ends[node]] - before[node])
        elif is_cut:
            for side in (right, node + 1):
                told = tree.grids[j].text(int(first[side, j]), int(last[side, j]))
                waiting.append((side, len(found), f"{tree.grids[j].name} {told}", side == right))
        found.append(Node(node, parent, cut, is_right, more))
    return found


def draw_text(model: Any, depth: Any) -> str:
    """Return the drawing as lines of text."""
    rows, stems, lines = _rows(model), [""], []
    for place, node in enumerate(shown_nodes(model, depth)):
        above, bar = ("", "") if not place else (stems[node.parent], "└─ " if node.right else "├─ ")
        stems[place:] = [above + ("" if not place else "   " if node.right else "│  ")]
        more = f"  … {node.more:,} cells" if node.more else ""
        lines.append((above + bar + node.cut, f"{rows[node.number]:,}", more))
    wide, digits = (max(len(line[i]) for line in lines) for i in (0, 1))
    return "\n".join([_title(model), *(f"{cut:{wide}}  {n:>{digits}}{more}" for cut, n, more in lines)])


def draw_figure(model: Any, depth: Any) -> Any:
    """Return a figure: every node is a box right of its parent, as high as its rows, coloured by density."""
    go, nodes, tree = plotly("a tree"), shown_nodes(model, depth), model.tree_
    at = [node.number for node in nodes]
    rows, volumes, (first, last) = _rows(model)[at], tree.volumes()[at], tree.cells
    density = np.log10(rows / rows[0] / (volumes / volumes[0]))
    few = (1, 2, 5) if np.ptp(density) < 2 else (1,)
    ticks = [m * 10.0**p for p in range(-12, 13) for m in few if density.min() <= p + np.log10(m) <= density.max()]
    hover = []
    for node, n in zip(nodes, rows.tolist(), strict=True):
        runs = zip(tree.grids, first[node.number].tolist(), last[node.number].tolist(), strict=True)
        cell = [f"{grid.name} {grid.text(a, b)}" for grid, a, b in runs if b - a + 1 < grid.n_bins]
        hover.append("<br>".join([f"{n:,} rows" + f", {node.more:,} cells" * bool(node.more), *cell]))
    bar = {"title": {"text": "density, 1 = even"}, "tickvals": np.log10(ticks), "ticktext": [f"{t:g}" for t in ticks]}
    drawn = go.Icicle(
        ids=list(map(str, at)), parents=["", *(str(at[node.parent]) for node in nodes[1:])], values=rows,
        labels=[node.cut for node in nodes], text=[f"{n:,}" for n in rows.tolist()], textinfo="label+text", sort=False,
        branchvalues="total", hovertext=hover, hoverinfo="text", pathbar={"visible": False},
        marker={"colors": density, "cmid": 0, "colorscale": _SCALE, "colorbar": bar, "line": {"color": "#b8bfc7"}},
    )  # fmt: skip
    figure = portable(go.Figure(drawn))
    figure.update_layout(title={"text": _title(model), "font": {"size": 15}}, template="plotly_white", width=960)
    return figure.update_layout(height=600, uniformtext={"minsize": 9, "mode": "hide"}, margin={"b": 20, "l": 20})


def _rows(model: Any) -> Any:
    """Return the build records of each node."""
    counts = np.zeros(model.tree_.n_nodes, np.int64)
    counts[model.tree_.leaves] = model.leaf_counts_
    return model.tree_.totals(counts)


def _title(model: Any) -> str:
    return f"k = {model.rules_.k}, {counted(model.tree_.n_leaves, 'cell')}; rows of the build records, for internal use"
