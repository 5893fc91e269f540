"""
Different trees that say the same, and what to measure first
============================================================

Bootstrap samples give many trees. How many opinions do they hold? And if measurements
cost money, in which order should they be taken?
"""

# %%
# Many trees, few functions
# -------------------------
# Diabetes patients, and whether their disease progresses faster than that of half of
# them. Each column says whether a measurement lies above its median.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skinterp.trees import BooleanTreeClassifier, deduplicate_trees

data = load_diabetes(as_frame=True, scaled=False)
fast = (data.target > data.target.median()).to_numpy().astype(float)
high = (data.data > data.data.median()).astype(float)
forest = RandomForestClassifier(
    500, max_features=None, max_leaf_nodes=4, random_state=0
).fit(high, fast)
trees = forest.estimators_
labels, counts = deduplicate_trees(trees)
print(f"{len(trees)} trees compute {len(counts)} functions")

# %%
# Trees of one group can ask in different orders:

second = int(np.argsort(-counts)[1])
group = [tree for tree, label in zip(trees, labels, strict=True) if label == second]
roots = np.array([high.columns[tree.tree_.feature[0]] for tree in group])
for name, count in zip(*np.unique(roots, return_counts=True), strict=True):
    print(f"{count} trees of the group begin with {name}")

# %%
# Importances take the order for the matter: the first column asked gets the larger
# share, although all these trees compute the same.

importances = np.array([tree.feature_importances_ for tree in group])
shown = np.flatnonzero(np.median(importances, axis=0) > 0.1)
fig, axes = plt.subplots(
    1, len(shown), sharey=True, figsize=(2.5 * len(shown), 3.5), layout="constrained"
)
for ax, j in zip(axes, shown, strict=True):
    ax.boxplot(
        [importances[roots == root, j] for root in np.unique(roots)],
        tick_labels=[f"{root} first" for root in np.unique(roots)],
    )
    ax.set_title(high.columns[j])
axes[0].set_ylabel("importance")
plt.show()

# %%
# The rules belong to the function alone:

frozen = [BooleanTreeClassifier(FrozenEstimator(tree)) for tree in group]
models = [model.fit(high, fast) for model in frozen]
print(len({model.canonical_key_ for model in models}), "set of rules")
print(models[0].explain().to_text())

# %%
# What to measure first
# ---------------------
# Now with the numbers themselves, and a tree of depth 4. Age, sex, body mass index and
# blood pressure are taken in the first visit, the others in a laboratory.

X = data.data
costs = np.where(X.columns.str.startswith("s") & (X.columns != "sex"), 10, 1)
base = DecisionTreeClassifier(max_depth=4, min_samples_leaf=10, random_state=0)
model = BooleanTreeClassifier(base, feature_costs=costs).fit(X, fast)
print(f"mean cost in the order of the tree: {model.expected_cost(order='tree'):.1f}")
print(f"mean cost of the optimal policy:    {model.expected_cost():.1f}")

# %%
# The policy, followed for all patients at once:

known = X * np.nan
spent = np.zeros(len(X))
steps = [(spent.mean(), model.determined(known).mean())]
while not model.determined(known).all():
    choice = model.next_feature(known)
    for j in np.unique(choice[choice >= 0]):
        known.loc[choice == j, X.columns[j]] = X.loc[choice == j, X.columns[j]]
        spent[choice == j] += costs[j]
    steps.append((spent.mean(), model.determined(known).mean()))

_, ax = plt.subplots(layout="constrained")
ax.step(*zip(*steps, strict=True), where="post", marker="o", label="optimal policy")
ax.axvline(
    model.expected_cost(order="tree"), color="gray", ls=":", label="order of the tree"
)
ax.set(xlabel="mean cost so far", ylabel="share of patients that are determined")
ax.legend()
plt.show()

# %%
# Each step of the curve is one round of measurements; a patient leaves as soon as the
# class is determined, and all have left before the order of the tree is through.
