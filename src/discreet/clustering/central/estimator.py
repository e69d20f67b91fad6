"""Base of the private clusterers: from centres to labels and distances of the user's own rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines
from discreet.clustering.leaves.columns import distance_units
from discreet.core import Domain, Estimator, FloatArray, IntArray, check_fitted
from discreet.engines import RowWriter, WrittenTable, check_target
from discreet.engines.passes import NearestMap
from discreet.errors import InvalidType, SchemaError
from discreet.synopses import bind, table


class Centers(Estimator, mixins=("ClassNamePrefixFeaturesOutMixin", "TransformerMixin", "ClusterMixin")):
    """Predict and transform with fitted centres.

    What these return is exact, a fact about every row: it is for the holder of the rows, not for publication. For the
    same reason nothing of it is kept: there is no ``labels_`` and no ``inertia_``. Nor is there a ``score``: a search
    over settings that scores raw rows chooses by them, which no guarantee would state. `discreet.evaluation.nicv`
    measures for the holder of the rows.
    """

    cluster_centers_: FloatArray
    n_features_in_: int
    domain_: Domain
    #: All declared columns, also those that are not released: by place they count.
    _declared: Domain
    scale: str

    def predict(self, X: Any) -> IntArray:
        """Return the nearest centre of each row; -1 for a row with a missing value. Not for publication.

        Parameters
        ----------
        X : array, data frame, table or path
            Rows with the columns of the fit; values beyond the declared bounds are clamped.
        """
        cells = self._cells()
        found = [cells.ids(columns) for columns in self._rows(X).batches(cells.domain)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def predict_file(self, X: Any, target: str | Path, *, column: str = "cluster") -> WrittenTable:
        """Write the nearest centre of each row to a file as rows come: tables larger than memory, and Spark frames.

        The numbers of `predict`, in the order of the rows, which are not written themselves. Labels that stand where
        their rows stand are facts about these rows: the file is for the holder of the rows, not for publication, and so
        it has no guarantee and is not shuffled.

        Parameters
        ----------
        X : array, data frame, table or path
            Rows, as in `predict`.
        target : str or Path
            The file: Parquet by its suffix (``.parquet``, ``.pq``), CSV otherwise.
        column : str, default "cluster"
            Name of its column.

        Returns
        -------
        WrittenTable
            Where the labels are and how many. It has no guarantee.
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
        source = engines.open(table(X))
        names = getattr(self, "feature_names_in_", None)
        if len(source.names) != self.n_features_in_ and not (names is not None and set(names) <= set(source.names)):
            raise SchemaError(
                f"X has {len(source.names)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return bind(source, self._declared, self.domain_)
