"""
A model that drops the rows which harm it
=========================================

:class:`~skinterp.valuation.SelectedDataClassifier` values its training rows, drops
those of lowest value, and fits a model on the rest. It is a scikit-learn classifier, so
that a search finds out how many rows to drop.
"""

# %%
# Wine with wrong labels
# ----------------------
# A fifth of the training labels is replaced by another one. The rows to test on are
# clean.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinterp
from skinterp.valuation import SelectedDataClassifier, TopDataValues

X, y = load_wine(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
rng = np.random.default_rng(0)
wrong = rng.permutation(len(y))[: len(y) // 5]
labels = y.to_numpy().copy()
labels[wrong] = (labels[wrong] + rng.integers(1, 3, size=len(wrong))) % 3

# %%
# With and without selection
# --------------------------
# One nearest neighbour believes every label. Rows are valued by the vote of neighbours,
# in closed form, on a part of the training rows that is set aside.

plain = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(X, labels)
print(f"all rows: {plain.score(X_test, y_test):.2f}")

selector = TopDataValues(utility="knn", lowest=True, random_state=0)
model = make_pipeline(
    StandardScaler(), SelectedDataClassifier(KNeighborsClassifier(1), selector)
)
grid = {"selecteddataclassifier__selector__m": [5, 10, 15, 20]}
search = GridSearchCV(model, grid, cv=5).fit(X, labels)
print(f"dropping {search.best_params_}: {search.score(X_test, y_test):.2f}")

# %%
# Which rows were dropped
# -----------------------
# The explanation speaks of the rows of the training set, by their positions. Crosses
# are rows that were set aside to score on; they are no candidates, and stay.

values = skinterp.explain(search, marked=wrong)
print("\n".join(values.to_text().splitlines()[:4]))
values.plot()
plt.show()

# %%
# The score is taken on rows with wrong labels as well, which blurs it. Where some clean
# rows are known, give them to the search as ``X_val`` and ``y_val``.
