/** The client of a device: see docs/local.md for a walk, docs/wire-format.md for the rules. */

/**
 * What a device may hold. Where a task lists or hashes values, numbers with nothing after the point are whole numbers and
 * other numbers are nothing. A task about several numbers takes a list of them, in order.
 */
export type Value = number | bigint | boolean | string | Uint8Array | null | undefined | number[];

/** An amount of epsilon: a number as it is written, or a rational in text such as "1/3". */
export type Amount = number | string;

/** Where a device remembers: one text, written whole or not at all. */
export interface Store {
  /** How errors call it. */
  name?: string;
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}

/** Forgets when the page is closed: for experiments only. */
export function memoryStore(): Store;
/** The browser's IndexedDB. */
export function indexedDbStore(name?: string): Store;
/** A file, in Node. One program at a time may use it. */
export function fileStore(path: string): Store;

export interface ClientOptions {
  /** Where the collector is, or the shuffler of tasks that name one; or an address for every question. */
  url: string | Record<string, string>;
  /** For every question the digest of the one task that may ask it; in a list, then those it takes the place of. */
  pins: Record<string, string | string[]>;
  /** The most that one report may cost. */
  report: Amount;
  /** The most that all reports of one local day may cost. */
  day: Amount;
  /** The most that all reports ever may cost. */
  life: Amount;
  store: Store;
  /** For questions whose task names a public file of candidates: its content. */
  labels?: Record<string, string>;
  /** Tells the time; it is never sent. */
  clock?: () => Date;
}

/** Why a client did not answer. */
export class Refused extends Error {
  constructor(reason: Refused["reason"], message: string);
  readonly reason: "ceiling" | "task" | "closed" | "full";
}

export class Client {
  constructor(options: ClientOptions);
  /** Take a task that came some other way than from the collector. */
  use(text: string): Promise<void>;
  /** Charge, randomise and queue one answer. */
  report(question: string, value: Value): Promise<void>;
  /** Try once to send what waits; what is not acknowledged stays, and is sent again as it is. */
  flush(): Promise<{ sent: number; waiting: number; refused: number }>;
  /** What the reports of this device have cost: on its last day, and ever. */
  spent(): Promise<{ today: number; life: number }>;
}

/** Draws from WebCrypto, or from given bytes for test vectors. */
export class Coins {
  constructor(given?: Uint8Array);
  readonly used: number;
  bytes(n: number): Uint8Array;
  toss(digits: Uint8Array): boolean;
  below(bound: number): number;
}

/** Turns values into reports of one task; refuses one that is not sound. Use `Client`, unless you simulate devices. */
export class Device {
  constructor(task: string | object, labels?: string[]);
  code(value: Value): number;
  report(value: Value, coins: Coins, secret?: Uint8Array): Promise<Uint8Array>;
}

/** Write a frame of one report, or of a batch, under a key of 16 fresh random bytes. */
export function frame(reports: Uint8Array[], key?: Uint8Array): Uint8Array;
/** Seal the frame of one report to the collector, and the result to the shuffler. Needs X25519 in WebCrypto. */
export function seal(shuffle: { collector: string; shuffler: string }, digest: string, frame: Uint8Array): Promise<Uint8Array>;
/** A value as every language has it. */
export function plain(value: Value): number | bigint | boolean | string | Uint8Array | null;
export function hex(bytes: Uint8Array): string;
export function unhex(text: string): Uint8Array;
