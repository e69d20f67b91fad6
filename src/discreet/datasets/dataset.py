"""The result of generators and loaders: a table of numbers with its public domain."""

from dataclasses import dataclass

import pyarrow as pa

from discreet.core import Domain, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A numeric table (``X``, NaN for a missing cell) with its public domain.

    ``n_clusters`` is the number of clusters by the literature or the generator, ``labels`` the true cluster or class of
    each row, numbered from 0, or None.

    Examples
    --------
    >>> from discreet import datasets
    >>> data = datasets.mixture(100, 2, 3)
    >>> data.X.shape, data.domain.names
    ((100, 2), ('x1', 'x2'))
    """

    name: str
    X: FloatArray
    domain: Domain
    n_clusters: int
    labels: IntArray | None
    description: str

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table with named columns, without the labels."""
        return pa.table({name: self.X[:, i] for i, name in enumerate(self.domain.names)})

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        names = ", ".join(self.domain.names[:4]) + (", ..." if len(self.domain) > 4 else "")
        return f"<Dataset {self.name}: {len(self)} rows, columns {names}, {self.n_clusters} clusters>"
