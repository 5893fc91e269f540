"""
What a diabetes score adds up
=============================

:class:`~skinterp.additive.ANOVATPNNRegressor` predicts the progression of diabetes by a
sum of curves and surfaces. As every surface averages to zero over both of its features,
it cannot hide a part of a curve, and another fit gives the same pictures.
"""

# %%
# A sum of curves and surfaces
# ----------------------------
# The columns are in the units they were measured in.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from skinterp.additive import ANOVATPNNRegressor, stability_score

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = ANOVATPNNRegressor(max_interactions=6, random_state=0).fit(X_train, y_train)
print(f"R2 on other people: {model.score(X_test, y_test):.2f}")

# %%
# The terms, by how much they spread over the training rows. Curves share one vertical
# scale, surfaces one scale of colors; grey bars show where the data lie, and where
# there are none a curve is a guess.

shapes = model.explain()
print(shapes.top(5).to_text())
shapes.top(9).plot()
plt.show()

# %%
# One person
# ----------
# The terms of one row add up to its prediction. Divided equally among the features of
# each term they are its Shapley values.

person = X_test.iloc[[3]]
print(model.explain(person).top(4).to_text())
model.explain(person, kind="attribution").plot()
plt.show()

# %%
# Again, with another seed
# ------------------------
# Zero would be the same terms, one half two unrelated models.

again = ANOVATPNNRegressor(max_interactions=6, random_state=1).fit(X_train, y_train)
print(f"difference of the terms: {stability_score([model, again], X_test):.3f}")
