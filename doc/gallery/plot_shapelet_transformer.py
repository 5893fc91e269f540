"""
Which stretch of an outline tells digits apart
==============================================

A shape can be walked around: the distance of its outline from its centre, angle by
angle, is a time series. Handwritten digits become such series here, and
:class:`~skinterp.series.ShapeletTransformer` finds the stretches that tell a four from
a seven and a zero.
"""

# %%
# Outlines as series
# ------------------
# scikit-learn's digits are images of 8 by 8 pixels. From the centre of the ink a ray
# goes out at each of 72 angles, beginning on the right and turning counterclockwise;
# the value of the series is how far out there still is ink.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import map_coordinates
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skinterp
from skinterp.series import ShapeletTransformer
from skinterp.trees import BooleanTreeClassifier

ANGLES = np.linspace(0, 2 * np.pi, 72, endpoint=False)
RADII = np.linspace(0, 6, 61)


def outline(image):
    """Distance of the outermost ink from the centre of the ink, at each angle."""
    rows, columns = np.nonzero(image > 4)
    y, x = rows.mean(), columns.mean()
    places = [
        y - RADII * np.sin(ANGLES)[:, None],
        x + RADII * np.cos(ANGLES)[:, None],
    ]
    ink = map_coordinates(image, places, order=1) > 4
    return np.where(ink, RADII, 0.0).max(axis=1)


images, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, [0, 4, 7])
X = np.array([outline(image.reshape(8, 8)) for image in images[chosen]])
y = np.array(["zero", "four", "seven"])[np.searchsorted([0, 4, 7], digit[chosen])]
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
print(X.shape)

# %%
# Shapelets
# ---------
# A thousand stretches of training outlines are tried; five are kept for each digit.
# The picture shows the best ones on the outlines they come from, and beside them how
# near the outlines of each digit come: what lies left of the line counts as having
# it.

shapelets = ShapeletTransformer(1000, n_shapelets=5, max_length=0.5, random_state=0)
shapelets.fit(X, y)
told = shapelets.explain()
print(told.top(3).to_text())
told.plot()
plt.show()

# %%
# What new outlines have of them
# ------------------------------
# Each row names the shapelets it has, and where. Level and scale play no part: a large
# four and a small one have the same shapes.

rows = shapelets.explain(X_new[:4])
print(y_new[:4])
print(rows[:1].to_text())
rows.plot()
plt.show()

# %%
# A model behind
# --------------
# The distances are features for any model. Whether a shapelet is there makes rules,
# which read well and are right less often.

linear = make_pipeline(
    ShapeletTransformer(1000, n_shapelets=50, random_state=0),
    StandardScaler(),
    RidgeClassifier(),
).fit(X, y)
print(f"ridge on distances: {linear.score(X_new, y_new):.3f} of new digits are right")

rules = make_pipeline(
    ShapeletTransformer(
        1000, n_shapelets=5, max_length=0.5, output="predicate", random_state=0
    ),
    BooleanTreeClassifier(),
).fit(X, y)
print(f"rules: {rules.score(X_new, y_new):.3f}")
print(skinterp.explain(rules, X_new[:2]).to_text())
