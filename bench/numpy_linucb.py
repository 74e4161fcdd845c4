#!/usr/bin/python3
# Debian's Python, because Debian's NumPy (python3-numpy) belongs to it.
"""Private LinUCB in NumPy, for comparison: written from the pseudo-code of the papers, as a careful person would.

    bench/numpy_linucb.py INSTANCES HORIZON EPSILON DELTA RELEASE:BATCH:STYLE...

INSTANCES is what bench_textbook writes. Prints a line of JSON for each RELEASE:BATCH:STYLE: nanoseconds of a round (processor
time, one thread) and the regret of each instance. Chowdhury & Zhou 2022, Alg. 1, with the releases of Alg. 2-7, Shariff & Sheffet
2018 (tree) and Zheng et al. 2020 (local), at the constants of the published figures.

  user   the loop of Alg. 1: every user gets the arm of the greatest score; each step is one expression over all arms or entries
  batch  arms that stay are scored once a batch, and all users of a batch are drawn together; each user has noise of its own
  array  all instances together: what is above gets a first axis, so that a call of NumPy serves a step of all of them. A batch is
         drawn as a whole. Without privacy and batches, means and widths follow by rank one; else widths are products with x_i x_j.
         Nanoseconds are those of a round of one instance.

Random numbers are drawn for many users at once in all styles. Without privacy the inverse of V is updated by rank one.

  d  dimension   K  arms   B  batch   T  horizon   X  K x d, the arms   V  regularised sum of x x'   b  sum of x y   r  releases
  n  instances   P  d (d + 1) / 2
"""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import gc
import json
import sys
import time

import numpy as np

L = np.sqrt(2)  # bound on the features of the published figures, (u, 1)
BLOCK = 1 << 16  # numbers that are drawn at once


class Draws:
    """Rows of random numbers, drawn in blocks."""

    def __init__(self, draw, width):
        self.draw, self.width, self.rows, self.next = draw, width, max(1, BLOCK // width), 0
        self.block = draw((self.rows, width))

    def row(self):
        if self.next == self.rows:
            self.block, self.next = self.draw((self.rows, self.width)), 0
        self.next += 1
        return self.block[self.next - 1]


class Constants:
    """Noise and regularisation of the published figures."""

    def calibrate(self, epsilon, delta):
        d, T, B = self.d, self.T, self.B
        noise = self.sigma = 0.0
        if self.release == "central-tree":
            self.sigma = np.sqrt(np.log(T)) * np.log(2.5 / delta) / epsilon
            noise = self.sigma * np.sqrt(np.log(T) * d)
        elif self.release == "shuffle-bits":
            self.g = max(2 * np.sqrt(B), d, 4)
            self.bits = int(max(1, round((1 if epsilon < 0.5 else 10) * (self.g * np.log(d / delta) / epsilon) ** 2 / B)))
            noise = 0.25 * np.log(d / delta) / (epsilon * np.sqrt(B)) * np.sqrt(T * d)
        elif self.release == "shuffle-amplified":
            self.sigma = np.sqrt(np.log(2.5 * B / delta)) / (epsilon * np.sqrt(B))
            noise = self.sigma * np.sqrt(T * d)
        elif self.release == "local":
            self.sigma = np.sqrt(np.log(2.5 / delta)) / epsilon
            noise = self.sigma * np.sqrt(T * d)
        self.private = noise > 0
        self.ridge, self.least, self.most = (2 * noise, noise, noise) if self.private else (1e-4, 1e-4, 1.0)
        self.rows, self.columns = np.tril_indices(d)
        self.scale = np.where(self.rows == self.columns, 1.0, np.sqrt(0.5))  # (N + N') / 2 off the diagonal

    def radius(self, shift):
        d, T = self.d, self.T
        return np.sqrt(d * (self.most + shift)) + 0.5 * np.sqrt(d * np.log((1 + T * L**2 / self.most) * T))


class Linucb(Constants):
    def __init__(self, release, X, truth, T, B, epsilon, delta, seed):
        self.release, self.X, self.T, self.B = release, X, T, B
        K, d = X.shape
        self.d, self.means = d, X @ truth
        self.rng = rng = np.random.default_rng(seed)
        self.calibrate(epsilon, delta)
        self.entries = len(self.rows) + d
        self.luck = Draws(rng.random, 1)
        self.normals = Draws(rng.standard_normal, self.entries)
        if release == "shuffle-bits":
            self.coins = Draws(lambda size: rng.binomial(self.bits, 0.25, size), self.entries)
            self.rounding = Draws(rng.random, self.entries)
        self.sum_V, self.sum_b = np.zeros((d, d)), np.zeros(d)  # what is published
        self.open_V, self.open_b = np.zeros((d, d)), np.zeros(d)  # of the open batch
        self.nodes_V, self.nodes_b = np.zeros((64, d, d)), np.zeros((64, d))
        self.r = 0
        self.learn()

    def symmetric(self, packed):
        V = np.empty((self.d, self.d))
        V[self.rows, self.columns] = V[self.columns, self.rows] = packed
        return V

    def gaussian(self, noise):
        """The matrix and the vector of noise, from standard normals."""
        noise = self.sigma * noise
        return self.symmetric(noise[: -self.d] * self.scale), noise[-self.d :]

    # Alg. 1 l. 16-18. A V that noise made indefinite is shifted.
    def learn(self):
        V = self.sum_V + self.ridge * np.eye(self.d)
        shift = 0.0
        if self.private:
            try:
                np.linalg.cholesky(V)
            except np.linalg.LinAlgError:
                shift = self.least - np.linalg.eigvalsh(V)[0]
                V += shift * np.eye(self.d)
        self.inverse = np.linalg.inv(V)
        self.settle(shift)

    def learn_rank_one(self, x):
        u = self.inverse @ x
        self.inverse -= np.outer(u, u / (1 + x @ u))
        self.settle(0.0)

    def settle(self, shift):
        self.theta = self.inverse @ self.sum_b
        self.beta = self.radius(shift)

    # Alg. 1 l. 5
    def choose(self):
        X = self.X
        widths = np.einsum("ij,ij->i", X @ self.inverse, X)
        return int(np.argmax(X @ self.theta + self.beta * np.sqrt(widths)))

    def publish(self):
        self.r += 1
        if self.release == "central-tree":
            # the prefix up to r: a new node at its lowest one, and the prefix that ends before it
            low = (self.r & -self.r).bit_length() - 1
            before = self.r & (self.r - 1)
            above = (before & -before).bit_length() - 1
            self.nodes_V[low], self.nodes_b[low] = self.gaussian(self.normals.row())
            if before:
                self.nodes_V[low] += self.nodes_V[above]
                self.nodes_b[low] += self.nodes_b[above]
            self.sum_V, self.sum_b = self.open_V + self.nodes_V[low], self.open_b + self.nodes_b[low]
        else:
            self.sum_V += self.open_V
            self.sum_b += self.open_b
            self.open_V[:], self.open_b[:] = 0, 0

    # Alg. 5 and 7: entries in [-L, L] as numbers of ones among noise bits, with their mean taken off. z has a row per user.
    def through_bits(self, z, rounding, coins):
        steps = (z / L + 1) * self.g
        floor = np.floor(steps)
        ones = floor + (rounding < steps - floor) + coins
        return ((ones - 0.25 * self.bits) / self.g - 1) * L

    def send(self, x, y):
        """One user's message."""
        if self.release == "shuffle-bits":
            z = np.concatenate((x[self.rows] * x[self.columns], x * y))
            z = self.through_bits(z, self.rounding.row(), self.coins.row())
            self.open_V += self.symmetric(z[: -self.d])
            self.open_b += z[-self.d :]
            return
        self.open_V += np.outer(x, x)
        self.open_b += x * y
        if self.release in ("local", "shuffle-amplified"):
            noise_V, noise_b = self.gaussian(self.normals.row())
            self.open_V += noise_V
            self.open_b += noise_b

    def send_all(self, x, y):
        """The messages of a batch whose users all have this arm."""
        rng, d = self.rng, self.d
        if self.release == "shuffle-bits":
            z = np.concatenate((np.broadcast_to(x[self.rows] * x[self.columns], (len(y), self.entries - d)), np.outer(y, x)), axis=1)
            z = self.through_bits(z, rng.random(z.shape), rng.binomial(self.bits, 0.25, z.shape)).sum(axis=0)
            self.open_V += self.symmetric(z[:-d])
            self.open_b += z[-d:]
            return
        self.open_V += len(y) * np.outer(x, x)
        self.open_b += x * y.sum()
        if self.release in ("local", "shuffle-amplified"):
            noise_V, noise_b = self.gaussian(rng.standard_normal((len(y), self.entries)).sum(axis=0))
            self.open_V += noise_V
            self.open_b += noise_b

    def play_users(self):
        gaps = self.means.max() - self.means
        regret, waiting = 0.0, 0
        for _ in range(self.T):
            arm = self.choose()
            x = self.X[arm]
            regret += gaps[arm]
            self.send(x, float(self.luck.row()[0] < self.means[arm]))
            waiting += 1
            if waiting == self.B:
                waiting = 0
                self.publish()
                if self.B == 1 and not self.private:
                    self.learn_rank_one(x)
                else:
                    self.learn()
        return regret

    def play_batches(self):
        gaps = self.means.max() - self.means
        regret = 0.0
        for start in range(0, self.T, self.B):
            users = min(self.B, self.T - start)
            arm = self.choose()
            regret += users * gaps[arm]
            self.send_all(self.X[arm], (self.rng.random(users) < self.means[arm]).astype(float))
            if users == self.B:
                self.publish()
                self.learn()
        return regret


class Array(Constants):
    """All instances in one array. V and its noise are packed: n x P, then d numbers for b. Matrices that are inverted have the
    instances last, so that a step of Gauss and Jordan is one expression over all of them."""

    def __init__(self, release, X, truth, T, B, epsilon, delta, seed):
        self.release, self.X, self.T, self.B = release, X, T, B
        self.n, self.K, self.d = X.shape
        self.means = (X @ truth[:, :, None])[:, :, 0]
        self.rng = np.random.default_rng(seed)
        self.calibrate(epsilon, delta)
        P = len(self.rows)
        self.each = np.arange(self.n)
        self.rank_one = B == 1 and not self.private
        # x_i x_j, twice off the diagonal: a squared width is their product with the packed inverse
        self.squares = None if self.rank_one else X[:, :, self.rows] * X[:, :, self.columns] * np.where(self.rows == self.columns, 1.0, 2.0)
        self.scale = np.concatenate((self.scale, np.ones(self.d)))
        self.normals = Draws(self.rng.standard_normal, self.n * (P + self.d))
        self.luck = Draws(self.rng.random, self.n)
        self.sum, self.nodes, self.r = np.zeros((self.n, P + self.d)), np.zeros((64, self.n, P + self.d)), 0
        if self.rank_one:
            self.inverse = np.repeat(np.eye(self.d)[None] / self.ridge, self.n, axis=0)
            self.mean, self.width = np.zeros((self.n, self.K)), (X**2).sum(axis=2) / self.ridge
            self.beta = self.radius(np.zeros((self.n, 1)))
        else:
            self.learn(self.sum)

    def learn(self, sums):
        d, P = self.d, len(self.rows)
        V = np.empty((d, d, self.n))
        V[self.rows, self.columns] = V[self.columns, self.rows] = sums[:, :P].T
        V[range(d), range(d)] += self.ridge
        shift = np.zeros(self.n)
        inverse, bad = self.invert(V)
        if bad.any():
            shift[bad] = self.least - np.linalg.eigvalsh(V[:, :, bad].transpose(2, 0, 1))[:, 0]
            V[range(d), range(d)] += shift
            inverse, _ = self.invert(V)
        theta = (inverse * sums[:, P:].T).sum(axis=1).T
        self.mean = (self.X @ theta[:, :, None])[:, :, 0]
        self.width = (self.squares @ inverse[self.rows, self.columns].T[:, :, None])[:, :, 0]
        self.beta = self.radius(shift)[:, None]

    def invert(self, V):
        """Gauss and Jordan; and which are not positive definite."""
        V, bad = V.copy(), np.zeros(self.n, bool)
        with np.errstate(all="ignore"):
            for c in range(self.d):
                bad |= ~(V[c, c] > 0)
                inverse = 1 / V[c, c]
                V[c, c] = 1
                V[c] *= inverse
                for i in range(self.d):
                    if i != c:
                        f = V[i, c].copy()
                        V[i, c] = 0
                        V[i] -= f * V[c]
        return V, bad

    def follow(self, x, y, arm):
        u = (self.inverse @ x[:, :, None])[:, :, 0]
        product = (self.X @ u[:, :, None])[:, :, 0]
        f = 1 / (1 + product[self.each, arm])
        self.inverse -= (f[:, None] * u)[:, :, None] * u[:, None, :]
        self.mean += (f * (y - self.mean[self.each, arm]))[:, None] * product
        product *= product
        self.width -= f[:, None] * product

    def gaussian(self):
        return self.sigma * self.scale * self.normals.row().reshape(self.n, -1)

    def publish(self, z, users):
        self.r += 1
        self.sum += z
        if self.release in ("local", "shuffle-amplified"):
            self.sum += np.sqrt(users) * self.gaussian()
        if self.release != "central-tree":
            return self.sum
        low, before = (self.r & -self.r).bit_length() - 1, self.r & (self.r - 1)
        self.nodes[low] = self.gaussian()
        if before:
            self.nodes[low] += self.nodes[(before & -before).bit_length() - 1]
        return self.sum + self.nodes[low]

    def play_all(self):
        gaps, regret = self.means.max(axis=1, keepdims=True) - self.means, np.zeros(self.n)
        for start in range(0, self.T, self.B):
            users = min(self.B, self.T - start)
            arm = np.argmax(self.mean + self.beta * np.sqrt(self.width), axis=1)
            regret += users * gaps[self.each, arm]
            x, p = self.X[self.each, arm], self.means[self.each, arm]
            ones = self.luck.row() < p if self.B == 1 else self.rng.binomial(users, np.clip(p, 0, 1))
            if users < self.B:
                break
            if self.rank_one:
                self.follow(x, ones, arm)
                continue
            square = x[:, self.rows] * x[:, self.columns]
            z = np.concatenate((users * square, ones[:, None] * x), axis=1)
            if self.release == "shuffle-bits":
                z = self.through_bits(square, x, ones, users)
            self.learn(self.publish(z, users))
        return regret

    # Alg. 5 and 7: all noise bits of a batch are one binomial, and so are the roundings of users with the same entry
    def through_bits(self, square, x, ones, users):
        def rounded(entries, count):
            steps = (entries / L + 1) * self.g
            floor = np.floor(steps)
            return count * floor + self.rng.binomial(count, steps - floor)

        ones = ones[:, None]
        total = np.concatenate((rounded(square, users), rounded(x, ones) + rounded(0 * x, users - ones)), axis=1)
        total += self.rng.binomial(users * self.bits, 0.25, total.shape)
        return ((total - 0.25 * self.bits * users) / self.g - users) * L


def read_instances(path):
    numbers = np.fromfile(path)
    n, K, d = (int(value) for value in numbers[:3])
    rows = numbers[3:].reshape(n, K + 1, d)
    return [(np.ascontiguousarray(instance[:K]), instance[K]) for instance in rows]


def play(group, seed, release, style, T, B, epsilon, delta):
    """Regrets of a group of instances, and processor time."""
    if style == "array":
        X, truth = (np.stack(part) for part in zip(*group))
        one = Array(release, X, truth, T, B, epsilon, delta, seed)
    else:
        one = Linucb(release, *group[0], T, B, epsilon, delta, seed)
    start = time.process_time_ns()
    regrets = getattr(one, {"user": "play_users", "batch": "play_batches", "array": "play_all"}[style])()
    return np.atleast_1d(regrets), time.process_time_ns() - start


def main():
    instances = read_instances(sys.argv[1])
    T, epsilon, delta = int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    gc.disable()
    for word in sys.argv[5:]:
        release, B, style = word.split(":")
        groups = [instances] if style == "array" else [[instance] for instance in instances]
        played = [play(group, i, release, style, T, int(B), epsilon, delta) for i, group in enumerate(groups)]
        regrets, times = [list(part) for part in zip(*played)]
        ns = sum(times) / (T * len(instances))
        print(json.dumps({"release": release, "batch": int(B), "style": style, "ns": ns, "regrets": list(np.concatenate(regrets))}), flush=True)


main()
