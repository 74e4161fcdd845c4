/* faro: takes part in private campaigns from a page, or from node. The library libfaro_client does the work, as
 * WebAssembly: it verifies what the analyzer publishes, computes the claim again, chooses, and makes reports with noise. This
 * file fetches, sends, and keeps what must survive a reload. docs/browser.md is the guide, faro.d.ts the list of what is here.
 *
 *     const client = await Client.open({ analyzer: "https://analyzer.example.org", key, token });
 *     const { arm } = await client.choose([[0.8, 0, 0.6], [0, 0.8, 0.6]], { id: "visit-17" });
 *     ... a click, a reload or a month later:
 *     await client.reward("visit-17", 1);
 *
 * Nothing leaves before the state of which it is part is in the browser's storage. All tabs of a browser are one client: a
 * lock over them guards the state, and a tab that finds that another one has changed it goes on from there. */

export class FaroError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "FaroError";
    this.code = code; // "invalid", "weak", "foreign", "old", "late", "over", "spent", "memory" or "system"
  }
}

const KEY_DIGITS = 64;
const POST_SECONDS = 30;
const ATTEMPTS = 8;
const REPLY = { done: 0, again: 1, refused: 2 };
const TWICE = 5; // in the open batch already: the same bytes go out again with the next policy
const STALE = 7; // faro_refusal: a batch closed on the way
const ELSEWHERE = 11; // another collector of the shuffler takes it
const LOOKS = 40; // for collectors, in one delivery: then a shuffler sends its clients around in circles

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const sleep = (seconds) => new Promise((wake) => setTimeout(wake, 1000 * seconds));

/* The module. One of them is one client. */

/* What WASI would provide: random bytes, and a place for the last words of a program that aborts. */
function host(memory) {
  const view = () => new DataView(memory().buffer);
  const bytes = (at, length) => new Uint8Array(memory().buffer, at, length);
  const BADF = 8;
  return {
    random_get(at, length) {
      for (let from = 0; from < length; from += 65536)
        crypto.getRandomValues(bytes(at + from, Math.min(65536, length - from)));
      return 0;
    },
    fd_write(fd, vectors, count, written) {
      let length = 0;
      let text = "";
      for (let i = 0; i < count; i++) {
        const [at, size] = [view().getUint32(vectors + 8 * i, true), view().getUint32(vectors + 8 * i + 4, true)];
        text += new TextDecoder().decode(bytes(at, size).slice());
        length += size;
      }
      if (text.trim()) console.error(text.trim());
      view().setUint32(written, length, true);
      return 0;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_close: () => BADF,
    fd_seek: () => BADF,
    proc_exit(status) {
      throw new FaroError(`the module ended with status ${status}`, "system");
    },
  };
}

/* A compiled module from a URL, bytes, or a module. In node the file beside this one is read; browsers fetch it. */
async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) return WebAssembly.compile(source);
  const url = new URL(source ?? "faro.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new FaroError(`${url} answered ${answer.status}`, "system");
  return WebAssembly.compile(await answer.arrayBuffer());
}

class Module {
  #call;

  constructor(compiled) {
    const instance = new WebAssembly.Instance(compiled, { wasi_snapshot_preview1: host(() => this.#call.memory) });
    this.#call = instance.exports;
    this.#call._initialize();
  }

  bytes(at, length) {
    return new Uint8Array(this.#call.memory.buffer, at, length).slice();
  }

  text(at) {
    if (at === 0) return null;
    const memory = new Uint8Array(this.#call.memory.buffer);
    return new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
  }

  /* Copies values into the module's memory, calls `use` with their addresses, and wipes the copies. */
  lend(values, use) {
    const lent = values.map((value) => {
      const bytes =
        typeof value === "string"
          ? new TextEncoder().encode(`${value}\0`)
          : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      const at = this.#call.web_alloc(bytes.length);
      if (at === 0) throw new FaroError("out of memory", "memory");
      new Uint8Array(this.#call.memory.buffer).set(bytes, at);
      return [at, bytes.length];
    });
    try {
      return use(...lent.map(([at]) => at));
    } finally {
      for (const [at, length] of lent) this.#call.web_free(at, length);
    }
  }

  /* Calls a function that returns a status. */
  do(name, ...values) {
    const status = this.#call[name](...values);
    if (status !== 0)
      throw new FaroError(this.text(this.#call.web_message()), this.text(this.#call.web_status_name(status)));
  }

  /* Calls a function that cannot fail. */
  get(name, ...values) {
    return this.#call[name](...values);
  }

  /* Members of the terms (0) or the counts (1), by name; null if there are none yet. */
  members(which) {
    const [TEXT, FLAG] = [0, 4];
    const all = {};
    for (let i = 0, name; (name = this.text(this.get("web_member_name", which, i))) !== null; i++) {
      const kind = this.get("web_member_kind", which, i);
      const number = kind === TEXT ? 0 : this.get("web_member_number", which, i);
      all[camel(name)] = kind === TEXT ? this.text(this.get("web_member_text", which, i)) : kind === FLAG ? number !== 0 : number;
    }
    return Object.keys(all).length > 0 ? all : null;
  }

  /* The state that the last call has made, or null. */
  takeState() {
    const length = this.get("web_stored_length");
    if (length === 0) return null;
    const state = this.bytes(this.get("web_stored"), length);
    this.get("web_stored_forget");
    return state;
  }
}

/* Where a client's state is kept. A store has read, write and lock. Saved is { revision, mark, state, documents }. */

const request = (asked) =>
  new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });

class BrowserStore {
  #name;
  #database;

  constructor(name) {
    if (!globalThis.navigator?.locks)
      throw new FaroError(
        "Web Locks are missing (navigator.locks): tabs of this browser would use sequence numbers twice; they need a page " +
          "that comes over https:// or from this machine",
        "system",
      );
    if (!globalThis.indexedDB)
      throw new FaroError("IndexedDB is missing: a client must not forget what it has sent; give a store", "system");
    this.#name = name;
  }

  async #open() {
    if (this.#database) return this.#database;
    const opening = indexedDB.open("faro", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("clients");
    this.#database = await request(opening);
    this.#database.onversionchange = this.#database.onclose = () => {
      this.#database?.close();
      this.#database = null;
    };
    return this.#database;
  }

  async read() {
    const clients = (await this.#open()).transaction("clients").objectStore("clients");
    const [state, documents] = await Promise.all([
      request(clients.get([this.#name, "state"])),
      request(clients.get([this.#name, "documents"])),
    ]);
    return { revision: 0, mark: "", state: null, ...state, documents: documents ?? {} };
  }

  /* `durability: strict` asks the browser to flush its files before it says that they are written. */
  async write({ revision, mark, state, documents }) {
    const transaction = (await this.#open()).transaction("clients", "readwrite", { durability: "strict" });
    const clients = transaction.objectStore("clients");
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
    clients.put({ revision, mark, state }, [this.#name, "state"]);
    if (documents) clients.put(documents, [this.#name, "documents"]);
    await done;
  }

  lock(what, work) {
    return navigator.locks.request(`faro ${this.#name} ${what}`, work);
  }
}

/* For tests, and programs that run once: what it holds is gone with it, and then the client is a stranger with a known token,
 * whose reports are refused as replays. */
export class MemoryStore {
  #saved = { revision: 0, mark: "", state: null, documents: {} };
  #queues = new Map();

  async read() {
    return structuredClone(this.#saved);
  }

  async write({ revision, mark, state, documents }) {
    this.#saved = structuredClone({ revision, mark, state, documents: documents ?? this.#saved.documents });
  }

  lock(what, work) {
    const turn = (this.#queues.get(what) ?? Promise.resolve()).then(work);
    this.#queues.set(what, turn.catch(() => {}));
    return turn;
  }
}

/* Options. */

function digits(name, value) {
  if (typeof value === "string" && value.length === KEY_DIGITS && /^[0-9a-f]+$/.test(value)) return unhex(value);
  throw new FaroError(`${name} must be ${KEY_DIGITS} hexadecimal digits, lower case`, "invalid"); // tokens stay out of messages
}

function address(name, value, insecure) {
  let url;
  try {
    url = new URL(value);
  } catch {
    throw new FaroError(`${name} must be https:// or http:// and a host (got ${value})`, "invalid");
  }
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && (here || insecure))) return String(value).replace(/\/+$/, "");
  throw new FaroError(`${name} must begin with https://, or be on this machine, or insecure must be true (got ${value})`, "invalid");
}

function finite(name, value) {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new FaroError(`${name} must be a finite number (got ${value})`, "invalid");
}

function settings(options) {
  const known = ["analyzer", "key", "token", "epsilon", "delta", "trust", "level", "honest", "shufflers", "insecure", "fixed"];
  const own = ["keep", "automatic", "name", "store", "wasm", "fetch", "onSend"];
  for (const name of Object.keys(options))
    if (![...known, ...own].includes(name))
      throw new FaroError(`unknown option "${name}"; allowed: ${[...known, ...own].join(", ")}`, "invalid");
  const { trust = "shuffle", level = "user", insecure = false, shufflers = [] } = options;
  if (!["user", "event"].includes(level)) throw new FaroError(`level must be one of event, user (got ${level})`, "invalid");
  return {
    analyzer: address("analyzer", options.analyzer, insecure),
    key: digits("key", options.key),
    token: digits("token", options.token),
    epsilon: finite("epsilon", options.epsilon ?? 1),
    delta: finite("delta", options.delta ?? 1e-6),
    honest: finite("honest", options.honest ?? 0),
    keep: finite("keep", options.keep ?? 0),
    shufflers: shufflers.map(({ url, key }) => ({ url: String(url), key: digits("shufflers[].key", key) })),
    automatic: options.automatic ?? true,
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    onSend: options.onSend ?? (() => {}),
    fixed: options.fixed ?? false,
    trust: String(trust),
    level,
    insecure,
  };
}

/* What is asked of every answer: no cookies, no address of the page, no redirection to a place that nobody has checked. */
const QUIET = { credentials: "omit", referrerPolicy: "no-referrer", redirect: "error" };

export class Client {
  #settings;
  #module;
  #store;
  #revision = -1; // of the state that the module has; -1: it must be read again
  #mark = ""; // of the same state: numbers start again when the site's data are cleared
  #documents = {}; // campaign, policy and move as they came, and the tag of the policy
  #collectors = new Map(); // of shufflers in parts, by their number: their lists as they came
  #sending = null;
  #error = null;
  #closed = false;

  /* Opens a client: verifies campaign and policy, and keeps that this browser takes part. */
  static async open(options) {
    const chosen = settings(options);
    const module = new Module(await compile(options.wasm));
    const hash = module.lend([chosen.token, new Uint8Array(16)], (token, out) => {
      module.get("web_token_hash", token, out);
      return hex(module.bytes(out, 16));
    });
    const store = options.store ?? new BrowserStore(options.name ?? `${chosen.analyzer} ${hash}`);
    const client = new Client(chosen, module, store);
    await client.#join();
    if (chosen.automatic && client.#pending()) client.#deliver();
    return client;
  }

  constructor(chosen, module, store) {
    this.#settings = chosen;
    this.#module = module;
    this.#store = store;
  }

  /* State. */

  #openModule(state) {
    const { key, token, trust, level, honest, epsilon, delta, insecure, fixed, shufflers, keep } = this.#settings;
    const keys = Uint8Array.from(shufflers.flatMap((shuffler) => [...shuffler.key]));
    const urls = shufflers.map((shuffler) => shuffler.url).join("\0");
    const opening = new Uint8Array(80); // web_opening in web/src/module.c
    const view = new DataView(opening.buffer);
    this.#module.lend([key, token, state ?? new Uint8Array(0), trust, keys, urls], (...at) => {
      [at[0], at[1], at[2], state?.length ?? 0, at[3], at[4], at[5], shufflers.length, keep].forEach((value, i) =>
        view.setUint32(4 * i, value, true),
      );
      [level === "user", insecure, fixed].forEach((value, i) => view.setUint32(36 + 4 * i, value ? 1 : 0, true));
      [epsilon, delta, honest].forEach((value, i) => view.setFloat64(56 + 8 * i, value, true));
      this.#module.lend([opening], (there) => this.#module.do("web_open", there));
    });
  }

  #take(name, bytes) {
    this.#module.lend([bytes], (at) => this.#module.do(name, at, bytes.length));
  }

  #takeCollectors(shuffler, list) {
    this.#module.lend([list], (at) => this.#module.do("web_collectors", shuffler, at, list.length));
  }

  /* Goes on from what is saved: another tab may have written it. */
  #reopen(saved) {
    this.#openModule(saved.state);
    this.#documents = saved.documents;
    const { move, campaign, policy } = this.#documents;
    if (move && !this.#settings.fixed) this.#take("web_move", move);
    if (campaign) this.#take("web_campaign", campaign);
    if (policy) this.#take("web_policy", policy);
    for (const [shuffler, list] of this.#collectors) {
      try {
        this.#takeCollectors(shuffler, list);
      } catch {
        this.#collectors.delete(shuffler); // the shuffler has another key by now: its address knows more
      }
    }
    [this.#revision, this.#mark] = [saved.revision, saved.mark ?? ""];
  }

  /* Does something with the state that is saved now, under the lock, and returns when the new state is saved. `work` is one
   * call, or some, into the module; it may give `documents` back to be saved too. */
  #withState(work) {
    if (this.#closed) return Promise.reject(new FaroError("the client is closed", "invalid"));
    return this.#store.lock("state", async () => {
      const saved = await this.#store.read();
      if (saved.revision !== this.#revision || (saved.mark ?? "") !== this.#mark) this.#reopen(saved);
      const documents = { ...this.#documents };
      try {
        return work(documents);
      } finally {
        await this.#save(saved.revision, documents);
      }
    });
  }

  async #save(revision, documents) {
    const state = this.#module.takeState();
    if (!state) return;
    const changed = Object.keys(documents).some((name) => documents[name] !== this.#documents[name]);
    const mark = hex(crypto.getRandomValues(new Uint8Array(16)));
    this.#revision = -1; // until it is written
    try {
      await this.#store.write({ revision: revision + 1, mark, state, documents: changed ? documents : undefined });
    } catch (error) {
      throw new FaroError(`the state could not be written: ${error?.message ?? error}`, "system");
    }
    this.#documents = documents;
    [this.#revision, this.#mark] = [revision + 1, mark];
  }

  /* Documents. */

  async #get(path, at) {
    const url = `${at}${path}`;
    try {
      return await this.#settings.fetch(url, { ...QUIET, cache: "no-cache", signal: AbortSignal.timeout(1000 * POST_SECONDS) });
    } catch (error) {
      throw new FaroError(`${url} cannot be reached: ${error.message}; if it runs, look at its setting origins`, "system");
    }
  }

  /* Where the analyzer may be: where the newest move says, then where the page says. */
  #addresses() {
    const moved = this.#module.get("web_moved") > 0 ? this.#module.text(this.#module.get("web_analyzer")) : null;
    return [...new Set([moved ?? this.#settings.analyzer, this.#settings.analyzer])];
  }

  /* The bytes of a document, from the first address that answers. `absent`: 404 means that there is none. */
  async #document(path, absent = false) {
    let last;
    for (const at of this.#addresses()) {
      try {
        const answer = await this.#get(path, at);
        if (answer.ok) return { bytes: new Uint8Array(await answer.arrayBuffer()), tag: answer.headers.get("ETag") };
        if (absent && answer.status === 404) return null;
        last = new FaroError(`${at}${path} answered ${answer.status}: ${(await answer.text()).slice(0, 120)}`, "system");
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  /* Addresses and keys may have changed. An analyzer that is behind is no error. */
  async #look() {
    if (this.#settings.fixed) return;
    const move = await this.#document("/v1/move", true);
    if (!move) return;
    await this.#withState((documents) => {
      try {
        this.#take("web_move", move.bytes);
        if (this.#module.get("web_dimension") > 0) this.#module.do("web_save");
        documents.move = move.bytes;
      } catch (error) {
        const other = error.code === "foreign" && this.#module.get("web_dimension") === 0;
        if (error.code !== "old" && !other) throw error;
      }
    });
  }

  async #join() {
    const saved = await this.#store.lock("state", () => this.#store.read());
    this.#openModule(saved.state);
    if (saved.documents.move && !this.#settings.fixed) this.#take("web_move", saved.documents.move);
    const move = this.#settings.fixed ? null : await this.#document("/v1/move", true);
    const campaign = await this.#document("/v1/campaign");
    const policy = await this.#document("/v1/policy");
    await this.#store.lock("state", async () => {
      const now = await this.#store.read();
      const documents = { ...now.documents };
      this.#openModule(now.state);
      for (const bytes of [documents.move, move?.bytes]) if (bytes && !this.#settings.fixed) this.#accept("web_move", bytes, documents, "move");
      this.#take("web_campaign", campaign.bytes);
      if (hex(campaign.bytes) !== hex(documents.campaign ?? [])) Object.assign(documents, { campaign: campaign.bytes, policy: null });
      for (const bytes of [documents.policy, policy.bytes]) if (bytes) this.#accept("web_policy", bytes, documents, "policy");
      if (documents.policy === policy.bytes) documents.tag = policy.tag;
      this.#module.do("web_save");
      await this.#save(now.revision, documents);
    });
  }

  /* Takes a document, unless a newer one was seen, or it is of a campaign that this client has left. */
  #accept(name, bytes, documents, as) {
    try {
      this.#take(name, bytes);
      documents[as] = bytes;
    } catch (error) {
      const left = name === "web_move" && error.code === "foreign";
      if (error.code !== "old" && !left) throw error;
      if (left) documents[as] = null;
    }
  }

  /* Fetches the newest policy. The browser's cache asks by the policy's tag, so one that it has is not sent again. */
  async refresh() {
    try {
      await this.#policy();
    } catch (error) {
      const before = this.#module.get("web_moved");
      await this.#look();
      if (this.#module.get("web_moved") === before) throw error;
      await this.#policy();
    }
    return this.version;
  }

  async #policy() {
    const policy = await this.#document("/v1/policy");
    if (policy.tag && policy.tag === this.#documents.tag) return;
    await this.#withState((documents) => {
      this.#accept("web_policy", policy.bytes, documents, "policy");
      if (documents.policy === policy.bytes) documents.tag = policy.tag;
      this.#module.do("web_save");
    });
  }

  /* Choices and rewards. */

  #rows(features) {
    const dimension = this.dimension;
    features.forEach((row, arm) => {
      if (row.length !== dimension)
        throw new FaroError(`arm ${arm} must have ${dimension} features (got ${row.length})`, "invalid");
    });
    return Float64Array.from(features.flatMap((row) => [...row]));
  }

  /* Chooses an arm: one row of features for each. With an id the choice is kept for its reward, over reloads too. */
  async choose(features, { id } = {}) {
    const rows = this.#rows(features);
    const pick = () => {
      this.#module.lend([rows], (at) => this.#module.do("web_choose", at, features.length));
      const arm = this.#module.get("web_arm");
      return { arm, version: this.version, features: [...features[arm]] };
    };
    if (id === undefined && this.#revision >= 0) return pick();
    return this.#withState(() => {
      const choice = pick();
      if (id !== undefined)
        this.#module.lend([String(id), Float64Array.from(choice.features)], (name, at) => this.#module.do("web_keep", name, at));
      return choice;
    });
  }

  /* The reward of a choice that was kept. It is saved on return, and is on its way unless `automatic` is false. */
  async reward(id, reward) {
    finite("reward", reward);
    await this.#withState(() => this.#module.lend([String(id)], (at) => this.#module.do("web_reward", at, reward)));
    if (this.#settings.automatic) this.#deliver();
  }

  /* The same for a choice that the page has kept itself. */
  async report({ version, features }, reward) {
    finite("reward", reward);
    const row = this.#rows([features]);
    await this.#withState(() => this.#module.lend([row], (at) => this.#module.do("web_add", version, at, reward)));
    if (this.#settings.automatic) this.#deliver();
  }

  /* A kept choice that gets no reward ever. */
  async forget(id) {
    await this.#withState(() => this.#module.lend([String(id)], (at) => this.#module.do("web_forget", at)));
  }

  /* Campaigns in phases: the arm to play now, and whether its reward is asked for. */
  async turn() {
    return this.#withState(() => {
      this.#module.do("web_turn");
      return { arm: this.#module.get("web_arm"), counts: this.#module.get("web_counts") !== 0 };
    });
  }

  /* The reward of an arm that turn named. When all that a plan asks for are there, their averages are reported. */
  async played(arm, reward) {
    finite("reward", reward);
    await this.#withState(() => this.#module.do("web_played", arm, reward));
    if (this.#settings.automatic) this.#deliver();
  }

  /* Sending. */

  /* Whether there may be something to send: fits ask for choices that were reported before. */
  #pending() {
    const { waiting, kept } = this.counts;
    return waiting > 0 || kept > 0 || this.inPhases;
  }

  #deliver() {
    this.flush().then(
      () => (this.#error = null),
      (error) => (this.#error = error),
    );
  }

  /* Sends what waits, and returns the counts. What is not answered stays, for the next time. One tab at a time sends. */
  async flush() {
    this.#sending = (this.#sending ?? Promise.resolve()).catch(() => {}).then(() => this.#store.lock("sending", () => this.#send()));
    await this.#sending;
    return this.counts;
  }

  async #send() {
    let wait = 0;
    let left = false;
    let looks = 0;
    let why = null; // a collector could not be found
    await this.#withState(() => {}); // what other tabs have added
    if (!this.#pending()) return;
    await this.refresh();
    for (let attempt = 1; attempt <= ATTEMPTS && !this.#closed; ) {
      const part = await this.#withState(() => this.#next());
      if (part) {
        const reply = await this.#post(part);
        if ((reply.refusal === ELSEWHERE || !reply.answered) && looks < LOOKS) {
          looks++;
          const found = await this.#findCollector(part, reply.answered).catch((error) => void (why = error));
          if (found) this.#module.get("web_again");
          if (found) continue;
        }
        if (reply.refusal === TWICE) continue;
        left ||= reply.kind === REPLY.again;
        wait = Math.max(wait, reply.after);
        if (reply.refusal === STALE) await this.refresh();
        continue;
      }
      if (!left) return;
      await sleep(Math.min(Math.max(wait, 0.25 * 2 ** attempt * Math.random()), 30));
      this.#module.get("web_again");
      [left, wait] = [false, 0];
      attempt++;
    }
    if (why) throw why;
  }

  /* A part that belongs to another collector, or was sent to one that does not answer: asks the shuffler where its collectors
   * are now. True if the part has another address from now on. */
  async #findCollector({ url, shuffler }, answered) {
    const own = this.#module.text(this.#module.get("web_shuffler_url", shuffler));
    if (own === null || (!answered && url === `${own}/v1/reports`)) return false;
    const answer = await this.#get("/v1/collectors", own);
    if (!answer.ok) return false;
    const list = new Uint8Array(await answer.arrayBuffer());
    return this.#withState(() => {
      this.#takeCollectors(shuffler, list);
      this.#collectors.set(shuffler, list);
      return this.#module.text(this.#module.get("web_address", shuffler)) !== url;
    });
  }

  /* The next part to send, which is saved when this is; null: there is none. */
  #next() {
    this.#module.do("web_next");
    const url = this.#module.text(this.#module.get("web_post_url"));
    if (url === null) return null;
    const bytes = this.#module.bytes(this.#module.get("web_post_bytes"), this.#module.get("web_post_length"));
    return { url, bytes, shuffler: this.#module.get("web_post_shuffler") };
  }

  async #post({ url, bytes }) {
    let [status, body, after] = [0, new Uint8Array(0), 0];
    this.#settings.onSend({ url, bytes });
    try {
      const answer = await this.#settings.fetch(url, {
        ...QUIET,
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: bytes,
        cache: "no-store",
        signal: AbortSignal.timeout(1000 * POST_SECONDS),
      });
      body = new Uint8Array(await answer.arrayBuffer());
      after = Number(answer.headers.get("Retry-After")) || 0;
      status = answer.status;
    } catch {
      // no answer: the same bytes are sent again
    }
    const reply = await this.#withState(() => this.#answer(bytes, status, body, after));
    return { ...reply, answered: status !== 0 };
  }

  /* Tells the queue what came back. If another tab has changed the state meanwhile, the queue was read again and has to hand
   * out the part once more; parts before it wait. */
  #answer(bytes, status, body, after) {
    const give = (...answer) => this.#module.lend([body], (at) => this.#module.do("web_answer", answer[0], at, answer[1], answer[2]));
    for (let part = this.#next(); part; part = this.#next()) {
      if (hex(part.bytes) === hex(bytes)) {
        give(status, body.length, after);
        return {
          kind: this.#module.get("web_reply_kind"),
          refusal: this.#module.get("web_reply_refusal"),
          after: this.#module.get("web_reply_after"),
        };
      }
      give(0, 0, 0);
    }
    return { kind: REPLY.done, refusal: 0, after: 0 };
  }

  /* What the client knows. */

  get terms() {
    return this.#module.members(0);
  }

  get claim() {
    const { epsilon, delta, trust, userLevel, contributions, aloneEpsilon, aloneDelta, totalEpsilon, totalDelta } = this.terms;
    return {
      epsilon,
      delta,
      trust,
      level: userLevel ? "user" : "event",
      contributions,
      total: { epsilon: totalEpsilon, delta: totalDelta },
      alone: aloneEpsilon > 0 ? { epsilon: aloneEpsilon, delta: aloneDelta } : null,
    };
  }

  get counts() {
    return this.#module.members(1);
  }

  get shufflers() {
    const count = this.terms?.shufflers ?? 0;
    return Array.from({ length: count }, (_, i) => ({
      url: this.#module.text(this.#module.get("web_pin_url", i)),
      key: hex(this.#module.bytes(this.#module.get("web_pin_key", i), KEY_DIGITS / 2)),
    }));
  }

  get digest() {
    const at = this.#module.get("web_digest");
    return at === 0 ? null : hex(this.#module.bytes(at, KEY_DIGITS / 2));
  }

  get inPhases() {
    return this.#module.get("web_in_phases") !== 0;
  }

  get honest() {
    return this.terms.honest;
  }

  get batch() {
    return this.terms.batch;
  }

  get version() {
    return this.#module.get("web_version");
  }

  get sequence() {
    return this.#module.get("web_sequence");
  }

  get dimension() {
    return this.#module.get("web_dimension");
  }

  get over() {
    return this.#module.get("web_over") !== 0;
  }

  /* Why the last delivery in the background failed; null: it did not. */
  get lastError() {
    return this.#error;
  }

  /* Wipes what the module holds. The state stays in the browser. */
  close() {
    this.#closed = true;
    this.#module.get("web_close");
  }
}

/* The version of the library inside the module. */
export async function version(wasm) {
  const module = new Module(await compile(wasm));
  return module.text(module.get("web_library"));
}
