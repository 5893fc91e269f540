"""
What would have to change, and what changes with it
===================================================

A model finds a tumour malignant. What is the nearest one that it finds benign? Columns
of a table do not move alone: the perimeter of a nucleus follows its radius.
:class:`~skinterp.counterfactual.BraceExplainer` takes a graph of causes into account.
"""

# %%
# The model and the graph
# -----------------------
# Ten columns of the breast cancer data. The graph is what geometry says: the radius
# drives perimeter and area, and a nucleus with dents has concave points.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinterp.counterfactual import BraceExplainer

found = load_breast_cancer(as_frame=True)
X, y = found.data.iloc[:, :10], found.target_names[found.target]
graph = {
    "mean perimeter": ["mean radius"],
    "mean area": ["mean radius"],
    "mean concave points": ["mean concavity"],
}
model = make_pipeline(StandardScaler(), LogisticRegression())

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    explainer = BraceExplainer(model, graph=graph).fit(X, y)
print(caught[-1].message)

# %%
# The warning is worth reading: what the graph leaves unexplained of two columns still
# goes together. This graph is too simple, and the answers are no better than it is.
#
# One row
# -------
# The steps are the least ones, and the answer is proved to be so. What follows from a
# cause costs nothing in the noise.

row = X.iloc[[1]]
answer = explainer.explain(row, target="benign")
print(answer.to_text())

# %%
# Blue is what a column changes by itself, orange what follows from its causes.

answer.plot()
plt.show()

# %%
# From one meaning of near to another
# -----------------------------------
# The weight ``lam`` of the noise goes from 0, where causes play no part and one column
# is enough, to infinity, where only the noise counts.

path = explainer.explain(row, target="benign", lam=[0, 0.5, 1, 2, 5, np.inf])
path.plot()
plt.show()

# %%
# Many rows
# ---------
# All rows at once show on which columns the model can be moved at all.

malignant = X[explainer.predict(X) == "malignant"].iloc[::4]
answers = explainer.explain(malignant)
print(answers.summary()[["feature", "share_changed", "mean_step"]].round(2))
answers.plot()
plt.show()

# %%
# Every answer has been put to the model, which is more than most searches promise.

after = pd.DataFrame(answers.counterfactuals, columns=X.columns)
print(np.unique(explainer.predict(after)))
