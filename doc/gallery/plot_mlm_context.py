"""
A table of objects and attributes out of a language model
=========================================================

:class:`~skinterp.lattice.MLMContext` asks a masked language model how well each object
fills the gap of a sentence, for each attribute and each pattern, and makes a truth
table of the answers. A lattice of the concepts that lie in the model follows from it.
"""

# %%
# The scorer
# ----------
# No language model comes with the library: a scorer is any function of a sentence and
# the objects. With the package transformers it would take the logits at the gap. Here
# stands one that knows the truth, plus noise that depends on the sentence, as a model's
# errors do.

import zlib

import matplotlib.pyplot as plt
import numpy as np

from skinterp.lattice import MLMContext, context_scores, ranking_scores

verbs = ["fly", "swim", "lay eggs", "hunt at night", "climb trees"]
known = {
    "wren": ["fly", "lay eggs"],
    "owl": ["fly", "lay eggs", "hunt at night"],
    "bat": ["fly", "hunt at night"],
    "duck": ["fly", "swim", "lay eggs"],
    "carp": ["swim", "lay eggs"],
    "frog": ["swim", "lay eggs"],
    "marten": ["hunt at night", "climb trees"],
    "squirrel": ["climb trees"],
}
truth = np.array([[verb in can for verb in verbs] for can in known.values()])


def scorer(sentence, objects):
    """Score as a model would that knows these animals, with some doubt."""
    rng = np.random.default_rng(zlib.crc32(sentence.encode()))
    verb = next(verb for verb in verbs if verb in sentence)
    return [(verb in known[name]) + 0.3 * rng.normal() for name in objects]


model = MLMContext(
    attributes=verbs,
    patterns=["The [MASK] is an animal that can {attribute}.", "[MASK]s {attribute}."],
    scorer=scorer,
    pooling="mean",
)
model.fit(list(known))

# %%
# How good is the table?
# ----------------------
# By the order of the attributes, and by the table after the cut. A table that says yes
# to everything is the baseline: report it, since it is often hard to beat.

print({name: round(x, 3) for name, x in ranking_scores(model.scores_, truth).items()})
cuts = np.linspace(0.05, 0.95, 19)
found = context_scores(model.scores_, truth, thresholds=cuts)

_, ax = plt.subplots(layout="constrained")
ax.plot(cuts, found["f1"], label="the table")
ax.axhline(found["f1_all"], color="0.6", ls="--", label="everything is true")
ax.set(xlabel="threshold", ylabel="weighted F1")
ax.legend(frameon=False)
plt.show()

# %%
# The concepts
# ------------
# The lattice of the table: birds, swimmers and climbers come together without anybody
# having named them.

model.explain().plot()
plt.show()
