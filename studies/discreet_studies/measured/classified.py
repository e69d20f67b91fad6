"""How well a forest classifies: macro F1, recall and precision, and the area under the ROC curve from probabilities.

The published "ROC" was taken from hard labels, where it is nothing but the macro recall. Here both are measured.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from discreet.core import FloatArray, IntArray


def scores(truth: IntArray, chances: FloatArray) -> dict[str, float]:
    """Return accuracy, macro F1, macro recall, macro precision and area under the curve of one test part.

    A class that is never said has precision 0, as where all records share one cell: then it is accuracy / classes.

    Parameters
    ----------
    truth : ndarray
        The true classes, as numbers.
    chances : ndarray
        What the classifier gives every class, a row per record. The class with most is its answer, the first of equal
        ones.

    Examples
    --------
    >>> found = scores(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]]))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 0.75, 'f1': 0.733, 'recall': 0.75, 'precision': 0.833, 'auc': 1.0}
    """
    guess = chances.argmax(axis=1)
    met = np.bincount(truth * chances.shape[1] + guess, minlength=chances.shape[1] ** 2)
    table = met.reshape(chances.shape[1], -1)
    right, are, said = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    # A class that is neither there nor said has no part in a mean over classes.
    seen = are + said > 0
    recall = right[seen] / np.maximum(are[seen], 1)
    return {
        "accuracy": float(right.sum() / len(truth)),
        "f1": float((2 * right[seen] / (are + said)[seen]).mean()),
        "recall": float(recall.mean()),
        "precision": float((right[seen] / np.maximum(said[seen], 1)).mean()),
        "auc": area(truth, chances),
    }


def area(truth: IntArray, chances: FloatArray) -> float:
    """Return the area under the ROC curve, each class against the others, mean over the classes that are there.

    It is the chance that a record of the class is given more of it than one of the others; a draw counts half.

    Examples
    --------
    >>> area(np.array([0, 1, 1]), np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]))
    0.75
    """
    found = []
    for c in range(chances.shape[1]):
        own = truth == c
        n, others = int(own.sum()), int((~own).sum())
        if n and others:
            ranks = rankdata(chances[:, c])[own].sum()
            found.append((ranks - n * (n + 1) / 2) / (n * others))
    return float(np.mean(found)) if found else float("nan")
