"""
Which windows of a series carry the answer
==========================================

:class:`~skinterp.series.SoftShapeClassifier` cuts a series into windows with a score
each. Windows of low score are not thrown away but summed, and what each window adds to
the output is known.
"""

# %%
# Digits, read line by line
# -------------------------
# A handwritten digit of eight times eight pixels is read like a text: line by line, as
# one series of 64 points. A window of 16 points is two lines.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skinterp.series import SoftShapeClassifier

X, y = load_digits(n_class=5, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

model = SoftShapeClassifier(
    shape_length=16,
    embed_dim=32,
    warmup_epochs=6,
    max_epochs=20,
    lr=0.004,
    random_state=0,
)
model.fit(X_train, y_train)
print("accuracy on new digits:", round(model.score(X_test, y_test), 3))
print("tokens that reach the end:", model.n_tokens_kept_, "of", model.n_tokens_)

# %%
# The whole model
# ---------------
# The mean score of each window, by digit: which lines count for which digit.

whole = model.explain()
whole.plot()
plt.show()
print(whole.to_text())

# %%
# And the training windows of highest score, at their place.

whole.plot_examples()
plt.show()

# %%
# One digit
# ---------
# Blue stretches speak for the digit that is predicted, red ones against. The bars are
# the windows: as high as their score, hatched where they were summed.

rows = model.explain(X_test[:1])
rows.plot()
plt.show()
print(rows.to_text())

# %%
# The same on the picture itself. The windows' contributions sum to the logit of the
# digit, to the last digits.

saliency = rows.saliency()[0].reshape(8, 8)
reach = np.abs(saliency).max()
fig, axes = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
axes[0].imshow(X_test[0].reshape(8, 8), cmap="Greys")
shown = axes[1].imshow(saliency, cmap="coolwarm_r", vmin=-reach, vmax=reach)
fig.colorbar(shown, ax=axes, label="added by windows")
for ax in axes:
    ax.set_axis_off()
plt.show()

total = rows.contributions().sum()
logit = model.decision_function(X_test[:1]).max()
print("sum over windows:", round(total, 6), "logit:", round(logit, 6))

# %%
# What it does not say
# --------------------
# Each layer also mixes the windows, so that a window carries what the network saw in
# others: contributions tell where the evidence is kept, not where it is. To learn what
# would change the answer, take a piece away and ask again.

windows = model.token_starts_[:, None] + np.arange(model.shape_length_)
without = np.repeat(X_test[:1], len(windows), axis=0)
np.put_along_axis(without, windows, X_test[0].mean(), axis=1)
place = int(rows.prediction[0])
fall = logit - model.decision_function(without)[:, place]
middle = windows.mean(axis=1)
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(middle, fall, marker=".", label="fall of the logit without the window")
ax.plot(middle, rows.contributions()[0], marker=".", label="added by the window")
ax.axhline(0, color="0.7", linewidth=0.8)
ax.set_xlabel("middle of the window")
ax.legend(frameon=False)
plt.show()
