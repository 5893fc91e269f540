"""
A formula out of a hundred columns
==================================

Two of 102 columns make up the target, and nobody says which.
:class:`~skinterp.symbolic.PANSymbolicRegressor` screens the columns, searches a formula
on those that are left, and writes it in the names of the table.
"""

# %%
# The table
# ---------
# A friction force: coefficient times normal force, with noise of a tenth of the
# signal's variance, and fifty columns beside each variable that are drawn from the same
# range. They are given the names that a laboratory might have used; names that mean
# something to a computer algebra system, or are no words, are names like any other.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from skinterp.datasets import make_feynman
from skinterp.symbolic import PANSelector, PANSymbolicRegressor

found = make_feynman("I.12.1", n=800, snr=10, random_state=0, as_frame=True)
X = found.data.rename(columns={"mu": "friction coeff.", "Nn": "N"})
X_train, X_test, y_train, y_test = train_test_split(X, found.target, random_state=0)
print(X.shape, found.formula)

# %%
# Screening and search
# --------------------
# Both take a seed from ``random_state``. The search is pyoperon's by default.

selector = PANSelector(n_burn=500, n_draws=500)
model = PANSymbolicRegressor(selector=selector, random_state=0)
model.fit(X_train, y_train)
print(model.support_.sum(), "columns kept")
print(model.explain().to_text().splitlines()[0])
print("R2 on new rows:", round(model.score(X_test, y_test), 3))

# %%
# The front
# ---------
# The search keeps the best formula of each size. Up to the law itself each step pays;
# beyond it, a longer formula gains next to nothing, as it only follows the noise. The
# star is what predicts: the criterion weighs error against size.

explanation = model.explain()
explanation.plot()
plt.show()

# %%
# The formula as a tree
# ---------------------

explanation.top(1).plot()
plt.show()

# %%
# It is data as well: a sympy expression, LaTeX, or a file that is read back exactly.

print(model.expression_)
print(explanation.to_latex(digits=3))
