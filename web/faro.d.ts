/* Types of faro.mjs. docs/browser.md is the guide. */

/** Why a call failed. The message is that of the library, and names the value and what is allowed. */
export class FaroError extends Error {
  /**
   * weak: the campaign promises less than the minimum; foreign: another campaign than the one this client is in; old: an
   * older policy than one seen before; late: the choice has waited longer than the campaign allows; over: the campaign has
   * ended; spent: all reports that the claim covers are made; system: network, storage or browser.
   */
  readonly code: "invalid" | "weak" | "foreign" | "old" | "late" | "over" | "spent" | "memory" | "system" | "interrupted";
}

export interface Shuffler {
  /** As the campaign names it. */
  url: string;
  /** Public key, 64 hexadecimal digits. */
  key: string;
}

export interface Options {
  /** Address of the analyzer: https://, or on this machine. */
  analyzer: string;
  /** The analyzer's public signing key, pinned: 64 hexadecimal digits. */
  key: string;
  /** The secret by which shufflers know this person: 64 hexadecimal digits, from the page's own server after a login. */
  token: string;

  /** The minimum: campaigns that promise less are refused. Greatest epsilon; 1 by default. */
  epsilon?: number;
  /** Greatest delta; 1e-6 by default. */
  delta?: number;
  /** Weakest trust model; shuffle by default. */
  trust?: "local" | "shuffle" | "concurrent" | "joint";
  /** user, the default: the claim must cover all reports of a person together. */
  level?: "user" | "event";
  /** Greatest share of a batch on whose noise the claim may count; 0.95 by default, 1: any. */
  honest?: number;
  /** The shufflers to trust, pinned. Without them the analyzer may name any. */
  shufflers?: Shuffler[];
  /** Allows plain http:// beyond this machine. */
  insecure?: boolean;
  /** Refuses all moves of addresses and keys. */
  fixed?: boolean;

  /** Choices to keep, 2 .. 1000; then the oldest is dropped. 100 by default. */
  keep?: number;
  /** true, the default: rewards are sent at once. false: the page calls flush. */
  automatic?: boolean;
  /** Names the client in this browser's storage; made from analyzer and token by default. */
  name?: string;
  /** Where the state is kept; IndexedDB and Web Locks by default. */
  store?: Store;
  /** faro.wasm as URL, bytes or module; the file beside faro.mjs by default. */
  wasm?: string | URL | Uint8Array | ArrayBuffer | WebAssembly.Module;
  /** Used instead of the global fetch. */
  fetch?: typeof fetch;
  /** Called with every report before it leaves, to show it. */
  onSend?: (part: { url: string; bytes: Uint8Array }) => void;
}

export interface Saved {
  revision: number;
  /** Random: another state of the same revision has another one. */
  mark?: string;
  state: Uint8Array | null;
  documents: Record<string, unknown>;
}

/** What a client must not forget. write must be durable on return, and lock must hold over everything that shares the state. */
export interface Store {
  read(): Promise<Saved>;
  write(saved: { revision: number; mark: string; state: Uint8Array; documents?: Record<string, unknown> }): Promise<void>;
  lock<T>(what: "state" | "sending", work: () => Promise<T> | T): Promise<T>;
}

/** Forgets everything when it goes: for tests and for programs that run once. */
export class MemoryStore implements Store {
  read(): Promise<Saved>;
  write(saved: { revision: number; mark: string; state: Uint8Array; documents?: Record<string, unknown> }): Promise<void>;
  lock<T>(what: "state" | "sending", work: () => Promise<T> | T): Promise<T>;
}

export interface Choice {
  /** Number of the chosen row, from 0. */
  arm: number;
  /** Version of the policy that chose it. */
  version: number;
  /** The chosen row. */
  features: number[];
}

export interface Claim {
  epsilon: number;
  delta: number;
  trust: "local" | "shuffle" | "concurrent" | "joint";
  level: "user" | "event";
  /** The most reports of a person that it covers. */
  contributions: number;
  /** With what earlier campaigns on the same people have spent. */
  total: { epsilon: number; delta: number };
  /** Even if shufflers and analyzer collude; null: nothing then. */
  alone: { epsilon: number; delta: number } | null;
}

/** As faro_client_terms in faro/client.h. */
export interface Terms {
  campaign: string;
  release: string;
  analyzer: string;
  epsilon: number;
  delta: number;
  totalEpsilon: number;
  totalDelta: number;
  trust: string;
  userLevel: boolean;
  contributions: number;
  aloneEpsilon: number;
  aloneDelta: number;
  honest: number;
  batch: number;
  largest: number;
  batches: number;
  wait: number;
  arms: number;
  norm: number;
  low: number;
  high: number;
  shufflers: number;
  /** Counts are split between shuffler and adder: neither sees them if it follows the protocol. */
  split: boolean;
}

export interface Counts {
  /** Choices without a reward. */
  open: number;
  /** Rewards that are not delivered. */
  waiting: number;
  /** Choices that count, and are kept for fits. */
  kept: number;
  delivered: number;
  refused: number;
  late: number;
  dropped: number;
  /** Fits that were answered. */
  again: number;
  /** Plans that had ended before what was played could count. */
  ended: number;
}

export class Client {
  private constructor();
  /** Verifies campaign and policy, and goes on from what this browser has kept. */
  static open(options: Options): Promise<Client>;

  /** Chooses one of the rows of features. With an id the choice is kept until its reward comes, over reloads too. */
  choose(features: ArrayLike<number>[], options?: { id?: string }): Promise<Choice>;
  /** The reward of a kept choice: saved on return, then reported with noise. */
  reward(id: string, reward: number): Promise<void>;
  /** The same for a choice that the page has kept itself. */
  report(choice: Pick<Choice, "version" | "features">, reward: number): Promise<void>;
  /** A kept choice that gets no reward ever. */
  forget(id: string): Promise<void>;
  /** Campaigns in phases: the arm to play now, and whether its reward is asked for. */
  turn(): Promise<{ arm: number; counts: boolean }>;
  /** The reward of an arm that turn named. */
  played(arm: number, reward: number): Promise<void>;
  /** Sends what waits. What is not answered stays for the next time. */
  flush(): Promise<Counts>;
  /** Fetches the newest policy, and returns its version. */
  refresh(): Promise<number>;
  /** Wipes the module. The state stays in the browser. */
  close(): void;

  /** Whether the campaign is in phases: then turn and played take the place of choose and reward. */
  readonly inPhases: boolean;
  readonly claim: Claim;
  readonly terms: Terms;
  readonly counts: Counts;
  readonly honest: number;
  readonly batch: number;
  /** As the campaign was founded: what to pin. */
  readonly shufflers: Shuffler[];
  /** Digest of the campaign. */
  readonly digest: string | null;
  readonly version: number;
  readonly sequence: number;
  readonly dimension: number;
  readonly over: boolean;
  readonly lastError: Error | null;
}

/** The version of the library inside the module. */
export function version(wasm?: Options["wasm"]): Promise<string>;
