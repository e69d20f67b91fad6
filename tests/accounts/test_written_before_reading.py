"""A release that an account has paid for is on the disk before anything else that could fail."""

from pathlib import Path

import numpy as np
import pytest

from discreet.accounts import Account
from discreet.jobs import Job
from discreet.synopses import Synopsis

pytestmark = pytest.mark.usefixtures("few_steps")


class Ended(BaseException):
    """An interruption in the middle of a program."""


@pytest.mark.parametrize(
    ("kind", "parameters", "outputs", "later"),
    [
        ("synthesize", {"epsilon": 1.0}, {"table": "rows.csv", "release": "s.parquet"}, "sample"),
        ("synopsis", {"epsilon": 1.0, "n_clusters": 2}, {"release": "s.parquet", "centers": "c.csv"}, "clusters"),
    ],
)
def test_a_program_that_ends_after_it_paid_leaves_the_release(
    kind: str, parameters: dict, outputs: dict, later: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(1).random((300, 2)), delimiter=",", header="x,y", comments="")
    book = Account.create(tmp_path / "t.account", dataset="t", epsilon=1)

    def ended(*_: object, **__: object) -> None:
        raise Ended

    columns = {"x": (0, 1), "y": (0, 1)}
    job = Job(kind, "t.csv", columns, {**parameters, "account": "t.account"}, outputs, folder=tmp_path)
    with monkeypatch.context() as broken:
        if later == "sample":
            broken.setattr(Synopsis, "sample", ended)
        else:
            broken.setattr("discreet.jobs.work.synopsis.cluster_synopsis", ended)
        with pytest.raises(Ended):
            job.run()
    made = (tmp_path / "s.parquet").read_bytes()
    result = job.run()
    assert result.figures["account"]["repeated"]
    assert (tmp_path / "s.parquet").read_bytes() == made
    assert [entry.state for entry in book.entries] == ["booked"]
    # Without an account nothing was paid for, and a mistake in the last step leaves nothing of the first.
    free = Job(kind, "t.csv", columns, parameters, {n: f"free-{f}" for n, f in outputs.items()}, folder=tmp_path)
    with monkeypatch.context() as broken:
        if later == "sample":
            broken.setattr(Synopsis, "sample", ended)
        else:
            broken.setattr("discreet.jobs.work.synopsis.cluster_synopsis", ended)
        with pytest.raises(Ended):
            free.run()
    assert not list(tmp_path.glob("free-*"))
