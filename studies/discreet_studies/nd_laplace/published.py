"""Figures of the nD-Laplace thesis (draft of 2023) and of its public repository.

The thesis itself prints no table of results. Behind its figures 5.3 to 5.6 lie tables in the repository
tjvanderende/privacy-preserved-clustering-with-nD-Laplace (the last of September 2023); so do the runs over columns.
"""

from __future__ import annotations

#: ε of the thesis, and of the runs over columns here (the published list has ten).
BUDGETS = (0.05, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0)
COLUMN_BUDGETS = (0.5, 1.0, 2.0, 3.0, 5.0, 9.0)
HEART_BUDGETS = (0.5, 1.0, 3.0)

#: Fifty points in the plane, by ε: agreement with the run on raw records (figure 5.3: ARI and AMI), how clusters of the
#: noisy points look (figure 5.4: silhouette and Calinski-Harabasz index) for k-means, affinity propagation and DBSCAN
#: (radius 0.5), and mean distance (figure 5.6). One draw of noise each.
POINT_WAYS = ("k-means", "affinity", "dbscan")
POINT_MEASURES = tuple(f"{kind} {way}" for kind in ("ari", "ami", "ch", "silhouette") for way in POINT_WAYS)
_AGREEMENT = {
    0.05: ((0.015, 0.006, -0.002), (0.025, 0.025, 0.008)),
    0.1: ((-0.015, 0.061, -0.019), (-0.047, 0.072, -0.037)),
    0.5: ((0.013, 0.026, 0.030), (0.011, 0.064, 0.006)),
    1.0: ((0.054, 0.089, 0.015), (0.088, 0.136, 0.002)),
    2.0: ((0.141, 0.095, 0.024), (0.206, 0.108, 0.085)),
    3.0: ((0.432, 0.331, 0.075), (0.482, 0.426, 0.141)),
    5.0: ((0.604, 0.489, 0.306), (0.611, 0.535, 0.360)),
    7.0: ((0.893, 0.806, 0.827), (0.891, 0.833, 0.834)),
    9.0: ((0.780, 0.738, 0.571), (0.799, 0.748, 0.671)),
}
_LOOKS = {
    0.05: ((32.5, 42.5, 4.3), (0.361, 0.377, 0.276)),
    0.1: ((36.0, 45.9, 8.4), (0.374, 0.359, 0.365)),
    0.5: ((31.9, 51.8, 3.6), (0.402, 0.526, 0.229)),
    1.0: ((33.4, 57.7, 5.6), (0.318, 0.436, 0.163)),
    2.0: ((35.2, 43.9, 3.4), (0.372, 0.372, 0.073)),
    3.0: ((40.8, 50.3, 1.1), (0.396, 0.432, -0.018)),
    5.0: ((53.7, 51.2, 9.5), (0.457, 0.433, 0.277)),
    7.0: ((82.0, 81.0, 84.1), (0.526, 0.507, 0.529)),
    9.0: ((105.7, 104.8, 33.5), (0.564, 0.556, 0.515)),
}
_DISTANCES = dict(zip(BUDGETS, (36.10, 16.48, 3.50, 2.10, 0.968, 0.664, 0.432, 0.266, 0.217), strict=True))
POINTS = {
    epsilon: {
        **dict(zip(POINT_MEASURES, (*sum(_AGREEMENT[epsilon], ()), *sum(_LOOKS[epsilon], ())), strict=True)),
        "distance": _DISTANCES[epsilon],
    }
    for epsilon in BUDGETS
}

#: Read off figure 7 (clusters at the elbow) and figure 8 (radius of DBSCAN; the repository ran 0.5).
ELBOW, RADIUS = 4.0, 0.9

#: Advantage of the attack by three shadow forests on 2,000 points (figure 5.5): means of 20 runs.
FOREST = {0.05: 0.036, 1.0: 0.047, 5.0: 0.052, 9.0: 0.091}
#: The largest deviation of one run that was printed.
FOREST_DEVIATION = 0.07

#: Seeds, nd-Laplace, AMI of k-means by ε for 2 to 7 columns (K = 2, but 5 in three columns); one draw each.
SEEDS = {
    0.5: (0.158, 0.127, -0.001, 0.458, 0.369, 0.738),
    1.0: (0.369, 0.291, 0.487, 0.503, 0.542, 0.836),
    2.0: (0.653, 0.434, 0.651, 0.699, 0.564, 0.918),
    3.0: (0.725, 0.522, 0.738, 0.784, 0.665, 0.856),
    5.0: (0.857, 0.583, 0.779, 0.903, 0.906, 0.971),
    9.0: (0.815, 0.548, 0.835, 0.835, 0.924, 1.000),
}
#: The same in seven columns: hierarchical clustering (K = 4) and OPTICS (12 neighbours).
SEEDS_HIERARCHICAL = {0.5: 0.860, 1.0: 0.951, 2.0: 0.924, 3.0: 0.951, 5.0: 0.757, 9.0: 0.912}
SEEDS_OPTICS = {0.5: 0.277, 1.0: 0.293, 2.0: 0.243, 3.0: 0.236, 5.0: 0.272, 9.0: 0.516}
#: Mean distance on Seeds by ε for 2 to 7 columns; n/ε is right.
SEEDS_DISTANCE = {
    0.5: (3.984, 6.052, 8.505, 10.326, 11.977, 13.730),
    1.0: (2.109, 2.899, 3.890, 5.221, 5.742, 6.787),
    3.0: (0.653, 1.042, 1.192, 1.774, 1.961, 2.296),
}
#: The published noise on Seeds, seven columns, ε = 1: mean of the first column, deviations of all.
SEEDS_NOISE = (6.27, (2.47, 2.58, 0.77, 0.25, 0.08, 0.02, 0.004))
#: Deviations in three columns at ε = 1 that the published code gives; 2 each is right.
THREE_COLUMNS = (2.00, 1.41, 2.45)

#: Cardiotocography ("heart"), AMI of k-means by ε for 2 to 9 columns (K = 2, but 4 in three columns); one draw each.
HEART = {
    0.5: (0.749, 0.491, 0.697, 0.641, 0.796, 0.899, 0.884, 0.901),
    1.0: (0.870, 0.658, 0.830, 0.749, 0.883, 0.933, 0.928, 0.927),
    3.0: (0.955, 0.871, 0.927, 0.861, 0.876, 0.985, 0.961, 0.985),
}

#: Shapes of 1,000 points in two columns, AMI of k-means (K = 7, 2 and 5) by ε; one draw each.
SHAPES = {
    "circle": {0.5: 0.007, 1.0: 0.014, 2.0: 0.063, 3.0: 0.116, 5.0: 0.209, 9.0: 0.382},
    "line": {0.5: -0.001, 1.0: 0.009, 2.0: 0.090, 3.0: 0.191, 5.0: 0.372, 9.0: 0.536},
    "skewed": {0.5: 0.033, 1.0: 0.097, 2.0: 0.253, 3.0: 0.377, 5.0: 0.554, 9.0: 0.731},
}
#: The same at ε = 9 by hierarchical clustering (K = 7, 2 and 6) and by OPTICS (4 neighbours).
SHAPES_HIERARCHICAL = {"circle": 0.343, "line": 0.387, "skewed": 0.664}
SHAPES_OPTICS = {"circle": 0.014, "line": 0.024, "skewed": 0.053}

#: Seeds in seven columns, k-means, AMI by ε of the piecewise mechanism with all of ε on every column; one draw each.
PIECEWISE_SEEDS = {0.5: 0.010, 1.0: 0.086, 2.0: 0.353, 3.0: 0.577, 5.0: 0.851, 9.0: 1.000}
