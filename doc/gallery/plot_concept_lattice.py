"""
What goes together with what in a table
=======================================

:class:`~skinterp.lattice.ConceptLattice` lists every set of attributes that belongs
together in a table, orders these concepts, and finds the implications from which all
others follow. There is no target, and nothing to tune.
"""

# %%
# A small table
# -------------
# Eight living beings and what they need or can do, the example of Ganter and Wille's
# book.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

from skinterp.lattice import ConceptLattice

needs = {
    "leech": "water, lives in water, can move",
    "bream": "water, lives in water, can move, has limbs",
    "frog": "water, lives in water, lives on land, can move, has limbs",
    "dog": "water, lives on land, can move, has limbs, suckles its young",
    "spike-weed": "water, lives in water, needs chlorophyll, one seed leaf",
    "reed": "water, lives in water, lives on land, needs chlorophyll, one seed leaf",
    "bean": "water, lives on land, needs chlorophyll, two seed leaves",
    "maize": "water, lives on land, needs chlorophyll, one seed leaf",
}
table = pd.Series(needs).str.get_dummies(", ").rename(columns={"water": "needs water"})
lattice = ConceptLattice(implications=True).fit(table)
told = lattice.explain()
print(told.to_text())

# %%
# In the diagram an attribute (bold) stands at the largest concept that has it, a being
# at the smallest one. A being has what is met on the ways up from it: the frog lives in
# water and on land, has limbs, can move and needs water. Where two ways down meet are
# the beings of both.

told.plot()
plt.show()

# %%
# The implications answer questions about attributes: whatever suckles its young has
# limbs, can move, and lives on land, as far as this table goes.

print(lattice.closure(["suckles its young"]))

# %%
# A table of measurements
# -----------------------
# Numbers are first cut at quantiles into "up to" and "above". Four measures of 150
# flowers and their species have many concepts; those of at least 15 % of the flowers
# are the tip of the iceberg.

X, y = load_iris(return_X_y=True, as_frame=True)
X.columns = [name.removesuffix(" (cm)") for name in X.columns]
X["species"] = y.map(dict(enumerate(load_iris().target_names)))
flowers = ConceptLattice(min_support=0.15, n_thresholds=2, implications=True).fit(X)
told = flowers.explain()
print(f"{len(told)} concepts, the most stable with a species among their attributes:")
frame = told.to_frame()
named = frame[frame["intent"].str.contains("species")]
print(named.nlargest(3, "stability")[["size", "stability", "intent"]].to_string())

# %%
# Single flowers: the smallest concept that each belongs to, its way up to the top, and
# what it breaks of the implications that hold in training (nothing, as it was part of
# it).

rows = flowers.explain(X.iloc[[0, 75, 149]])
print(rows.to_text())
rows.plot()
plt.show()
