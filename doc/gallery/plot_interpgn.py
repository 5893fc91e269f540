"""
Shapelets decide where they are sure, a deep network elsewhere
==============================================================

A shapelet is a short curve; "is there a piece like this?" is a question that a person
can check. :class:`~skinterp.series.InterpGNClassifier` learns shapelets and linear
rules over them, asks them first, and leaves to a deep network only what they are unsure
of. How much that is, it says for every series.
"""

# %%
# Digits, read line by line
# -------------------------
# Each handwritten digit becomes eight short series: how much ink there is along each
# of its eight lines, from left to right. Four digits are kept.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skinterp.series import InterpGNClassifier, ShapeletBottleneckClassifier

digits, y = load_digits(n_class=4, return_X_y=True)
images = digits.reshape(-1, 8, 8)
X = pd.DataFrame({f"line {i}": list(images[:, i]) for i in range(8)})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

model = InterpGNClassifier(
    n_shapelets=3, lengths=(0.4, 0.7), max_epochs=60, random_state=0
)
model.fit(X_train, y_train)
alone = (model.predict_interpretable(X_test) == y_test).mean()
print("accuracy on new digits:", round(model.score(X_test, y_test), 3))
print("of the shapelets alone:", round(alone, 3))

# %%
# How much do the shapelets decide?
# ---------------------------------
# The share of each prediction that is theirs. Predictions on the right are explained
# by shapelets; those on the left are not, and the model says so.

share = model.gate(X_test)
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.hist(share, bins=np.linspace(0, 1, 21), color="#2166ac")
ax.set_xlabel("share decided by shapelets")
ax.set_ylabel("digits")
plt.show()

# %%
# The rules
# ---------
# For each digit the shapelets with the largest weights: blue ones speak for it, red
# ones against. Which line they are looked for in stands above.

rules = model.explain()
rules.plot()
plt.show()
print("\n".join(rules.to_text().splitlines()[:7]))

# %%
# One digit
# ---------
# The sentence, and the lines with the most evidence: the colour says what each point
# adds to the digit that is predicted; the shapelets that add most lie, dashed, on the
# pieces that they match.

sure = int(np.argmax(share))
one = model.explain(X_test.iloc[[sure]])
print(one.to_text())
one.plot()
plt.show()

# %%
# A digit that the shapelets are least sure of. What they say of it should not be taken
# for the reason of the prediction.

unsure = model.explain(X_test.iloc[[int(np.argmin(share))]])
print(unsure.to_text().splitlines()[0])
unsure.plot()
plt.show()

# %%
# Shapelets alone
# ---------------
# If everything has to be explained, leave the deep network out: what is lost is seen in
# the accuracy.

readable = ShapeletBottleneckClassifier(
    n_shapelets=3, lengths=(0.4, 0.7), max_epochs=60, random_state=0
)
readable.fit(X_train, y_train)
print("rules only:", round(readable.score(X_test, y_test), 3))
