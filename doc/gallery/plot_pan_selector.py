"""
Which of two hundred columns matter
===================================

A law of physics hides in a wide table: kinetic energy of a body that moves in three
directions, among 200 columns that have nothing to do with it.
:class:`~skinterp.symbolic.PANSelector` finds its four variables.
"""

# %%
# The table
# ---------
# Columns without influence are drawn from the same ranges as the variables, so that
# nothing but the target tells them apart.

import matplotlib.pyplot as plt

from skinterp.datasets import make_feynman
from skinterp.symbolic import PANSelector

found = make_feynman("I.13.4", n=800, snr=10, random_state=0, as_frame=True)
X, y = found.data, found.target
print(f"{found.formula}, {X.shape[1]} columns")

# %%
# Screening
# ---------
# Each chain of the Bayesian model ranks the columns by how often its trees split on
# them; the mean ranks are cut into two groups.

selector = PANSelector(n_burn=500, n_draws=500, n_jobs=2, random_state=0).fit(X, y)
selection = selector.explain()
print(selection.to_text())

# %%
# The variables have the first ranks in every chain. The other columns are split on by
# chance, each in another chain, so that their mean ranks gather in the middle.

selection.plot()
plt.show()

# %%
# How far to trust it
# -------------------
# With as much noise as signal, all four variables still come first. The border of the
# groups is less sharp, so that columns without influence are kept, too: a screen that
# loses nothing has to let some pass.

noisy = make_feynman("I.13.4", n=800, snr=1, random_state=0, as_frame=True)
again = PANSelector(n_burn=500, n_draws=500, n_jobs=2, random_state=0)
again.fit(noisy.data, noisy.target)
selection = again.explain()
print("first four:", sorted(selection.top(4).feature_names))
print("columns kept:", selection.complexity)
selection.plot()
plt.show()
