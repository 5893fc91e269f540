"""
Where a model errs, and how much of it to believe
=================================================

A classifier of handwritten digits is right on most images.
:class:`~skinterp.slices.ErrorSliceFinder` lists the conjunctions of simple tags on
which it is not, and estimates each again on images that the search has not seen.
"""

# %%
# A model, and tags that a person understands
# -------------------------------------------
# The model sees 64 pixels. The tags say how much ink there is, where it lies, and which
# digit it is: columns of their own, beside those of the model.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from skinterp.slices import ErrorSliceFinder

X, y = load_digits(return_X_y=True)
images = X.reshape(-1, 8, 8)
ink = images.sum(axis=(1, 2))
tags = pd.DataFrame(
    {
        "digit": y.astype(str),
        "ink": ink,
        "upper half": images[:, :4].sum(axis=(1, 2)) / ink,
        "left half": images[:, :, :4].sum(axis=(1, 2)) / ink,
        "dark pixels": (images > 12).sum(axis=(1, 2)),
    }
)

# %%
# The search
# ----------
# The model is cloned and measured out of fold. Half of the images are searched, the
# other half is held out. What remains there is said first: slices that were picked for
# being bad look worse than they are.

finder = ErrorSliceFinder(GaussianNB(), redundancy=0.0, random_state=0)
slices = finder.fit(X, y, tags=tags).explain()
print(slices.to_text())

# %%
# Each dot is a slice. Lines lead from where the slices of the cover were found to where
# they are on images held out.

slices.plot()
plt.show()

# %%
# Single images
# -------------
# For each image: the slices that it lies in, and the accuracy to expect on such images.

print(finder.explain(tags[:8]).to_text())

# %%
# What to label next
# ------------------
# Rows of the worst slices, shared out by their errors, those of least confidence first.

confidence = GaussianNB().fit(X, y).predict_proba(X).max(axis=1)
chosen = finder.suggest(tags, 12, confidence)
_, axes = plt.subplots(1, 12, figsize=(9, 1.2))
for ax, row in zip(axes, chosen, strict=True):
    ax.imshow(images[row], cmap="gray_r")
    ax.set_axis_off()
plt.show()

# %%
# Single tags
# -----------
# Signs of trouble at single tags: rare ones, those where one digit is nearly all that
# the model says, and those on which it does worse.

report = finder.diagnose(X, y, tags=tags)
columns = ["tag", "rows", "performance", "top_class", "top_share", "rare", "low"]
print(report[columns].head(6).round(2).to_string(index=False))

# %%
# Slices that the images do not show
# ----------------------------------
# One tag of a bad slice replaced by another, where too few images have it; how the
# model may do there is an extrapolation by a model whose tags add up.

finder.set_params(unseen="substitution").fit(X, y, tags=tags)
print(finder.unseen_slices().head(5).to_string(index=False))
print("share of errors less share of rows in the cover:", end=" ")
print(np.round(finder.score(X, y, tags=tags), 2))
