# %% [markdown]
# # First steps
#
# An agent picks one of several options (arms) for each person, sees one reward, and learns from it without learning about
# any person. This notebook steps one by hand. Run the cells in order; they take a second.

# %%
import faro

print(faro.__version__)
print([release["name"] for release in faro.releases() if release["trust"] == "shuffle"])

# %% [markdown]
# A world to play in: 10 arms with 5 features, 5000 people. The world is simulated, so we know what the best arm would have
# brought: `gap` is the difference, and the sum of gaps is the *regret*.

# %%
world = faro.World("linear-fixed", dimension=5, arms=10, horizon=5000, seed=1)
features = world.arms
print(features.shape, features.format)

# %% [markdown]
# An agent behind a shuffler, with the guarantee (epsilon, delta) = (1, 1e-6). `world.agent` fills in what may be known
# about the world: the bounds of features and rewards, the horizon.

# %%
agent = world.agent(learner="posterior", release="shuffle-bits", epsilon=1, delta=1e-6)
print(agent)
print(agent.claim.adversary_sees)
print("batches of", agent.batch, "people at first;", agent.cost)


# %%
def play(world, agent):
    """Steps the agent through the world. Returns the regret."""
    regret = 0.0
    for _ in range(world.horizon):
        features = world.arms
        arm = agent.choose(features)
        regret += world.gap(arm)
        agent.learn(features, world.play(arm), arm)
    return regret


regret = play(world, agent)
print("regret %.0f after %d batches" % (regret, agent.batches))

# %% [markdown]
# The yardsticks: an agent that sees everything, and one that does not learn.

# %%
for learner, release in (("posterior", "none"), ("uniform", "none")):
    world.begin(1, 0)
    print("%s, %s: %.0f" % (learner, release, play(world, world.agent(learner=learner, release=release))))

# %% [markdown]
# The same by `faro.run`, to the last bit: the runner and the agent have the same random streams.

# %%
results = faro.run({"horizon": 5000, "instances": 1, "environment": {"name": "linear-fixed", "dimension": 5, "arms": 10},
                    "algorithms": [{"learner": "posterior", "release": "shuffle-bits"}]})
print(results.rows[0]["regret_mean"], regret)
assert results.rows[0]["regret_mean"] == regret
