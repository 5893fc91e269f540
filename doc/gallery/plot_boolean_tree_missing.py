"""
Which predictions survive missing cells
=======================================

A tree needs a few cells of a row, and other rows need other cells. When cells get lost,
some predictions are certain all the same, and some are guesses.
:class:`~skinterp.trees.BooleanTreeClassifier` tells them apart.
"""

# %%
# A tree, and cells that get lost
# -------------------------------
# Biopsies of the breast, 30 measurements each, split into two halves.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier

data = load_breast_cancer(as_frame=True)
labels = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(
    data.data, labels, test_size=0.5, random_state=0
)
tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
model = BooleanTreeClassifier(tree).fit(X_train, y_train)

lost = np.random.default_rng(0).random(X_test.shape) < 0.3
partly = X_test.mask(lost)
determined = model.determined(partly)
print(f"{determined.mean():.0%} of the rows are determined without 30 % of the cells")

# %%
# On determined rows nothing is lost. On the others scikit-learn's tree, which sends a
# missing value to one side of each test, answers too, and does not say that it guesses.

same = model.predict(partly) == model.predict(X_test)
print(f"determined rows that keep their answer: {same[determined].mean():.0%}")
print(f"other rows that keep their answer:      {same[~determined].mean():.0%}")

# %%
# Why a row is determined
# -----------------------
# The reason given names known cells only. An undetermined row tells what it lacks.

print(model.explain(partly[:6]).to_text())

# %%
# The tree, and what it stands for
# --------------------------------
# The rules below it are all minimal conditions that suffice for a class. They don't
# depend on the order in which the tree asks.

model.plot()
plt.show()

# %%
# The more cells get lost
# -----------------------
# Three ways to be sure, at a growing share of lost cells: all columns that the tree
# uses are known; the path through the tree meets no missing cell; the class is
# determined.

shares = np.linspace(0, 0.9, 10)
X = X_test.to_numpy()
inner = model.estimator_
used = model.used_features_
curves = {"determined": [], "path known": [], "all used columns known": []}
for share in shares:
    gone = np.random.default_rng(1).random(X.shape) < share
    on_path = inner.decision_path(X.astype(np.float32))
    tested = np.zeros(X.shape, bool)
    for node in np.flatnonzero(inner.tree_.feature >= 0):
        rows = on_path[:, [node]].nonzero()[0]
        tested[rows, inner.tree_.feature[node]] = True
    frame = X_test.mask(gone)
    curves["determined"].append(model.determined(frame).mean())
    curves["path known"].append((~(gone & tested).any(axis=1)).mean())
    curves["all used columns known"].append((~gone[:, used].any(axis=1)).mean())

_, ax = plt.subplots(layout="constrained")
for name, values in curves.items():
    ax.plot(shares, values, marker="o", label=name)
ax.set(xlabel="share of cells lost", ylabel="share of rows that are certain")
ax.legend()
plt.show()

# %%
# Most rows need less than their path, and the more cells are lost, the more it pays to
# look beyond the path.
