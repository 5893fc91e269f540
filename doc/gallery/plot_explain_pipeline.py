"""
Rules of a whole pipeline, in the columns of the table
======================================================

A model behind scaling, encoding and selection speaks about columns that nobody has
seen. :func:`skinterp.explain` says the same about the table itself, and the rules it
gives decide every row as the pipeline does.
"""

# %%
# The data
# --------
# Diabetes patients of a real study, with the progression of the disease after one year.
# Some of the body mass indices get lost, as happens.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import skinterp
from skinterp.trees import BooleanTreeClassifier

data = load_diabetes(as_frame=True, scaled=False)
X = data.data.assign(sex=data.data["sex"].map({1: "female", 2: "male"}))
X.loc[np.random.default_rng(0).random(len(X)) < 0.1, "bmi"] = np.nan
y = (data.target > data.target.median()).map({True: "fast", False: "slow"})
X.head()

# %%
# The model
# ---------
# Encoded, imputed, scaled and selected, then tuned: nothing of the table is left as it
# was.

columns = ColumnTransformer(
    [
        ("sex", OneHotEncoder(), ["sex"]),
        (
            "measured",
            make_pipeline(SimpleImputer(), StandardScaler()),
            ["age", "bmi", "bp", "s5", "s6"],
        ),
    ]
)
pipeline = Pipeline(
    [
        ("columns", columns),
        ("select", SelectKBest(k=4)),
        ("tree", BooleanTreeClassifier(DecisionTreeClassifier(random_state=0))),
    ]
)
search = GridSearchCV(pipeline, {"tree__estimator__max_depth": [2, 3, 4]}, cv=5)
search.fit(X, y)
print(f"accuracy {search.best_score_:.2f} with {search.best_params_}")

# %%
# What the tree itself says
# -------------------------
# True, and of no use to a physician:

print(search.best_estimator_[-1].explain().to_text())

# %%
# What the pipeline says
# ----------------------
# The same rules about the table. A missing body mass index is replaced by the mean, so
# a condition that the mean satisfies holds for a missing one too.

rules = skinterp.explain(search)
print(rules.to_text())

# %%
# They are what the pipeline does, for each of the rows:

decided = rules.target_names[rules.decide(X)]
print(f"{(decided == search.predict(X)).mean():.0%} of the rows decided alike")
rules.check_faithful(search, X)

# %%
# One patient
# -----------

print(skinterp.explain(search, X[:3]).to_text())

# %%
# The picture
# -----------
# A line per rule, with the range that each column may take.

rules.plot()
plt.show()

# %%
# Low ``s5`` (the logarithm of the serum triglycerides) together with a low body mass
# index means slow progression; the blood pressure decides where the body mass index is
# low and ``s5`` is not.
