"""The main job on a small synthetic table: release a synopsis, cluster it, compare, draw, write files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import datasets
from discreet.clustering import PrivateKMeans
from discreet.core import Guarantee, later, write_whole
from discreet.engines import write_table
from discreet.errors import DataSourceError
from discreet.evaluation import nicv
from discreet.reporting.pages import demo_page
from discreet.synopses import Synopsis

cluster = later("sklearn.cluster")

CLUSTERS = 15
ROWS = 10_000


@dataclass(frozen=True)
class DemoResult:
    """The result of the demonstration."""

    rows: int
    clusters: int
    synopsis: Synopsis
    nicv_private: float
    nicv_plain: float
    folder: Path
    files: Mapping[str, str]

    @property
    def guarantee(self) -> Guarantee:
        """Return the guarantee of the release."""
        return self.synopsis.guarantee

    @property
    def ratio(self) -> float:
        """Return the squared error of the private centres over that of plain k-means."""
        return self.nicv_private / self.nicv_plain

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        names = ("rows", "clusters", "nicv_private", "nicv_plain", "ratio")
        return {
            **{name: getattr(self, name) for name in names},
            "leaves": self.synopsis.n_leaves,
            "epsilon": self.guarantee.to_dict()["epsilon"],
            "seeded": self.guarantee.seeded,
            "files": [str(self.folder / name) for name in self.files],
        }


def run(folder: str | Path = "discreet-demo", *, epsilon: float = 1.0, seed: int | None = None) -> DemoResult:
    """Run the demonstration and write its files.

    Parameters
    ----------
    folder : path
        Where to write; made if missing.
    epsilon : float
        Privacy budget of the release.
    seed : int, optional
        Repeat a run. The guarantee is then marked as seeded.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run(folder, seed=1)
    >>> result.guarantee.epsilon, result.ratio < 1.2
    (1.0, True)
    """
    folder = Path(folder).expanduser()
    if folder.exists() and not folder.is_dir():
        raise DataSourceError(f"output: {str(folder)!r} is a file; name a folder")
    table = datasets.patients(n=ROWS)
    model = PrivateKMeans(CLUSTERS, epsilon=epsilon, domain=table.domain, random_state=seed).fit(table.to_arrow())

    # The comparison reads the raw rows, which are synthetic.
    plain = cluster.KMeans(CLUSTERS, n_init=10, random_state=0).fit(table.X).cluster_centers_
    private_cost, plain_cost = (nicv(table.X, centers) for centers in (model.cluster_centers_, plain))
    folder.mkdir(parents=True, exist_ok=True)
    synopsis, private = model.synopsis_, model.cluster_centers_
    synopsis.save(folder / "synopsis.parquet")
    write_table(folder / "centers.csv", pa.table({n: private[:, i] for i, n in enumerate(synopsis.domain.names)}))
    write_whole(folder / "guarantee.json", synopsis.guarantee.to_json(indent=2) + "\n")
    shown = demo_page(synopsis, private, plain, table, private_cost / plain_cost)
    write_whole(folder / "picture.html", shown)
    files = {
        "synopsis.parquet": "the noisy histogram, which may be published",
        "centers.csv": "the cluster centres found in it",
        "guarantee.json": "the guarantee, the ledger, the assumptions, the digest",
        "picture.html": "data, release and centres: open it in a browser",
    }
    return DemoResult(ROWS, CLUSTERS, synopsis, private_cost, plain_cost, folder, files)
