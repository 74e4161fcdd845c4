# %% [markdown]
# # Privacy accounting
#
# How much noise does a guarantee need, and what does a given noise guarantee? Every answer is rounded outward and names
# the theorem behind it. This takes a few seconds.

# %%
from faro import account

answer = account.gaussian(epsilon=1, delta=1e-6)
print(answer)
print(answer.sigma, float(answer))

# %% [markdown]
# What you leave out is computed: noise, epsilon or delta.

# %%
print(account.gaussian(sigma=3, delta=1e-6).epsilon)
print(account.gaussian(sigma=3, epsilon=1).delta)
print(account.laplace(scale=2).epsilon, account.discrete_gaussian(epsilon=1, delta=1e-6).sigma)

# %% [markdown]
# Shuffling: people who randomize at local_epsilon = 2 hide among each other.

# %%
for users in 100, 1000, 10000, 100000:
    found = account.shuffle(local_epsilon=2, users=users, delta=1e-6)
    print("%6d users: epsilon %.3f (closed form: %s)" % (users, found.epsilon, found.closed_form))

# %% [markdown]
# Running sums: 1000 publications cost much less than a thousand times the noise of one.

# %%
one = account.gaussian(epsilon=1, delta=1e-6).sigma
for name, found in (("tree", account.tree(steps=1000, epsilon=1, delta=1e-6)),
                    ("factored", account.factored(steps=1000, epsilon=1, delta=1e-6))):
    print("%s: the worst prefix has noise %.1f; one publication alone %.1f" % (name, found.prefix_sigma, one))

# %% [markdown]
# Composition of different mechanisms on the same people, by privacy-loss distributions.

# %%
week = account.PLD.gaussian(sigma=8).repeat(7)
print(week)
print("a year: %.2f" % account.PLD.gaussian(sigma=8).repeat(365).epsilon(1e-6))
assert week.epsilon(1e-6) >= account.PLD.gaussian(sigma=8).epsilon(1e-6)
