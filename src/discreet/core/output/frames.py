"""Results that are tables: as frames of other libraries, and in a notebook."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from discreet.core.output import html


class Frames:
    """Conversions that follow from `to_arrow`."""

    def to_arrow(self) -> pa.Table:
        """Return the result as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a pandas data frame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return `to_arrow` as a Polars data frame; Polars must be installed."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def _shown(self) -> pa.Table:
        """Return what a notebook shows."""
        return self.to_arrow()

    def _repr_html_(self) -> str:
        held = self._shown()
        return html.table(repr(self).strip("<>"), held.column_names, [list(row.values()) for row in held.to_pylist()])
