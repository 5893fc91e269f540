"""
Shapley values without sampling
===============================

:class:`~skinterp.additive.InstaSHAPRegressor` learns a sum of curves and surfaces while
random columns are absent. Its terms then are the pure effects of their columns, and the
Shapley values of any row are sums of a few of them: nothing is sampled.
"""

# %%
# A model that knows its own values
# ---------------------------------
# The progression of diabetes after a year, from ten measurements.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from skinterp.additive import InstaSHAPRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
options = {"max_interactions": 4, "batch_size": 64, "max_epochs": 60, "random_state": 0}
model = InstaSHAPRegressor(**options).fit(X_train, y_train)
print(f"R2 on other people: {model.score(X_test, y_test):.2f}")

# %%
# Base and values of one person add up to the prediction. Blood values go together: a
# column has a value for what it tells about the others too.

people = model.explain(X_test)
print(people[0].top(4).to_text())
people[0].plot()
plt.show()

# %%
# The terms behind the values.

model.explain().top(6).plot()
plt.show()

# %%
# How well the model predicts from so many columns, chosen at random. This, and not the
# score alone, says how far the values can be trusted.

sizes = list(model.masked_r2_)
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.plot(sizes, [model.masked_r2_[s] for s in sizes], marker="o")
ax.set(xlabel="columns present", ylabel="R2 on validation rows")
plt.show()

# %%
# Missing cells
# -------------
# A missing cell is an absent column, so that there is nothing to impute.

person = X_test.iloc[[0]].astype(float)
unknown = person.assign(bmi=np.nan, s5=np.nan)
print(f"all known: {model.predict(person)[0]:.0f}")
print(f"bmi and s5 unknown: {model.predict(unknown)[0]:.0f}")
print(f"nothing known: {model.intercept_:.0f}")

# %%
# The values of another model
# ---------------------------
# A forest is the teacher. Its predictions take the place of the target, and what is
# learnt are its values, for all rows at once.

forest = RandomForestRegressor(200, random_state=0).fit(X_train, y_train)
explainer = InstaSHAPRegressor(teacher=forest, **options).fit(X_train, None)
print(f"R2 to the forest: {explainer.score(X_test, forest.predict(X_test)):.2f}")
explainer.explain(X_test).plot()
plt.show()
