# %% [markdown]
# # A shop: from the question to the report
#
# A shop has 8 offers and visitors with two known traits. Which way to protect visitors should it use, what will it cost,
# and how does it look in its own world? Some seconds.

# %%
import random

import faro

VISITORS = 8_000

# %% [markdown]
# **Plan.** Before anything is run: which release and learner suit the problem?

# %%
plan = faro.plan(users=VISITORS, dimension=5, arms=8, epsilon=2, delta=1e-6, trusts=["joint", "shuffle", "local"], instances=2)
print(plan)

# %% [markdown]
# **Its own world.** Visitors come with a context; each offer has a chance that depends on it.

# %%
OFFERS = ["tea", "coffee", "bread", "cake"]
TASTE = {"tea": (0.4, 0.1), "coffee": (-0.4, 0.2), "bread": (0.1, -0.4), "cake": (0.0, 0.3)}


def chance_of(offer, context):
    return 0.45 + sum(t * c for t, c in zip(TASTE[offer], context))


def open_shop(release, seed, **options):
    """Plays all visitors. Returns a row of results."""
    people = random.Random(seed)
    learner = faro.Posterior(arms=OFFERS, dimension=2, release=release, epsilon=2, delta=1e-6, horizon=VISITORS, seed=seed,
                          **options)
    sold = lost = 0.0
    for _ in range(VISITORS):
        context = [people.uniform(-0.7, 0.7), people.uniform(-0.7, 0.7)]
        offer = learner.predict([context])
        reward = float(people.random() < chance_of(offer, context))
        learner.partial_fit([offer], [reward], [context])
        sold += reward
        lost += max(chance_of(o, context) for o in OFFERS) - chance_of(offer, context)
    return {"release": release, "seed": seed, "sold": sold, "regret": lost, "claim": str(learner.claim)}


rows = [open_shop(release, seed) for release in ("none", "central-factored", "shuffle-bits") for seed in (1, 2)]

# %% [markdown]
# **A table.** Rows are dictionaries, so pandas takes them; it is not needed.

# %%
try:
    import pandas

    frame = pandas.DataFrame(rows)
    print(frame.groupby("release")[["sold", "regret"]].mean().round(0))
except ImportError:
    for row in rows:
        print(row)

# %% [markdown]
# **A report.** The same comparison in a simulated world, over instances, with intervals, a figure and a page.

# %%
results = faro.run(
    {"title": "A shop", "horizon": VISITORS, "instances": 4, "epsilon": 2,
     "environment": {"name": "linear-iid", "dimension": 5, "arms": 8},
     "algorithms": [{"learner": "greedy", "release": release} for release in ("none", "central-factored", "shuffle-bits", "local")]})
print(results.table())
print([str(claim) for claim in results.claims])

# %%
import tempfile

with tempfile.TemporaryDirectory() as folder:
    results.save(folder)
    again = faro.report(folder)
    assert again.rows == results.rows
