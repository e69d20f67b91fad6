"""A synopsis as a Parquet file: leaves as rows, the promise in the metadata, nothing changed without notice.

A SHA-256 of the whole file, in its own footer, finds damage. The format name and version say whether this library can
read it. The guarantee's seal, over every number, finds a change; it is no signature: who rewrites content *and* seal
makes a new artifact, with another digest. The tree is a list of nodes in the first row of a column of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet import synopses
from discreet.accounts import heads_of
from discreet.core import Domain, Guarantee, check_name, refuse_later, write_whole
from discreet.errors import DataSourceError, DiscreetError, FormatError, InvalidArgument

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

#: Classes by the part of a file that only they have; found through the door, because they build on this module.
_KINDS = {"measured": "ModelSynopsis", "lifted": "CenterSynopsis"}
_FORMAT, _FORMAT_VERSION = "discreet.synopsis", 1
_PROMISE, FACTS, _CHECK = b"discreet.guarantee", b"discreet.synopsis", b"discreet.checksum"
#: How the name of a synopsis file ends.
ENDINGS = (".parquet", ".pq")
CHECKSUM_MARK = b"discreet-file-sha256:"
_BLANK = b"0" * 64
_MAGIC = b"PAR1"
_NODE_INTS = ("parent", "depth", "leaf", "axis")
_NODE_FLOATS = ("estimate", "variance", "threshold")


def check_ending(path: str | Path, argument: str = "output") -> None:
    """Refuse a name that says the file is something else; jobs do so before budget is spent."""
    if Path(path).suffix.lower() not in ENDINGS:
        listed = " or ".join(ENDINGS)
        raise InvalidArgument(
            argument, str(path), f"a file that ends in {listed}: a synopsis is one Parquet file",
            f"{Path(path).with_suffix('.parquet')}",
        )  # fmt: skip


def payload(synopsis: Synopsis) -> Iterator[Any]:
    """Yield everything in a synopsis but the guarantee as buffers in one fixed form: what the seal is over."""
    arrays = {n: getattr(synopsis, n) for n in ("lower", "upper", "points", "weights", "variances")}
    if synopsis.tree is not None:
        arrays |= {f"tree.{n}": getattr(synopsis.tree, n) for n in (*_NODE_INTS, "lower", "upper", *_NODE_FLOATS)}
    layout = {name: [x.dtype.kind, *x.shape] for name, x in arrays.items()}
    head = json.dumps({**_facts(synopsis), "arrays": layout}, sort_keys=True, separators=(",", ":")).encode()
    yield len(head).to_bytes(8, "big") + head
    for x in arrays.values():
        yield x.astype(x.dtype.newbyteorder("<"), order="C", copy=False).reshape(-1).view(np.uint8)


def _facts(synopsis: Synopsis) -> dict[str, Any]:
    facts = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "total": synopsis.total,
        "total_variance": synopsis.total_variance,
        "hidden": None if synopsis.hidden is None else synopsis.hidden.to_dict(),
        "uncut": list(synopsis.uncut),
    }
    return {**facts, **synopsis._more_facts()}


def leaves(synopsis: Synopsis) -> pa.Table:
    """Return the leaves as an Arrow table with guarantee and facts in its metadata."""
    columns = _corners(synopsis.domain, synopsis.lower, synopsis.upper)
    columns |= {f"{n}_at": synopsis.points[:, j] for j, n in enumerate(synopsis.domain.names)}
    table = pa.table({**columns, "weight": synopsis.weights, "variance": synopsis.variances})
    return table.replace_schema_metadata(
        {_PROMISE: synopsis.guarantee.to_json().encode(), FACTS: json.dumps(_facts(synopsis)).encode()}
    )


def _corners(domain: Domain, lower: Any, upper: Any) -> dict[str, Any]:
    return {f"{n}_{end}": x[:, j] for j, n in enumerate(domain.names) for end, x in (("from", lower), ("to", upper))}


def save(synopsis: Synopsis, path: str | Path, overwrite: bool) -> None:
    """Write a new file next to its place, then move it there."""
    check_name(path)
    check_ending(path, "path")
    target = Path(path).expanduser()
    promise = promise_of(target) if target.is_file() and not overwrite else None
    if promise and heads_of(promise.parameters) and not promise.seeded and promise.digest != synopsis.digest:
        raise DataSourceError(
            f"path: {str(path)!r} holds another release, which an account was charged for and which cannot be "
            "drawn again; name another file, or say overwrite=True"
        )
    table = leaves(synopsis)
    metadata = table.schema.metadata
    if synopsis.tree is not None:
        table = table.append_column("tree", _nodes(synopsis))
    buffer = pa.BufferOutputStream()
    # No dictionaries: they may take -0.0 for 0.0. No copy of the schema: it would hold the metadata a second time.
    with pq.ParquetWriter(
        buffer, table.schema.remove_metadata(), compression="zstd", use_dictionary=False, store_schema=False
    ) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({**metadata, _CHECK: CHECKSUM_MARK + _BLANK})
    data = bytearray(buffer.getvalue().to_pybytes())
    place = data.rfind(CHECKSUM_MARK) + len(CHECKSUM_MARK)
    data[place : place + 64] = hashlib.sha256(data).hexdigest().encode()
    write_whole(path, bytes(data))


def _nodes(synopsis: Synopsis) -> pa.Array:
    tree = synopsis.tree
    assert tree is not None
    columns: dict[str, Any] = {n: getattr(tree, n) for n in _NODE_INTS}
    columns |= _corners(synopsis.domain, tree.lower, tree.upper)
    columns |= {n: getattr(tree, n) for n in _NODE_FLOATS}
    nodes = pa.StructArray.from_arrays([pa.array(x) for x in columns.values()], names=list(columns))
    ends = np.full(synopsis.n_leaves + 1, tree.n_nodes)
    ends[0] = 0
    return pa.LargeListArray.from_arrays(pa.array(ends), nodes)


def load(path: str | Path) -> Synopsis:
    """Read and check a file."""
    where = f"file {str(path)!r}"
    try:
        data = Path(path).expanduser().read_bytes()
    except (OSError, TypeError) as error:
        reason = getattr(error, "strerror", error)
        raise DataSourceError(f"path: cannot read {str(path)!r} ({reason}); check the path") from None
    nearby = Path(path).expanduser().with_suffix(".synopsis.parquet")
    _check_bytes(where, data, f"; its synopsis is {str(nearby)!r}" if nearby.is_file() else "")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        table = file.read()
        metadata = file.metadata.metadata or {}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(f"{where} is damaged: {error}") from None
    facts = _read_facts(where, metadata)
    promise = Guarantee.from_json(metadata.get(_PROMISE, b"{}"))
    try:
        found = _build(table, facts, promise)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, pa.ArrowException, DiscreetError) as error:
        raise FormatError(f"{where} is damaged: {type(error).__name__}: {error}") from None
    if found.digest != promise.digest:
        raise FormatError(f"{where} was changed after it was written: its content does not match its seal")
    return found


def promise_of(path: Path) -> Guarantee | None:
    """Return the promise that a file holds, read from its metadata alone; None if it is not a synopsis."""
    try:
        held = (pq.read_metadata(path).metadata or {}).get(_PROMISE)
        return None if held is None else Guarantee.from_json(held)
    except (pa.ArrowException, OSError, DiscreetError):
        return None


def _check_bytes(where: str, data: bytes, nearby: str) -> None:
    if len(data) < 12 or not data.startswith(_MAGIC):
        raise FormatError(f"{where} is not a Discreet synopsis: it is not a Parquet file{nearby}")
    if not data.endswith(_MAGIC):
        raise FormatError(f"{where} is damaged: it is cut off or has been added to")
    place = data.rfind(CHECKSUM_MARK)
    if place < 0:
        raise FormatError(f"{where} is not a Discreet synopsis: its metadata hold no checksum of ours{nearby}")
    place += len(CHECKSUM_MARK)
    if data[place : place + 64] != hashlib.sha256(data[:place] + _BLANK + data[place + 64 :]).hexdigest().encode():
        raise FormatError(f"{where} is damaged or was changed after it was written: its checksum does not match")


def _read_facts(where: str, metadata: dict[bytes, bytes]) -> dict[str, Any]:
    try:
        facts = json.loads(metadata.get(FACTS, b"null"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: {error}") from None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise FormatError(f"{where} is not a Discreet synopsis: the metadata field {FACTS.decode()!r} is missing")
    refuse_later(where, facts, _FORMAT_VERSION)
    if facts.get("format_version") != _FORMAT_VERSION:
        raise FormatError(f"{where} is damaged: format version {facts.get('format_version')!r} does not exist")
    return facts


def _build(table: pa.Table, facts: dict[str, Any], promise: Guarantee) -> Synopsis:
    domain, hidden = promise.domain, facts["hidden"]
    if domain is None:
        raise FormatError("the guarantee names no domain")
    expected = [*_corners_names(domain), *(f"{n}_at" for n in domain.names), "weight", "variance"]
    if table.column_names not in (expected, [*expected, "tree"]):
        raise FormatError(f"its columns must be {expected}, got {table.column_names}")
    nodes = table["tree"].combine_chunks()[0].values if "tree" in table.column_names else None
    kind = getattr(synopses, next((name for part, name in _KINDS.items() if part in facts), "BoxSynopsis"))
    own = kind._read_facts(facts)
    if nodes is not None or hidden is not None:  # of boxes alone; other kinds refuse them
        own |= {"tree": None if nodes is None else _tree(nodes, domain)}
        own |= {"hidden": None if hidden is None else synopses.HiddenCells(**hidden)}
    return kind(  # type: ignore[no-any-return]
        domain,
        lower=_matrix(table, domain, "from"),
        upper=_matrix(table, domain, "to"),
        points=_matrix(table, domain, "at"),
        weights=_vector(table["weight"]),
        variances=_vector(table["variance"]),
        guarantee=promise,
        total=facts["total"],
        total_variance=facts["total_variance"],
        uncut=facts["uncut"],
        **own,
    )


def _corners_names(domain: Domain) -> list[str]:
    return [f"{n}_{end}" for n in domain.names for end in ("from", "to")]


def _tree(nodes: Any, domain: Domain) -> Any:
    table = pa.Table.from_arrays(nodes.flatten(), names=[f.name for f in nodes.type])
    flat = {n: _vector(table[n]) for n in (*_NODE_INTS, *_NODE_FLOATS)}
    return synopses.TreeTable(lower=_matrix(table, domain, "from"), upper=_matrix(table, domain, "to"), **flat)


def _matrix(table: pa.Table, domain: Domain, end: str) -> Any:
    return np.column_stack([_vector(table[f"{n}_{end}"]) for n in domain.names])


def _vector(column: Any) -> Any:
    if column.null_count:
        raise FormatError("a value is missing")
    return column.to_numpy()
