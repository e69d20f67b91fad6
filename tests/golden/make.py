"""Writes the golden files: one artifact of every kind, as the library of the day wrote it.

They were written once. A later library must read them; run this again only into another folder, to add new kinds:

    python tests/golden/make.py FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import discreet as dc
from discreet.jobs import example
from discreet.jobs.kinds import KINDS

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden.answers import COLOURS, WORDS, files

#: A schema with every kind of column and every section.
EVERY_PART = """\
unit = {person = "patient", rows = 8}
rules = ["admission <= discharge"]

[source]
delimiter = ";"
decimal = ","
missing = ["?"]

[columns.patient]
role = "person"

[columns.age]
kind = "integer"
bounds = [0, 120]
role = "quasi-identifier"
levels = [5, 10]

[columns.group]
categories = ["child", "adult"]

[columns.admission]
bounds = [2020-01-01, 2024-12-31]

[columns.discharge]
bounds = [2020-01-01, 2024-12-31]

[columns.arrived]
kind = "time"

[columns.size]
kind = "ordered"
categories = ["S", "M", "L"]

[columns.postcode]
kind = "code"
pattern = '\\d{3}'

[columns.smokes]
kind = "boolean"

[columns.cost]
bounds = [0, 99.5]
role = "sensitive"
missing = "own"

[functions.group.age]
"0..17" = "child"
"18..120" = "adult"

[[impossible]]
group = "child"
smokes = true
"""
MEMO = dc.local.Memo(b"a secret of 32 bytes for testing")


def table() -> tuple[pa.Table, dc.Domain]:
    """Synthetic people, without their names and jobs."""
    people = dc.datasets.people(300)
    domain = people.domain.select(["age", "town", "hours", "illness"])
    return people.table.select(list(domain.names)), domain


def synopses(root: Path) -> None:
    rows, domain = table()
    numbers = domain.select(["age", "hours"])
    box = {"epsilon": 2, "domain": numbers, "random_state": 1}
    made = {
        "grid": dc.GridSynopsis(**box, rule=5),
        "grid-secure": dc.GridSynopsis(epsilon=1, domain=numbers, rule=4),
        "grid-mixed": dc.GridSynopsis(epsilon=2, domain=domain, rule=3, random_state=1),
        "grid-means": dc.GridSynopsis(**box, rule=4, leaf_means=True),
        "grid-lazy": dc.GridSynopsis(**box, rule=40, max_cells=100, expected_survivors=5),
        "grid-adaptive": dc.GridSynopsis(**box, rule="adaptive"),
        "grid-declared-rows": dc.GridSynopsis(**box, n_rows=300),
        "tree-binary": dc.TreeSynopsis(**box, max_depth=4),
        "tree-median": dc.TreeSynopsis(**box, partitioner="median", max_depth=3),
        "tree-quantile": dc.TreeSynopsis(**box, partitioner="quantile", max_depth=2),
        "tree-uniform": dc.TreeSynopsis(**box, partitioner="uniform", max_depth=2),
        "tree-means": dc.TreeSynopsis(**box, max_depth=3, leaf_means=True),
        "privtree": dc.TreeSynopsis(**box, partitioner="privtree", max_depth=5),
        "density": dc.TreeSynopsis(**box, partitioner="density", max_depth=4),
        "tree-rho": dc.TreeSynopsis(
            None, numbers, "median", rho=0.5, delta=1e-6, axis="spread", max_depth=3, random_state=1
        ),
        "no-noise": dc.GridSynopsis(epsilon=float("inf"), domain=numbers, rule=3),
    }
    for name, method in made.items():
        method.fit(rows.select(list(method.domain.names))).synopsis_.save(root / f"{name}.parquet")
    people = dc.Domain(numbers.to_dict(), unit=dc.Person("who", rows=2))
    visits = pa.concat_tables([rows.append_column("who", pa.array(np.arange(len(rows)) // 3))] * 2)
    dc.GridSynopsis(2, people, 4, random_state=1).fit(visits).synopsis_.save(root / "grid-persons.parquet")
    private = {"delta": 1e-6, "random_state": 1}
    dc.MarginalSynopsis(2, domain=domain, **private).fit(rows).synopsis_.save(root / "marginals.parquet")
    lifted = dc.PrivateKMeans(n_clusters=3, epsilon=2, domain=_many(), synopsis="lift", **private)
    lifted.fit(np.random.default_rng(1).random((400, 12))).synopsis_.save(root / "centers.parquet")
    grown = dc.TreeSynopsis(**box, max_depth=4).fit(rows.select(list(numbers.names))).synopsis_
    dc.synopses.refine.consistent(grown).save(root / "refined.parquet")


def _many() -> dc.Domain:
    return dc.Domain.box(low=[0] * 12, high=[1] * 12)


def clusters(root: Path) -> None:
    rows, domain = table()
    numbers = domain.select(["age", "hours"])
    data = rows.select(list(numbers.names))
    km = dc.PrivateKMeans(n_clusters=3, epsilon=2, domain=numbers, random_state=1).fit(data)
    km.synopsis_.save(root.parent / "synopses" / "private-kmeans.parquet")
    pa_csv.write_csv(
        pa.table(dict(zip(numbers.names, km.cluster_centers_.T, strict=True))), root / "private-kmeans.csv"
    )
    lloyd = dc.DPLloyd(n_clusters=3, epsilon=2, domain=numbers, random_state=1).fit(data)
    pa_csv.write_csv(pa.table(dict(zip(numbers.names, lloyd.cluster_centers_.T, strict=True))), root / "dp-lloyd.csv")
    (root.parent / "guarantees" / "dp-lloyd.json").write_text(lloyd.guarantee_.to_json(indent=2) + "\n")


def _own() -> Any:
    class Own(dc.local.OwnOracle):
        """The truth is likelier than any other value."""

        def probabilities(self, value: int) -> list[int]:
            likely, unlikely = self.odds()
            return [likely if value == y else unlikely for y in range(6)]

    return Own(epsilon=2, domain=6)


def local(root: Path) -> None:
    values = COLOURS * 12
    numbers = np.linspace(0, 1, 60)
    strings = WORDS * 20
    tiny = {"n_hashes": 8, "width": 16, "fragment_hashes": 8, "fragment_width": 16, "alphabet": "abc", "length": 4}
    kinds: dict[str, tuple[Any, Any]] = {
        "direct-response": (dc.local.DirectResponse(2, COLOURS), values),
        "unary-encoding": (dc.local.UnaryEncoding(2, COLOURS), values),
        "unary-symmetric": (dc.local.UnaryEncoding(2, COLOURS, "symmetric"), values),
        "subset-selection": (dc.local.SubsetSelection(1, COLOURS), values),
        "hadamard-response": (dc.local.HadamardResponse(2, COLOURS), values),
        "projective-geometry": (dc.local.ProjectiveGeometry(1, 7, order=2), [0, 1, 2, 3, 4, 5] * 10),
        "local-hashing": (dc.local.LocalHashing(1, key=3, candidates=COLOURS), values),
        "local-hashing-pool": (dc.local.LocalHashing(2, pool=16, key=3), values),
        "count-mean-sketch": (dc.local.CountMeanSketch(4, n_hashes=8, width=16, key=7), values),
        "hadamard-sketch": (dc.local.HadamardSketch(4, 8, 16, key=7), values),
        "fragment-puzzle": (dc.local.FragmentPuzzle(2, 6, key=3, **tiny), strings),
        "fragment-puzzle-users": (dc.local.FragmentPuzzle(2, 2, key=3, split="users", **tiny), strings),
        "prefix-extension": (dc.local.PrefixExtension(2, alphabet="abc", length=3, key=3, pool=16), strings),
        "mean-hybrid": (dc.local.MeanResponse(2, 0, 1), numbers),
        "mean-duchi": (dc.local.MeanResponse(2, 0, 1, method="duchi"), numbers),
        "mean-piecewise": (dc.local.MeanResponse(2, 0, 1, method="piecewise"), numbers),
        "mean-vector": (dc.local.MeanVector(2, [0, 0], [1, 2]), np.column_stack([numbers, numbers])),
        "square-wave": (dc.local.SquareWave(2, 0, 1, buckets=16), numbers),
        "bit-flip": (dc.local.BitFlip(2, COLOURS, bits=2), values),
        "bit-flip-memoised": (dc.local.BitFlip(2, COLOURS, bits=2, memoised=True), values),
        "own-oracle": (_own(), [0, 1, 2, 3, 4, 5] * 10),
        "rappor": (dc.local.Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=5), values),
    }
    for name, (mechanism, asked) in kinds.items():
        remembers = name in ("bit-flip-memoised", "rappor")
        extra: dict[str, Any] = {"users": range(60), "memo": MEMO} if remembers else {}
        reports = mechanism.encode(asked, rng=1, **extra)
        (root / f"{name}.reports").write_bytes(reports.to_bytes())
        mechanism.aggregate(reports).save(root / f"{name}.counts")
    secure = dc.local.DirectResponse(2, COLOURS)
    reports = secure.encode(values)
    (root / "secure.reports").write_bytes(reports.to_bytes())
    secure.aggregate(reports).save(root / "secure.counts")
    holders = dc.local.DistinctSketch(2, buckets=64, levels=8, key=7)
    one, two = holders.sketch(range(200), rng=1), holders.sketch(range(100, 400), rng=2)
    one.save(root / "distinct.bitmap")
    one.merge(two, rng=3).save(root / "distinct-merged.bitmap")
    of_persons = dc.local.DistinctSketch(2, buckets=64, levels=8, items=3, key=7)
    of_persons.sketch(range(200), [f"p{i // 5}" for i in range(200)], rng=1).save(root / "distinct-persons.bitmap")


def tables(root: Path) -> None:
    rows, domain = table()
    releases = {
        "density-tree": dc.anonymity.DensityTree(k=5, l_diversity=2, domain=domain).fit_transform(rows),
        "density-tree-closeness": dc.anonymity.DensityTree(k=5, t_closeness=0.4, domain=domain).fit_transform(rows),
        "density-tree-center": dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(rows, output="center"),
        "density-tree-sample": dc.anonymity.DensityTree(k=5, domain=domain).fit_transform(rows, output="sample"),
        "mondrian": dc.anonymity.Mondrian(k=5, domain=domain).fit_transform(rows),
        "mondrian-suppressed": dc.anonymity.Mondrian(k=5, suppress=0.1, domain=domain).fit_transform(rows),
        "microaggregation": dc.anonymity.Microaggregation(k=5, domain=domain).fit_transform(rows),
        "generalization": dc.anonymity.Generalization(k=5, domain=domain).fit_transform(rows),
    }
    for name, release in releases.items():
        release.save(root / f"{name}.csv")
    numbers = domain.select(["age", "hours"])
    data = root.parent / "people.csv"
    noisy = {
        "nd-laplace": dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=numbers),
        "nd-laplace-clip": dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=numbers, remap="clip", random_state=1),
        "nd-laplace-mixed": dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=domain, category_epsilon=1),
        "piecewise": dc.metric.Piecewise(epsilon=2, domain=numbers),
        "hybrid": dc.metric.Piecewise(epsilon=2, domain=numbers, method="hybrid"),
        "duchi": dc.metric.Piecewise(epsilon=2, domain=numbers, method="duchi"),
        "square-wave": dc.metric.Piecewise(epsilon=2, domain=numbers, method="square_wave"),
        "priv-unit": dc.metric.PrivUnit(epsilon=2, domain=numbers),
    }
    for name, mechanism in noisy.items():
        mechanism.fit().transform_file(data, root / f"{name}.csv")
    places = dc.Domain({"lat": (47, 55), "lon": (6, 15)})
    pa_csv.write_csv(
        pa.table({"lat": np.linspace(47, 55, 40), "lon": np.linspace(6, 15, 40)}), root.parent / "places.csv"
    )
    sphere = dc.metric.SphericalLaplace(epsilon=2, radius=1000, domain=places).fit()
    sphere.transform_file(root.parent / "places.csv", root / "sphere.csv")


def guarantees(root: Path) -> None:
    numbers = table()[1].select(["age", "hours"])
    ledger = dc.Ledger(rho=0.5, delta=1e-6)
    ledger.spend("cells", rho=0.25)
    nested = dc.Ledger(epsilon=1)
    with nested.parallel("halves") as halves:
        halves.spend("left", 0.5)
        halves.spend("right", 0.25)
    nested.spend("rest", 0.25)
    plan = dc.metric.Trajectory(dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=numbers), 0.1, 1, 20)
    walk = plan.report(np.linspace(0, 80, 12).reshape(6, 2), users=[1, 1, 2, 2, 3, 3])
    promises = {
        "zcdp": dc.Guarantee.from_ledger(ledger, model="central", parameters={"method": "made by hand"}),
        "nested": dc.Guarantee.from_ledger(nested, model="central", domain=numbers, parameters={}),
        "trajectory": walk.guarantee,
        "local": dc.local.Rappor(0.5, 0.5, 0.75, bits=16, cohorts=4, key=5).guarantee,
        "metric": dc.metric.NDLaplace(epsilon=2, radius=0.1, domain=numbers).fit().guarantee_,
    }
    for name, promise in promises.items():
        (root / f"{name}.json").write_text(promise.to_json(indent=2) + "\n", encoding="utf-8")


def ledgers(root: Path) -> None:
    users = dc.metric.UserLedger(lifetime=5, per_period=2)
    users.charge([1, 2, 2], 0.75, period="monday")
    users.charge([1], 1, period="tuesday")
    users.save(root / "user-numbers.json")
    reports = dc.local.ReportLedger(per_period=4, lifetime=20, kinds={"words": (3, 9)})
    reports.spend("words", 1.5, period="monday")
    reports.spend("words", 1, period="tuesday")
    (root / "report-kinds.json").write_text(reports.to_json() + "\n", encoding="utf-8")


def schemas(root: Path) -> None:
    people = dc.datasets.people(3).domain
    people.to_toml(root / "people.toml")
    table()[1].select(["age", "hours"]).to_toml(root / "numbers.toml")
    dc.Domain(
        {
            "visit": {"bounds": ["2020-01-01", "2024-12-31"]},
            "cost": {"bounds": [0, 99.5], "missing": "own", "role": "sensitive"},
            "town": {"categories": ["here", "there"], "missing": "own", "role": "quasi-identifier"},
            "patient": {"bounds": [0, 999], "role": "person"},
        }
    ).to_toml(root / "every-kind.toml")
    (root / "every-part.toml").write_text(EVERY_PART, encoding="utf-8")


JOBS = {
    "synopsis": ("people.csv", "numbers.toml", {"epsilon": 1, "method": "tree", "max_depth": 4}, "synopsis.parquet"),
    "cluster": ("people.csv", "numbers.toml", {"epsilon": 1, "n_clusters": 3}, None),
    "anonymize": ("named.csv", "people.toml", {"k": 5, "l": 2}, "safe.csv"),
    "perturb": ("people.csv", "numbers.toml", {"epsilon": 2, "radius": 0.1, "remap": "clip"}, "noisy.csv"),
}


def jobs(root: Path) -> None:
    for kind, (data, columns, parameters, release) in JOBS.items():
        outputs = {"release": release or "synopsis.parquet", "report": f"{kind}.html", "guarantee": f"{kind}.json"}
        if kind == "cluster":
            outputs["centers"] = "centers.csv"
        dc.Job(kind, data, columns, parameters, outputs).to_toml(root / f"{kind}.toml")
    inline = {"age": (0, 120), "hours": {"bounds": (0, 80)}}
    dc.Job("synopsis", "people.csv", inline, {"epsilon": 1}, {"release": "s.parquet"}).to_toml(root / "inline.toml")
    outputs = {"release": "reports.bin", "counts": "counts.bin", "estimates": "estimates.csv", "report": "sketch.html"}
    asked = {
        "epsilon": 2,
        "column": "town",
        "domain": ["Ash", "Birch", "Cedar", "Elm", "Oak", "Pine"],
        "mechanism": "direct-response",
    }
    dc.Job("sketch", "people.csv", None, asked, outputs).to_toml(root / "sketch.toml")
    for kind in KINDS:
        (root / "examples" / f"{kind}.toml").write_text(example(KINDS[kind]), encoding="utf-8")


def risks(root: Path) -> None:
    asked: dict[str, Any] = {
        "of": "tables/mondrian.csv",
        "quasi_identifiers": ["age", "town", "hours"],
        "sensitive": ["illness"],
    }
    rows = pa_csv.read_csv(root.parent / asked["of"])
    found = dc.anonymity.risk(rows, asked["quasi_identifiers"], asked["sensitive"])
    (root / "mondrian.json").write_text(json.dumps({**asked, "report": found.to_dict()}, indent=1) + "\n")


def tasks(root: Path) -> None:
    """A task with and one without a shuffler, the file of a device that answered, and what it sends."""
    from discreet.local.tasks.sealing import Shuffle

    times = {"opens": "2026-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
    given = {"per_day": 2, "wanted": 1000, "minimum": 10, **times}
    plain = dc.local.Task(dc.local.DirectResponse(2, COLOURS), name="favourite colour", **given)
    mixed = Shuffle(batch=1000, honest=500, collector=_public(1), shuffler=_public(2))
    sealed = dc.local.Task(
        dc.local.UnaryEncoding(2, ["cat", "dog", "hen"]), name="favourite animal", shuffle=mixed, **given
    )
    for name, task in (("plain", plain), ("shuffled", sealed)):
        (root / f"{name}.json").write_text(task.to_json(), encoding="utf-8")
    pins = {"plain": plain.digest, "shuffled": sealed.digest}
    with dc.local.Client(root / "device", "http://127.0.0.1:1", pins=pins, report=2, day=4, life=30,
                         clock=lambda: datetime(2026, 11, 18, 12)) as client:  # fmt: skip
        for question, task in (("plain", plain), ("shuffled", sealed)):
            client.use(task)
            client.report(question, "green" if task is plain else "dog")
        client.flush()
    (root / "device").rename(root / "device.json")
    (root / "device.lock").unlink()
    for _, frame, _, _ in json.loads((root / "device.json").read_text())["frames"]:
        body = bytes.fromhex(frame)
        (root / ("plain.frame" if len(body) < 40 else "shuffled.frame")).write_bytes(body)


def _public(number: int) -> str:
    from discreet.local.tasks import private_key

    return private_key(bytes([number] * 32)).public_key().public_bytes_raw().hex()


def accounts(root: Path) -> None:
    """An account in each currency, with lines of every kind."""
    rows, domain = table()
    numbers = domain.select(["age", "hours"])
    account = dc.Account.create(root / "epsilon.account", dataset="patients", epsilon=3, delta=1e-6)
    dc.GridSynopsis(1, numbers, 3, ledger=account).fit(rows.select(list(numbers.names)))
    account.spend("a count", 0.5)
    account.annotate(1, "Agreed with the board.")
    account.reserve("a release that never came", epsilon=0.25)
    with (root / "epsilon.account").open("ab") as file:
        file.write(b'{"torn')  # a power cut; the next line repairs it
    account = dc.Account(root / "epsilon.account")
    account.spend("after a power cut", 0.125)
    account.add_file(account.entries[0].digest, "grid.parquet", "sha256:" + "0" * 64)
    account.close()
    other = dc.Account.create(root / "rho.account", dataset="visits", rho=1, delta=1e-6, unit=dc.Person("who", rows=2))
    other.spend("a count", rho=0.25, unit=dc.Person("who", rows=2))


def histories(root: Path) -> None:
    """A history of two releases about the same people."""
    from discreet.anonymity import Mondrian, ReleaseHistory

    people, home = dc.datasets.people(120), Path("/tmp/office")  # entries name the paths of their tables
    home.mkdir()
    history = ReleaseHistory(home / "people.history")
    for i, rows in enumerate((people.table.slice(0, 60), people.table)):
        Mondrian(k=5, domain=people.domain).fit_transform(rows, history=history).save(home / f"table{i}.csv")
    for place in sorted(history.folder.glob("0*")):
        shutil.copy(place, root)
    shutil.rmtree(home)


def evidence(root: Path) -> None:
    """A signed synopsis with its page, its record for programs, the keys, and an attack on it."""
    from discreet.core import SigningKey

    key = SigningKey.create(root / "office.key", "Data office", "golden")
    rows, domain = table()
    schema = root / "schema.toml"
    domain.select(["age", "hours"]).to_toml(schema)
    pa_csv.write_csv(rows, root / "rows.csv")
    asked = {"epsilon": 1, "rule": 3, "method": "grid", "sign": "office.key"}
    os.environ["DISCREET_KEY_PASSPHRASE"] = "golden"
    dc.Job(
        "synopsis", "rows.csv", "schema.toml", asked, {"release": "s.parquet", "report": "s.html"}, folder=root
    ).run()
    dc.Job("report", "s.parquet", None, {"format": "json"}, {"report": "record.json"}, folder=root).run()
    told = {"file": "s.parquet", "key": key.public.fingerprint}
    (root / "about.json").write_text(json.dumps(told) + "\n")
    schema.unlink()
    (root / "rows.csv").unlink()


def results(root: Path) -> None:
    """The result of an attack, which a page shows."""
    for place in (root.parent / "tables").glob("mondrian.csv*"):
        shutil.copy(place, root)
    shutil.copy(root.parent / "people.csv", root)
    asked = {"against": "people.csv", "control": "people.csv", "method": "inference", "attacks": 20, "seed": 1}
    dc.Job("attack", "mondrian.csv", None, asked, {"results": "attack.json"}, folder=root).run()
    for place in root.glob("*.csv*"):
        place.unlink()


def stores(root: Path) -> None:
    """Stores of collectors of every kind and of a shuffler, with reports in them."""
    from discreet.collector import open_store
    from discreet.collector.stores.base import Post
    from discreet.local.tasks import split_frame
    from support.postgres import server

    task = dc.local.Task.from_json((root.parent / "tasks" / "plain.json").read_text())
    m = task.mechanism
    frames = [dc.local.write_frame(m, m.encode(COLOURS, rng=i).rows, key=bytes([i] * 16)) for i in range(4)]
    posts = [Post(task.digest, 0, *split_frame(m.layout.size, frame)) for frame in frames]
    for name, segments in (("collected", None), ("segmented", root / "segments")):
        store = open_store(root / name, segments=segments)
        store.create(task)
        store.commit(posts[:3])
        if segments is not None:
            store.tidy(_at_once(store), all_of_it=True)
        store.commit(posts[3:])
        store.shut()
    with server(fsync=True) as address:
        store = open_store(address)
        store.create(task)
        store.commit(posts[:3])
        store.tidy(_at_once(store), all_of_it=True)
        store.commit(posts[3:])
        store.shut()
        (root / "postgresql.sql").write_text(_statements(address), encoding="utf-8")
    _shuffled(root / "shuffled")


def _at_once(store: Any) -> Any:
    """Return what runs the statements of maintenance in a transaction of their own."""
    return lambda work: store.commit([], work)


def _statements(address: str) -> str:
    """Return the tables of a store in PostgreSQL as statements that create and fill them."""
    import psycopg

    from discreet.collector.stores.postgres import _SCHEMA

    lines = [_SCHEMA.strip(), "delete from fact;"]
    with psycopg.connect(address, options="-c search_path=discreet") as base:
        for name in ("task", "seen", "log", "state", "refused", "fact"):
            for row in base.execute(f"select * from {name}"):
                values = [f"'\\x{v.hex()}'::bytea" if isinstance(v, bytes) else psycopg.sql.quote(v) for v in row]
                given = " overriding system value" if name in ("task", "log") else ""
                lines.append(f"insert into {name}{given} values ({', '.join(values)});")
    return "\n".join(lines) + "\n"


def _shuffled(root: Path) -> None:
    """The store of a shuffler: one batch that the collector does not have, and one frame that waits."""
    from discreet.collector.stores.base import Post
    from discreet.collector.stores.batches import BatchStore
    from discreet.local.tasks import sealed_size

    times = {"opens": "2026-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
    given = {"per_day": 2, "wanted": 1000, "minimum": 10, **times}
    mixed = dc.local.Shuffle(batch=3, honest=2, collector=_public(1), shuffler=_public(2))
    task = dc.local.Task(dc.local.DirectResponse(2, COLOURS), name="mixed colours", shuffle=mixed, **given)
    size = sealed_size(task.mechanism.layout.size)
    posts = [Post(task.digest, 0, bytes([i] * 16), 1, bytes([i] * size), for_ever=True) for i in range(4)]
    store = BatchStore(root)
    store.create(task)
    store.commit(posts[:3])
    store.tidy(_at_once(store))
    store.commit(posts[3:])
    store.shut()


def main(root: Path) -> None:
    os.environ["LOGNAME"] = "steward"  # an account notes who did it and where
    socket.gethostname = lambda: "office"
    pa_csv.write_csv(table()[0], prepared(root) / "people.csv")
    pa_csv.write_csv(dc.datasets.people(300).table, root / "named.csv")
    parts = (synopses, clusters, local, tables, guarantees, ledgers, schemas, jobs, risks, tasks, accounts, histories,
             evidence, results, stores)  # fmt: skip
    for write in parts:
        write(root / FOLDERS.get(write.__name__, write.__name__))
    found = {name: ask(root / name) for name, ask in files(root)}
    (root / "answers.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


FOLDERS = {"risks": "risk"}


def prepared(root: Path) -> Path:
    """Make the folders."""
    for name in ("synopses", "clusters", "local", "tables", "guarantees", "ledgers", "schemas", "jobs/examples", "risk",
                 "tasks", "accounts", "histories", "evidence", "results", "stores"):  # fmt: skip
        (root / name).mkdir(parents=True, exist_ok=True)
    return root


if __name__ == "__main__":
    main(Path(sys.argv[1]))
