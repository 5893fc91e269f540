"""
Wrong labels are rows of low value
==================================

Nine of sixty labels of the breast cancer data are flipped. The value of a row is what
it adds to the score of a model; wrong rows take something away, so that they gather
among the lowest values. :class:`~skinterp.valuation.TopDataValues` finds these without
valuing all rows.
"""

# %%
# The data
# --------
# The rows to score on are clean, and apart from those that are valued.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skinterp.valuation import KNNUtility, TopDataValues, knn_shapley

data = load_breast_cancer(as_frame=True)
columns = ["mean radius", "mean texture", "worst concave points", "worst area"]
rng = np.random.default_rng(0)
order = rng.permutation(len(data.target))
train, validation = order[:60], order[60:160]

X, X_val = data.data.iloc[train][columns], data.data.iloc[validation][columns]
wrong = rng.permutation(60)[:9]
y, y_val = data.target.to_numpy()[train].copy(), data.target.to_numpy()[validation]
y[wrong] = 1 - y[wrong]
labels = data.target_names[y]

# %%
# The search
# ----------
# The utility is the vote of five neighbours, which takes no time: any other model goes
# in as ``estimator``. Each draw costs two trainings. The search spends them at the
# border between the nine lowest rows and the rest.

scaler = StandardScaler().fit(X)
utility = KNNUtility(
    scaler.transform(X), labels, scaler.transform(X_val), data.target_names[y_val]
)
search = TopDataValues(
    utility=utility,
    m=9,
    lowest=True,
    beta=1.0,
    max_evaluations=480,
    random_state=0,
)
values = search.fit(X, labels).explain(marked=wrong)
print("\n".join(values.to_text().splitlines()[:4]))
print(values.to_text().splitlines()[-1])

# %%
# Rings mark the flipped rows. Most of them are among the nine rows found, in blue. The
# intervals say how sure that is: rows in the middle were hardly drawn.

values.plot()
plt.show()

# %%
# Where a value comes from
# ------------------------
# A row that was drawn seldom, or never, has a value as well, from rows that are like
# it. Neighbours of the other label count against it.

row = int(search.top_indices_[0])
search.explain(row=row).plot()
plt.show()

# %%
# Exact values
# ------------
# For nearest neighbours the values have a closed form, to compare with. Even they do
# not put all flipped rows last: some clean rows do more harm.

exact = knn_shapley(
    scaler.transform(X), labels, scaler.transform(X_val), data.target_names[y_val]
)
lowest = np.argsort(exact, kind="stable")[:9]
print("found by the search:", len(set(search.top_indices_) & set(wrong)), "of 9")
print("found by exact values:", len(set(lowest) & set(wrong)), "of 9")
print("correlation:", round(float(np.corrcoef(search.value_mean_, exact)[0, 1]), 2))
