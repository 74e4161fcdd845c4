// The client for pages under node: what it refuses, in the library's words; what it keeps, and in which order it keeps and
// sends; two tabs. Documents are those of tests/service/vectors; the network is in this file.
// usage: node --test client.mjs, with WEB the folder of the package
import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const { Client, FaroError, MemoryStore } = await import(`${process.env.WEB}/faro.mjs`);
const wasm = await WebAssembly.compile(await readFile(`${process.env.WEB}/faro.wasm`));
const folder = new URL("../service/vectors/", import.meta.url);
const vector = async (name) => new Uint8Array(await readFile(new URL(name, folder)));
const manifest = (await readFile(new URL("manifest", folder), "utf8")).trim().split("\n").map((line) => line.split("\t"));
const key = manifest.find(([file]) => file === "key-analyzer.public")[4].replace(/.* /, "");
const token = "a0".repeat(32);

/* An analyzer with these documents, and a shuffler that answers as it is told. */
class Network {
  documents = {};
  posts = [];
  answers = []; // each a status and bytes; when none is left: accepted
  tag = '"1"';
  asked = 0;

  fetch = async (url, options = {}) => {
    assert.equal(options.credentials, "omit");
    assert.equal(options.referrerPolicy, "no-referrer");
    if (options.method === "POST") {
      await this.before?.(url, options.body);
      this.posts.push({ url, body: options.body });
      const [status, bytes, headers] = this.answers.shift() ?? [200, [0]];
      if (status === 0) throw new TypeError("no answer");
      return new Response(Uint8Array.from(bytes), { status, headers });
    }
    this.asked++;
    const name = new URL(url).pathname.replace("/v1/", "");
    const bytes = this.documents[name];
    return bytes ? new Response(bytes, { headers: { ETag: this.tag } }) : new Response("{}", { status: 404 });
  };
}

const open = (network, options = {}) =>
  Client.open({ analyzer: "https://analyzer.example", key, token, epsilon: 1000, delta: 0.5, trust: "joint", level: "event",
    honest: 1, store: new MemoryStore(), wasm, fetch: network.fetch, ...options });

async function campaign(name = "campaign-shuffle-bits") {
  const network = new Network();
  network.documents = { campaign: await vector(name), policy: await vector("policy-good") };
  return network;
}

/* Looks into the storage whenever a report leaves. A check that throws here would pass for a network that is down, so what is
 * wrong is gathered. */
function watch(network, store) {
  const wrong = [];
  network.before = async (url, body) => {
    const { state } = await store.read();
    if (!Buffer.from(state ?? []).includes(Buffer.from(body))) wrong.push("a report left before it was in the storage");
    if (url !== "https://shuffler-0.example:8443/v1/reports" || body.length !== 92) wrong.push(`${body.length} bytes to ${url}`);
  };
  return wrong;
}

const refusal = async (promise) => {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof FaroError, error.stack);
    return error;
  }
  assert.fail("it was not refused");
};

test("every campaign is read or refused as the native library does it", async () => {
  let [read, refused] = [0, 0];
  const policy = await vector("policy-good");
  for (const [file, check, , , outcome] of manifest.filter((row) => row[1] === "campaign")) {
    const network = new Network();
    network.documents = { campaign: await vector(file), policy };
    if (outcome.startsWith("refused: ")) {
      const { message } = await refusal(open(network));
      const said = outcome.slice("refused: ".length);
      const [start] = said.split(" must be ..."); // the accountant's own numbers: their last digits may differ
      assert.equal(message.slice(0, start.length), start, file);
      if (start === said) assert.equal(message, said, file);
      refused++;
    } else {
      // Read; the policy is of another campaign, except for one.
      const error = await open(network).catch((error) => error);
      const expected = /campaign-shuffle-bits, |digest 22e74fff/.test(outcome) ? null : /faro-plan-1|policy|campaign/;
      if (error instanceof FaroError) assert.match(error.message, expected ?? /^$/, file);
      else assert.equal(error.digest, outcome.replace(/.* digest /, ""), file);
      read++;
    }
  }
  assert.ok(read > 10 && refused > 80, `${read} read, ${refused} refused`);
});

test("every policy is read or refused as the native library does it", async () => {
  let refused = 0;
  for (const [file, , , , outcome] of manifest.filter((row) => row[1] === "policy")) {
    const network = await campaign();
    network.documents.policy = await vector(file);
    if (!outcome.startsWith("refused: ")) continue;
    // A campaign in sums takes faro-policy-2 only, and says so before anything else of another kind.
    const { message } = await refusal(open(network));
    if (!file.startsWith("policy-rounds")) assert.equal(message, outcome.slice("refused: ".length), file);
    refused++;
  }
  assert.ok(refused > 40, `${refused}`);
});

test("a plan is played and reported, over a reload", async () => {
  const network = await campaign("campaign-phases");
  network.documents.policy = await vector("plan-good");
  const store = new MemoryStore();
  let client = await open(network, { store });
  assert.ok(client.inPhases);
  assert.match((await refusal(client.choose([[1, 0]]))).message, /phases/);
  let turn = await client.turn();
  for (let turns = 0; turn.counts; turns++) {
    assert.ok(turns < 100);
    await client.played(turn.arm, 0.5);
    client.close();
    client = await open(network, { store });
    turn = await client.turn();
  }
  await client.flush();
  assert.equal(network.posts.length, 1);
  assert.equal(client.counts.delivered, 1);
});

test("the minimum and the pins are the library's", async () => {
  const network = await campaign();
  const weak = await refusal(open(network, { epsilon: 0.5 }));
  assert.equal(weak.code, "weak");
  assert.equal(weak.message, "epsilon of the campaign is 1, and this client accepts at most 0.5");
  const honest = await refusal(open(network, { honest: 0.5 }));
  assert.equal(honest.message, "honest of the campaign is 0.9, and this client accepts at most 0.5");
  const client = await open(network);
  const [shuffler] = client.shufflers;
  assert.equal(shuffler.url, "https://shuffler-0.example:8443");
  await open(network, { shufflers: [shuffler] });
  const stranger = await refusal(open(network, { shufflers: [{ ...shuffler, url: "https://other.example" }] }));
  assert.equal(stranger.code, "weak");
});

test("options are checked, and a token is in no message", async () => {
  const network = await campaign();
  const cases = [
    [{ analyzer: "http://analyzer.example" }, /^analyzer must begin with https:\/\/, or be on this machine/],
    [{ analyzer: "analyzer" }, /^analyzer must be https:\/\/ or http:\/\/ and a host/],
    [{ key: "00" }, /^key must be 64 hexadecimal digits, lower case$/],
    [{ token: token.toUpperCase() }, /^token must be 64 hexadecimal digits, lower case$/],
    [{ epsilon: "1" }, /^epsilon must be a finite number \(got 1\)$/],
    [{ epsilon: -1 }, /^epsilon must be above 0 \(got -1\)$/],
    [{ trust: "me" }, /^trust must be one of local, shuffle, concurrent, joint \(got me\)$/],
    [{ level: "all" }, /^level must be one of event, user \(got all\)$/],
    [{ keep: 1 }, /^most must be from 2 to 1000 \(got 1\)$/],
    [{ minimum: 1 }, /^unknown option "minimum"; allowed: analyzer, key,/],
  ];
  for (const [options, message] of cases) {
    const error = await refusal(open(network, options));
    assert.match(error.message, message);
    assert.ok(!error.message.includes(token.toUpperCase()));
  }
});

test("without locks or storage a page is refused", async () => {
  const network = await campaign();
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  assert.match((await refusal(open(network, { store: undefined }))).message, /^Web Locks are missing/);
  Object.defineProperty(globalThis, "navigator", { value: { locks: {} }, configurable: true });
  assert.match((await refusal(open(network, { store: undefined }))).message, /^IndexedDB is missing/);
  if (before) Object.defineProperty(globalThis, "navigator", before);
  else delete globalThis.navigator;
});

test("what the client knows", async () => {
  const client = await open(await campaign());
  assert.deepEqual(client.claim, { epsilon: 1, delta: 1e-6, trust: "shuffle", level: "user", contributions: 2,
    total: { epsilon: 1, delta: 1e-6 }, alone: client.claim.alone });
  assert.equal(client.version, 3);
  assert.equal(client.sequence, 0);
  assert.equal(client.dimension, 2);
  assert.equal(client.batch, 50);
  assert.equal(client.honest, 0.9);
  assert.equal(client.over, false);
  assert.equal(client.terms.release, "shuffle-bits");
  assert.equal(client.terms.split, false);
  assert.deepEqual(client.counts, { open: 0, waiting: 0, kept: 0, delivered: 0, refused: 0, late: 0, dropped: 0, again: 0, ended: 0 });
  assert.match((await refusal(client.choose([[1]]))).message, /^arm 0 must have 2 features \(got 1\)$/);
  client.close();
  assert.equal((await refusal(client.reward("x", 1))).message, "the client is closed");
});

test("a report is in the storage before it leaves, and no two have one number", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const wrong = watch(network, store);
  const client = await open(network, { store });
  const { arm } = await client.choose([[1, 0], [0, 1]], { id: "one" });
  assert.ok(arm === 0 || arm === 1);
  await client.reward("one", 0.5);
  await client.flush();
  assert.deepEqual(wrong, []);
  assert.equal(network.posts.length, 1);
  assert.equal(client.sequence, 1);
  assert.equal(client.counts.delivered, 1);
  assert.match((await refusal(client.reward("one", 1))).message, /one/);
});

test("a storage that fails keeps everything here", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const client = await open(network, { store, automatic: false });
  await client.choose([[1, 0], [0, 1]], { id: "one" });
  await client.reward("one", 1);
  const write = store.write;
  store.write = async () => {
    throw new Error("the disk is full");
  };
  assert.equal((await refusal(client.flush())).message, "the state could not be written: the disk is full");
  assert.equal(network.posts.length, 0);
  store.write = write;
  const wrong = watch(network, store);
  await client.flush();
  assert.deepEqual(wrong, []);
  assert.deepEqual(network.posts.map(({ body }) => new DataView(body.buffer).getBigUint64(28, true)), [1n]);
});

test("a reload between choice and reward loses nothing, and an unanswered report is sent again as it was", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const first = await open(network, { store });
  const { features } = await first.choose([[1, 0], [0, 1]], { id: "order-17" });
  first.close();
  const second = await open(network, { store });
  assert.equal(second.counts.open, 1);
  network.answers = [[0, []], [503, [], { "Retry-After": "0" }], [502, [60, 104]]];
  await second.reward("order-17", 1);
  await second.flush();
  assert.equal(network.posts.length, 4);
  for (const post of network.posts) assert.deepEqual(post.body, network.posts[0].body);
  assert.equal(second.counts.delivered, 1);
  assert.equal(features.length, 2);
});

test("two tabs are one client with one sequence", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const [a, b] = [await open(network, { store, automatic: false }), await open(network, { store, automatic: false })];
  await Promise.all([a.choose([[1, 0]], { id: "a" }), b.choose([[0, 1]], { id: "b" })]);
  await b.reward("a", 1); // chosen in the other tab
  await a.reward("b", 0);
  await Promise.all([a.flush(), b.flush()]); // one report under one policy: the other waits for the next one
  assert.equal(network.posts.length, 1);
  await a.forget("b").catch((error) => assert.match(error.message, /b/));
  assert.equal((await a.flush()).waiting, 1);
  assert.equal((await b.flush()).waiting, 1);
  assert.equal(a.sequence, 1);
  assert.equal(b.sequence, 1);
});

test("an answer counts although another tab has changed the state meanwhile", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const [a, b] = [await open(network, { store, automatic: false }), await open(network, { store, automatic: false })];
  await a.choose([[1, 0]], { id: "a" });
  await a.reward("a", 1);
  network.before = () => b.choose([[0, 1]], { id: "b" });
  await a.flush();
  assert.equal(network.posts.length, 1);
  assert.deepEqual([a.counts.delivered, a.counts.open, a.counts.waiting], [1, 1, 0]);
});

test("a policy that is known by its tag is not read again; another campaign is refused", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const client = await open(network, { store });
  const asked = network.asked;
  const revision = (await store.read()).revision;
  assert.equal(await client.refresh(), 3);
  assert.equal(network.asked, asked + 1);
  assert.equal((await store.read()).revision, revision);
  network.documents.campaign = await vector("campaign-local-gaussian");
  const error = await refusal(open(network, { store }));
  assert.equal(error.code, "foreign");
  assert.match(error.message, /is not the one that this client took part in before/);
});

/* The list of a shuffler's collectors, as it signs it. */
async function collectors(digest, urls) {
  const secret = Buffer.from(await vector("key-shuffler.secret")).toString().trim().split(" ")[1];
  const der = Buffer.from(`302e020100300506032b657004220420${secret.slice(0, 64)}`, "hex");
  const body = JSON.stringify({ campaign: digest, shuffler: 0, collectors: urls.map((url) => ({ url })) });
  const signature = sign(null, Buffer.from(`faro-collectors-1\n${body}`), createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  return Buffer.from(`faro-collectors-1 ${signature.toString("hex")}\n${body}`);
}
const ELSEWHERE = [421, Buffer.from('{"error": "the token belongs to another collector of this shuffler"}')];

test("a shuffler in parts: the list says where to send, also after a reload of the state and a move", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const client = await open(network, { store, automatic: false });
  const gone = "https://gone.example";
  const places = (url) => collectors(client.digest, [url, url]);
  network.documents.collectors = await places(gone);
  await client.choose([[1, 0]], { id: "a" });
  await client.reward("a", 1);
  const other = await open(network, { store, automatic: false });
  network.answers = [[200, [11]], [0, []]];
  network.before = async (url) => {
    if (!url.startsWith(gone)) return;
    await other.choose([[0, 1]], { id: "b" }); // the module is opened again
    network.documents.collectors = await places("https://collector.example");
  };
  await client.flush();
  assert.deepEqual(network.posts.map(({ url }) => new URL(url).host), ["shuffler-0.example:8443", "gone.example", "collector.example"]);
  for (const post of network.posts) assert.deepEqual(post.body, network.posts[0].body);
  assert.equal(client.counts.delivered, 1);
});

test("a shuffler that sends clients around is asked so often and no more", async () => {
  const network = await campaign();
  const client = await open(network, { automatic: false });
  const lists = await Promise.all(["https://a.example", "https://b.example"].map((url) => collectors(client.digest, [url, url])));
  await client.choose([[1, 0]], { id: "a" });
  await client.reward("a", 1);
  network.before = (url) => {
    const stays = url === network.posts.at(-1)?.url; // it follows no more: let it go
    network.documents.collectors = lists[network.posts.length % 2];
    network.answers = stays || network.posts.length === 1000 ? [] : [ELSEWHERE];
  };
  await client.flush();
  assert.equal(network.posts.length, 42); // the first, one after each look, and one after a pause
});

test("a list of collectors that somebody else has signed is refused", async () => {
  const network = await campaign();
  const client = await open(network, { automatic: false });
  const list = await collectors(client.digest, ["https://a.example"]);
  list[40] = list[40] === 48 ? 49 : 48; // a digit of the signature
  network.documents.collectors = list;
  await client.choose([[1, 0]], { id: "a" });
  await client.reward("a", 1);
  network.answers = [ELSEWHERE];
  await client.flush();
  assert.deepEqual(network.posts.map(({ url }) => new URL(url).host), ["shuffler-0.example:8443", "shuffler-0.example:8443"]);
});

test("a tab does not overwrite the state of one that started anew, although their numbers meet", async () => {
  const network = await campaign();
  const store = new MemoryStore();
  const empty = await store.read();
  const a = await open(network, { store, automatic: false });
  const { revision } = await store.read();
  await store.write({ ...empty, documents: {} }); // the site's data are cleared
  const b = await open(network, { store, automatic: false });
  await b.choose([[0, 1]], { id: "b" });
  const now = await store.read();
  await store.write({ ...now, revision });
  await a.choose([[1, 0]], { id: "a" });
  assert.equal(a.counts.open, 2);
});
