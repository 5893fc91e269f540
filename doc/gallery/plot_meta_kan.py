"""
A network to look at: curves on the edges
=========================================

In a Kolmogorov-Arnold network each edge is a curve, and a node adds what reaches it.
:class:`~skinterp.kan.MetaKANClassifier` makes the curves from one number per edge, so
that there are few parameters to train, and the network can still be drawn.
"""

# %%
# Tumours, thirty measurements
# ----------------------------
# Four hidden nodes, and penalties under which edges vanish that are not needed.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from skinterp.kan import MetaKANClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = MetaKANClassifier((4,), l1=0.01, entropy=0.01, random_state=0)
model.fit(X_train, y_train)
print("accuracy on new rows:", round(model.score(X_test, y_test), 3))
print(model.n_parameters_, "parameters; without codes", model.n_parameters_kan_)

# %%
# The network
# -----------
# Columns stand at the bottom, the log-odds of the second class, "malignant", at the
# top. Each box is the curve of its edge over the range of the training rows; the darker
# it is, the more of the output's spread passes through it.

network = model.explain()
network.top(14).plot()
plt.show()

# %%
# The same as a table, and the most important columns.

print(network.top(5).to_frame().round(3).to_string(index=False))
print("\n".join(network.to_text().splitlines()[:6]))

# %%
# One tumour
# ----------
# Its dots show where it lies on each curve.

one = model.explain(X_test[:1], kind="edge-curves")
one.top(14).plot()
plt.show()

# %%
# What each column adds to the log-odds, measured from training rows. A node is a sum of
# edges, so what comes out of one can be passed back to where it started, layer by
# layer, until it has reached the columns: the parts add up to what the model says.

model.explain(X_test[:1]).top(10).plot()
plt.show()

# %%
# From curves to a formula
# ------------------------
# A network as small as the law behind the data can be written down: the curves are
# fitted by simple functions, and then their numbers once more together. The energy of a
# spring is a product, which the network has found to be the exponential of a sum of
# logarithms; the numbers are those of half of the stiffness times the square.

from skinterp.datasets import make_feynman
from skinterp.kan import KANRegressor

law = make_feynman(
    "I.14.4", 800, irrelevant_per_variable=0, random_state=0, as_frame=True
)
small = KANRegressor((1,), random_state=0).fit(law.data, law.target)
print("truth:", law.formula)
small.explain().plot()
plt.show()

# %%

formula = small.explain(kind="expression")
print(formula.to_text())
print("R2 of the formula to the network:", round(formula.meta["r2 to the network"], 6))

# %%
# Not every network has such a formula. Then the answer says which edges have none.

wider = KANRegressor((4,), max_epochs=20, random_state=0).fit(law.data, law.target)
try:
    wider.explain(kind="expression", min_r2=0.9999)
except ValueError as error:
    print(error)
