"""Hierarchies of categories: the sets of categories that may be published, and distances between sensitive values.

Categories are listed depth first. A cell covers one node or a run of its children, and splits lie only between children
of the smallest node that covers the cell. So each published set is a node or a union of siblings.
"""

from __future__ import annotations

import csv
import gzip
import heapq
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.core import Category, FloatArray, IntArray, category_text
from discreet.errors import DataSourceError, InvalidArgument, InvalidType, SchemaError

#: The printed form of a missing value, alone or with a cell.
MISSING, OR_MISSING = "missing", " or missing"
#: Other printed forms of a categorical cell: the whole domain, and the ends of a list.
_WHOLE, _LIST = "*", ("{", "}")
_EXAMPLE = 'Hierarchy({"office": ["clerk", "manager"], "craft": ["smith", "cook"]})'


def is_taken(text: str) -> bool:
    return text in (_WHOLE, MISSING) or text.endswith(OR_MISSING) or (text[:1], text[-1:]) == _LIST


def printed_category(category: Any) -> str:
    """Return the printed form of a category: in quotes if it could be mistaken for something else."""
    text = str(category)
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return json.dumps(text, ensure_ascii=False) if quoted or is_taken(text) else text


@dataclass(frozen=True)
class _Node:
    """A node: its label, its children; a leaf has none and is a category."""

    label: str
    children: tuple[_Node, ...] = ()


class Hierarchy:
    """A tree over the categories of a column.

    Parameters
    ----------
    tree : mapping or list
        A mapping from the label of a group to what it holds: a list of categories, or a mapping again. A list may mix
        categories and mappings.

    Privacy
    -------
    A hierarchy that is given is public. One that `merging` builds follows the counts of the records, and what is
    published with it reveals roughly how common the categories are.

    Examples
    --------
    >>> jobs = Hierarchy({"office": ["clerk", "manager"], "craft": ["smith", "cook"]})
    >>> jobs.categories, jobs.height
    (('clerk', 'manager', 'smith', 'cook'), 2)
    """

    def __init__(self, tree: Any) -> None:
        self._setup(_Node("*", _children("tree", tree)))

    @classmethod
    def _of(cls, root: _Node) -> Hierarchy:
        found = cls.__new__(cls)
        found._setup(root)
        return found

    def _setup(self, root: _Node) -> None:
        """Number the inner nodes in depth-first order, parents first, and note the path to every leaf."""
        while len(root.children) == 1 and root.children[0].children:
            root = root.children[0]  # one group that holds all is the root itself
        self._root = root
        #: For every leaf, the numbers of the inner nodes above it, from the root down.
        self._paths: dict[str, tuple[int, ...]] = {}
        self._labels: list[str] = []
        self._heights: list[int] = []
        self._parents: list[int] = []
        stack: list[tuple[_Node, tuple[int, ...]]] = [(root, ())]
        while stack:
            node, path = stack.pop()
            if not node.children:
                if node.label in self._paths:
                    raise InvalidArgument("tree", node.label, "a hierarchy that holds each category once", _EXAMPLE)
                self._paths[node.label] = path
                for level, inner in enumerate(reversed(path)):
                    self._heights[inner] = max(self._heights[inner], level + 1)
                continue
            number = len(self._labels)
            self._labels.append(node.label)
            self._heights.append(0)
            self._parents.append(path[-1] if path else -1)
            stack.extend((child, (*path, number)) for child in reversed(node.children))

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]]) -> Hierarchy:
        """Read rows as ARX writes them: a category, then ever larger groups it belongs to.

        Examples
        --------
        >>> rows = [["smith", "craft", "*"], ["clerk", "office", "*"], ["cook", "craft", "*"]]
        >>> Hierarchy.from_rows(rows).categories
        ('smith', 'cook', 'clerk')
        """
        table = [[category_text(cell) for cell in row] for row in rows]
        if not table or any(len(row) != len(table[0]) or not row for row in table):
            raise InvalidArgument("rows", f"{len(table)} rows", "rows of one length, at least one", _EXAMPLE)
        nested: dict[str, Any] = {}
        for row in table:
            group = nested
            for label in reversed(row[1:]):
                group = group.setdefault(label, {})
            if row[0] in group:
                raise InvalidArgument("rows", row[0], "rows that name each category once", _EXAMPLE)
            group[row[0]] = {}
        return cls._of(_Node("*", _nodes(nested)))

    @classmethod
    def from_csv(cls, path: str | Path, *, header: bool | None = None) -> Hierarchy:
        """Read these rows from a file, separated by commas or semicolons, compressed or not.

        ``header`` says whether the first row holds names; by default it does if its first cell is ``level0``.
        """
        try:
            raw = Path(path).read_bytes()
            text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise DataSourceError(f"hierarchy: {str(path)!r} cannot be read ({error}); check the path") from None
        lines = text.splitlines()
        separator = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        named = header if header is not None else bool(rows) and rows[0][0].strip().lower() == "level0"
        return cls.from_rows(rows[1:] if named else rows)

    @classmethod
    def merging(cls, categories: Sequence[Any], counts: Sequence[int]) -> Hierarchy:
        """Build a hierarchy by merging the two rarest groups until one is left.

        The counts are read from the data, so the resulting tree is part of what is published.
        """
        texts = [category_text(c) for c in categories]
        if len(texts) != len(counts) or not texts:
            raise InvalidArgument("counts", f"{len(counts)} numbers", "one number for every category", "[50, 1]")
        queue = [(int(n), i, _Node(text)) for i, (text, n) in enumerate(zip(texts, counts, strict=True))]
        heapq.heapify(queue)
        for number in range(len(queue), 2 * len(queue) - 1):
            (few, i, rare), (more, j, common) = heapq.heappop(queue), heapq.heappop(queue)
            pair = (rare, common) if i < j else (common, rare)
            heapq.heappush(queue, (few + more, number, _Node("", pair)))  # the group has no name
        root = queue[0][2]
        return cls._of(root if root.children else _Node("*", (root,)))

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, depth first, as text."""
        return tuple(self._paths)

    @property
    def height(self) -> int:
        """Levels below the root."""
        return self._heights[0]

    def check(self, name: str, categories: Sequence[Any]) -> None:
        """Refuse declared categories that are not in the hierarchy."""
        absent = [c for c in categories if category_text(c) not in self._paths]
        if absent:
            said = f"the hierarchy of column {name!r} misses the category {absent[0]!r}"
            raise SchemaError(f"{said}; every declared category must be in it")

    def order(self, categories: Sequence[Any]) -> tuple[int, ...]:
        """Return the numbers of the declared categories, depth first."""
        place = {text: i for i, text in enumerate(self._paths)}
        keys = [place[category_text(c)] for c in categories]
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))

    def tiers(self, categories: Sequence[Any]) -> IntArray:
        """Return, for every place between neighbours in `order`, the depth of their lowest common ancestor.

        The smallest node that covers a run has the least depth in it, and its children meet where that is reached.
        """
        listed = [self._paths[category_text(categories[i])] for i in self.order(categories)]
        # A node has one depth, so two paths share the nodes that are equal at equal depth.
        shared = [sum(x == y for x, y in zip(a, b, strict=False)) for a, b in itertools.pairwise(listed)]
        return np.array(shared, np.int64) - 1

    def labels(self, name: str, categories: Sequence[Any]) -> tuple[tuple[int, int, str], ...]:
        """Return the groups that a released column may print by name: first and last place in `order`, and the label.

        A group of one declared category is that category, and a group of all is ``*``: neither is in the list. Of
        groups that hold the same categories the smallest names them. A label that a reader could take for something
        else (a category, another group, ``*``, ``missing``, a list) is refused.
        """
        listed = [self._paths[category_text(categories[i])] for i in self.order(categories)]
        held: dict[int, list[int]] = {}
        for place, path in enumerate(listed):
            for node in path:
                held.setdefault(node, []).append(place)
        runs: dict[tuple[int, int], int] = {}
        for node, places in sorted(held.items()):  # parents first, so the smallest group of a run stays
            if 1 < len(places) < len(listed) and self._labels[node]:
                runs[places[0], places[-1]] = node
        taken = {category_text(c) for c in categories} | {printed_category(c) for c in categories}
        for node in runs.values():
            label, above = self._labels[node], self._labels[self._parents[node]]
            odd = is_taken(label)
            if odd or label in taken:
                what = "text that no category and no other group has, and not '*', 'missing' or '{...}'"
                named = f"{label} group" if above in ("*", "", label) else f"{label} ({above})"
                fix = "any other name" if odd else f"the name {named!r}"
                raise InvalidArgument(f"label of a group in the hierarchy of column {name!r}", label, what, fix)
            taken.add(label)
        return tuple((first, last, self._labels[node]) for (first, last), node in runs.items())

    def distance_tree(self, labels: Sequence[Any]) -> tuple[IntArray, FloatArray, IntArray]:
        """Return parents, weights height/H and the node of each label, for the hierarchical distance.

        Children come before parents. A missing value is a child of the root. A label that is not in the hierarchy
        gets -1.
        """
        inner = len(self._labels)
        total = len(labels) + inner
        # Inner nodes were numbered parents first: turned round, behind the leaves.
        number = [total - 1 - i for i in range(inner)]
        parent = np.full(total, -1, np.int64)
        weight = np.zeros(total)
        for i in range(inner):
            parent[number[i]] = number[self._parents[i]] if self._parents[i] >= 0 else -1
            weight[number[i]] = self._heights[i] / self.height
        leaf = np.full(len(labels), -1, np.int64)
        for i, label in enumerate(labels):
            path = (0,) if label is None else self._paths.get(category_text(label))
            if path is not None:
                leaf[i] = i
                parent[i] = number[path[-1]]
        return parent, weight, leaf

    def to_list(self) -> list[Any]:
        """Return the tree as plain data, which makes the same hierarchy again."""
        return _listed(self._root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._root == other._root

    def __hash__(self) -> int:
        return hash(self._root)

    def __repr__(self) -> str:
        return f"<Hierarchy of {len(self._paths)} categories, height {self.height}>"


def _nodes(nested: Mapping[str, Any]) -> tuple[_Node, ...]:
    return tuple(_Node(label, _nodes(held)) for label, held in nested.items())


def _listed(node: _Node) -> list[Any]:
    return [{child.label: _listed(child)} if child.children else child.label for child in node.children]


def _children(label: str, tree: Any) -> tuple[_Node, ...]:
    if isinstance(tree, (str, bytes)) or not isinstance(tree, (Mapping, Iterable)):
        raise InvalidType(label, type(tree), "a mapping of groups or a list of categories", _EXAMPLE)
    if not tree:
        raise InvalidArgument(label, tree, "groups that hold something", _EXAMPLE)
    if isinstance(tree, Mapping):
        return tuple(_Node(str(name), _children(f"group {name!r}", held)) for name, held in tree.items())
    found: list[_Node] = []
    for member in tree:
        if isinstance(member, Mapping):
            found += _children(label, member)
        elif isinstance(member, (str, int, bool, np.integer, np.bool_)):
            found.append(_Node(category_text(cast(Category, member))))
        else:
            raise InvalidType(label, type(member), "categories or mappings", _EXAMPLE)
    return tuple(found)
