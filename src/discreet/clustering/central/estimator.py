"""Base of the private clusterers: from centres to labels and distances of the user's own rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.clustering.leaves.columns import distance_units
from discreet.core import Domain, Estimator, FloatArray, IntArray, check_fitted, dialect_of
from discreet.engines import RowWriter, WrittenTable, check_target
from discreet.engines.passes import NearestMap
from discreet.errors import InvalidType, SchemaError
from discreet.synopses import bind, table


class Centers(Estimator, mixins=("ClassNamePrefixFeaturesOutMixin", "TransformerMixin", "ClusterMixin")):
    """Predict and transform with fitted centres.

    The results are exact facts about rows: for the holder of the rows, not for publication. So there is no ``labels_``,
    no ``inertia_`` and no ``score``, by which a search over settings would choose; see `discreet.evaluation.nicv`.
    """

    cluster_centers_: FloatArray
    n_features_in_: int
    domain_: Domain
    #: All declared columns, also those that are not released: by place they count.
    _declared: Domain
    scale: str

    def predict(self, X: Any) -> IntArray:
        """Return the nearest centre of each row; -1 for a row with a missing value. Not for publication.

        Values beyond the declared bounds are clamped.
        """
        cells = self._cells()
        found = [cells.ids(columns) for columns in self._rows(X).batches(cells.domain)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def predict_file(self, X: Any, target: str | Path, *, column: str = "cluster") -> WrittenTable:
        """Write the cluster of each row to a file, as rows come: for tables larger than memory, and Spark frames.

        The labels of `predict`, in the order of the rows. They are facts about these rows: the file is for the holder
        of the rows, has no guarantee and is not shuffled. It is Parquet by its suffix (``.parquet``, ``.pq``), CSV
        otherwise.
        """
        if not isinstance(column, str):
            raise InvalidType("column", type(column), "a name", 'column="cluster"')
        source, cells = self._rows(X), self._cells()
        check_target(target, promised=False, source=source)
        with RowWriter(target) as out:
            out.write(pa.table({column: pa.array([], pa.int64())}))
            for columns in source.batches(cells.domain):
                out.write(pa.table({column: cells.ids(columns)}))
            return out.finish()

    def fit_predict(self, X: Any, y: Any = None) -> IntArray:
        """Fit, then `predict` the same rows. The labels are exact, and not covered by the guarantee."""
        return self.fit(X).predict(X)  # type: ignore[no-any-return]

    def transform(self, X: Any) -> FloatArray:
        """Return the distance of each row to each centre. Not for publication."""
        cells = self._cells()
        found = [cells.distances(columns) for columns in self._rows(X).batches(cells.domain)]
        return np.concatenate([np.empty((0, cells.n_cells)), *found])

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _cells(self) -> NearestMap:
        check_fitted(self)
        return NearestMap(self.domain_, self.cluster_centers_, distance_units(self.domain_, self.scale))

    def _rows(self, X: Any) -> engines.Source:
        check_fitted(self)
        return matched(self, engines.open(table(X), dialect=dialect_of(self._declared)))


def matched(model: Any, source: engines.Source) -> engines.Source:
    """Match a table with the columns of a fit: by name, or refuse another number of columns as scikit-learn does."""
    n, by_name = len(source.names), source.named and model._declared.named
    if n != model.n_features_in_ and not by_name:
        what = f"{type(model).__name__} is expecting {model.n_features_in_} features as input"
        raise SchemaError(f"X has {n} features, but {what}")
    return bind(source, model._declared, model.domain_)
