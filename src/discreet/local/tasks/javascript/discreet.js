/**
 * The client of a device, in the browser or in Node: it decides whether to answer a task of a collector, pays for the
 * report, and brings it there. To it the server is the adversary. No dependencies. The rules are those of
 * docs/wire-format.md: for the same coins it sends the same bytes as the client in Python.
 */

const RULES = 1, BATCH = 100, MOST_WAITING = 1000, LONGEST_PAUSE = 3600e3;
const P = 2n ** 61n - 1n, WORD = 2n ** 64n, HALF = 2 ** 30;
const big = BigInt, small = Number, { isArray } = Array, { isSafeInteger } = Number;
const { abs, ceil, floor, min } = Math, { entries, keys } = Object, { parse, stringify } = JSON;
const bytesOf = (...x) => Uint8Array.from(...x), { crypto } = globalThis;
const random = (n) => crypto.getRandomValues(new Uint8Array(n)), cut = (x) => big.asUintN(64, x);

// ---- bytes

export const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const isHex = (text, length) => text?.length === length && !/[^\da-f]/.test(text);
export const unhex = (text) => bytesOf(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const joined = (...parts) => bytesOf(parts.flatMap((part) => [...part]));

const utf8 = (text) => new TextEncoder().encode(text);

const word8 = (number) => {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, cut(big(number)), true);
  return out;
};

const { subtle } = crypto, SHA = "SHA-256";
const sha256 = async (bytes) => new Uint8Array(await subtle.digest(SHA, bytes));
async function hmac(key, message) {
  const usable = await subtle.importKey("raw", key, { name: "HMAC", hash: SHA }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", usable, message));
}

/** JSON the one way: sorted keys, no blanks. */
const canonical = (x) =>
  isArray(x) ? `[${x.map(canonical)}]`
  : x && typeof x === "object" ? `{${keys(x).sort().map((k) => stringify(k) + ":" + canonical(x[k]))}}`
  : stringify(x);

// ---- exact amounts: [numerator, denominator]

function amount(value) {
  const found = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?(?:\/([1-9]\d*))?$/i.exec(value);
  if (!found) throw Error("not an amount: " + value);
  const [, whole, rest = "", power = 0, under = 1] = found, shift = power - rest.length;
  const [x, y] = [big(whole + rest), big(under)];
  return shift < 0 ? [x, y * 10n ** big(-shift)] : [x * 10n ** big(shift), y];
}
const more = (a, b) => a[0] * b[1] > b[0] * a[1];
function plus(a, b) {
  let [x, y] = [a[0] * b[1] + b[0] * a[1], a[1] * b[1]];
  const sum = [x, y];
  while (y) [x, y] = [y, x % y];
  return [sum[0] / x, sum[1] / x];
}
const shown = (a) => (a[1] === 1n ? String(a[0]) : `${a[0]}/${a[1]}`);
const near = (a) => small((a[0] * 10n ** 12n) / a[1]) / 1e12;

// ---- coins

/** Draws from random bytes: those of WebCrypto, or given ones for test vectors. */
export class Coins {
  constructor(given) {
    this.given = given !== undefined;
    this.buffer = given ?? new Uint8Array(0);
    this.used = 0;
  }
  byte() {
    if (this.used === this.buffer.length) {
      if (this.given) throw Error("no coins left");
      this.buffer = random(256);
      this.used = 0;
    }
    return this.buffer[this.used++];
  }
  bytes(n) {
    return bytesOf({ length: n }, () => this.byte());
  }
  /** Is a uniform U below the number with these base-256 digits? A tie of all digits is a no. */
  toss(digits) {
    for (const digit of digits) {
      const drawn = this.byte();
      if (drawn !== digit) return drawn < digit;
    }
    return false;
  }
  /** A uniform whole number below a bound: masked bytes, drawn again while too large. */
  below(bound) {
    for (;;) {
      const number = this.number(bitsFor(bound));
      if (number < bound) return number;
    }
  }
  number(bits) {
    return this.bytes(ceil(bits / 8)).reduce((sum, byte) => sum * 256 + byte, 0) % 2 ** bits;
  }
}

const bitsFor = (n) => (n - 1).toString(2).length;

// ---- hashing

function siphash(key, message) {
  const view = new DataView(key.buffer, key.byteOffset, 16);
  const turn = (x, n) => cut(x << n) | (x >> (64n - n));
  const k0 = view.getBigUint64(0, true), k1 = view.getBigUint64(8, true);
  let a = k0 ^ 0x736f6d6570736575n, b = k1 ^ 0x646f72616e646f6dn;
  let c = k0 ^ 0x6c7967656e657261n, d = k1 ^ 0x7465646279746573n;
  const round = () => {
    a = cut(a + b); c = cut(c + d); b = turn(b, 13n) ^ a; d = turn(d, 16n) ^ c; a = turn(a, 32n);
    c = cut(c + b); a = cut(a + d); b = turn(b, 17n) ^ c; d = turn(d, 21n) ^ a; c = turn(c, 32n);
  };
  const padded = new Uint8Array((message.length + 8) & ~7);
  padded.set(message);
  padded[padded.length - 1] = message.length & 255;
  const words = new DataView(padded.buffer);
  for (let i = 0; i < padded.length; i += 8) {
    const word = words.getBigUint64(i, true);
    d ^= word; round(); round(); a ^= word;
  }
  c ^= 255n;
  for (let i = 0; i < 4; i++) round();
  return a ^ b ^ c ^ d;
}

/** A value as every language has it: a whole number, a truth value, text in NFC form, bytes, or nothing. */
export function plain(value) {
  if (typeof value === "number") return isSafeInteger(value) ? value : null;
  if (typeof value === "string") return value.normalize("NFC");
  return ["bigint", "boolean"].includes(typeof value) || value instanceof Uint8Array ? value : null;
}

function fingerprint(key, value) {
  const v = plain(value);
  if (v === null) return siphash(key, bytesOf([0]));
  if (typeof v === "string") return siphash(key, joined(utf8(v), [2]));
  return siphash(key, v instanceof Uint8Array ? joined(v, [2]) : joined(word8(v), [1]));
}

/** The bucket of a point under function j. Coefficients of rows are kept: they come again. */
function bucket(device, point, j, width, independence) {
  let terms = device.terms.get(j);
  if (!terms) {
    terms = Array.from({ length: independence }, (_, i) => siphash(device.key, joined(word8(j), [i, 3])) % P);
    if (device.terms.size < 4096) device.terms.set(j, terms);
  }
  let h = 0n;
  for (let i = independence; i--; ) h = (h * point + terms[i]) % P;
  return small((h * big(width)) >> 61n);
}

const hashed = (device, value, row, independence = 3) =>
  bucket(device, fingerprint(device.key, value) % P, row, device.m.width, independence);

// ---- one report

/** Lay out a number below a bound, lowest bit first. */
const put = (bits, value, bound) => {
  for (let n = bitsFor(bound); n--; value = floor(value / 2)) bits.push(value % 2);
};
const parity = (x) => {
  let odd = 0;
  for (; x; x = floor(x / 2)) odd ^= x % 2;
  return odd;
};
const and = (x, y) => small(big(x) & big(y));
const total = (row) => row.reduce((x, y) => x + y, 0);
const rising = (chosen) => [...chosen].sort((x, y) => x - y);

/** A uniform subset (Bentley and Floyd 1987), from draws below the bounds given in turn. */
function floyd(size, taken, draw) {
  const chosen = new Set();
  for (let last = size - taken; last < size; last++) {
    const ticket = draw(last + 1);
    chosen.add(chosen.has(ticket) ? last : ticket);
  }
  return rising(chosen);
}

/** Points of the geometry: coordinates, points on a hyperplane, points in all. */
function geometry(order, size) {
  let [length, points, on] = [2, order + 1, 1];
  while (points < size) [length, points, on] = [length + 1, points * order + 1, points];
  return { length, points, on };
}

/** A power modulo q. */
function power(base, exponent, q) {
  let [out, b] = [1n, big(base)];
  for (let e = exponent; e; e = floor(e / 2), b = (b * b) % q) if (e % 2) out = (out * b) % q;
  return out;
}

const MAKERS = {
  "direct-response"(device, value, coins, bits) {
    device.respond(bits, device.known(value, coins), device.size, coins);
  },
  "unary-encoding"(device, value, coins, bits) {
    const code = device.known(value, coins);
    for (let i = 0; i < device.size; i++) bits.push(+coins.toss(device.coins[i === code ? "held" : "other"]));
  },
  "subset-selection"(device, value, coins, bits) {
    const { m, size } = device;
    const code = device.known(value, coins), held = coins.toss(device.coins.hold);
    const others = floyd(size - 1, m.size - held, (bound) => coins.below(bound));
    const chosen = rising([...others.map((x) => x + (x >= code)), ...(held ? [code] : [])]);
    if (m.size * bitsFor(size) <= size) for (const x of chosen) put(bits, x, size);
    else for (let i = 0; i < size; i++) bits.push(+chosen.includes(i));
  },
  "local-hashing"(device, value, coins, bits) {
    const { m } = device;
    let seed;
    if (m.pool === null) {
      seed = coins.bytes(8).reduceRight((sum, byte) => sum * 256n + big(byte), 0n) >> 1n;
      put(bits, small(seed % 2n ** 32n), 2 ** 32);
      put(bits, small(seed >> 32n), 2 ** 31);
    } else put(bits, (seed = coins.below(m.pool)), m.pool);
    device.respond(bits, hashed(device, value, seed, m.pool === null ? 2 : 3), m.width, coins);
  },
  "prefix-extension"(device, value, coins, bits) {
    const { m } = device, letters = [...m.alphabet], groups = m.steps.length;
    const group = coins.below(groups), row = coins.below(m.pool);
    let text = plain(value);
    if (text instanceof Uint8Array) text = plain(new TextDecoder("utf-8", { ignoreBOM: true }).decode(text));
    else if (typeof text !== "string") text = letters.includes("0") && text !== null && text !== !!text ? String(text) : "";
    const symbol = (c) => {
      let place = letters.indexOf(c);
      if (place < 0) place = letters.findIndex((x) => x.toUpperCase() === c && c.toLowerCase() === x);
      return 1 + (place < 0 ? [...letters, m.other].indexOf(m.other) : place);
    };
    const symbols = Array.from(text, symbol), each = bitsFor(letters.length + 1 + !letters.includes(m.other));
    const known = m.steps.slice(0, group + 1).reduce((x, y) => x + y), packed = [];
    for (let i = 0; i < known; i++) {
      const bit = (symbols[floor(i / each)] >> (each - 1 - (i % each))) & 1;
      packed[i >> 3] |= bit << (7 - (i & 7));
    }
    put(bits, group, groups);
    put(bits, row, m.pool);
    device.respond(bits, hashed(device, bytesOf([...packed, group]), row), m.width, coins);
  },
  "hadamard-response"(device, value, coins, bits) {
    const code = device.known(value, coins), length = bitsFor(device.size), reduced = [];
    let word = 0;
    while (reduced.length < device.m.bits) {
      const vector = coins.number(length);
      const rest = reduced.reduce((x, one) => min(x, small(big(x) ^ big(one))), vector);
      if (!rest) continue;
      word += parity(and(vector, code)) * 2 ** reduced.length;
      reduced.push(rest);
      put(bits, vector, 2 ** length);
    }
    device.respond(bits, word, 2 ** device.m.bits, coins);
  },
  "projective-geometry"(device, value, coins, bits) {
    const { order } = device.m, q = big(order), { length, points } = geometry(order, device.size);
    let number = device.known(value, coins);
    const on = coins.toss(device.coins.on), vector = [];
    for (; number--; number = floor(number / order)) vector.unshift(number % order);
    vector.unshift(1);
    while (vector.length < length) vector.unshift(0);
    const lead = vector.indexOf(1), point = Array(length).fill(0);
    while (!point.some(Boolean)) {
      let rest = on ? 0n : 1n;
      for (let k = 0; k < length; k++) {
        if (k === lead) continue;
        point[k] = coins.below(order);
        rest -= big(point[k]) * big(vector[k]);
      }
      point[lead] = small(((rest % q) + q) % q);
    }
    const first = point.findIndex(Boolean), factor = power(point[first], order - 2, q);
    number = 0;
    for (const p of point.slice(first + 1)) number = number * order + 1 + small((big(p) * factor) % q);
    put(bits, number, points);
  },
  "count-mean-sketch"(device, value, coins, bits) {
    const { m } = device, row = coins.below(m.n_hashes);
    const found = hashed(device, value, row);
    for (let b = 0; b < m.width; b++) bits.push(coins.toss(device.coins.flip) ^ (b === found));
    put(bits, row, m.n_hashes);
  },
  "hadamard-sketch"(device, value, coins, bits) {
    const { m } = device, first = +m.skip_zero;
    const row = coins.below(m.n_hashes), index = coins.below(m.width - first) + first;
    bits.push(1 ^ parity(and(index, hashed(device, value, row))) ^ coins.toss(device.coins.flip));
    put(bits, row, m.n_hashes);
    put(bits, index, m.width);
  },
  async "bit-flip"(device, value, coins, bits, secret) {
    const { m, size } = device, code = device.code(value);
    let indices, flipped;
    if (m.memoised) {
      const { epsilon, domain } = m;
      const personal = await memo(secret, { stored: "bit-flip", version: 1, epsilon, domain, bits: m.bits });
      indices = floyd(size, m.bits, storedBelow(personal.subarray(16)));
      const coin = await stored(personal, indices.includes(code) ? code : size);
      flipped = (i) => coin(i) < device.coins.stored;
    } else {
      indices = floyd(size, m.bits, (bound) => coins.below(bound));
      flipped = () => coins.toss(device.coins.flip);
    }
    if (m.bits < size) for (const x of indices) put(bits, x, size);
    indices.forEach((x, i) => bits.push(flipped(i) ^ (x === code)));
  },
  async rappor(device, value, coins, bits, secret) {
    const { m } = device, { f, hashes, cohorts, key } = m;
    const personal = await memo(secret, { stored: "rappor", version: 1, f, bits: m.bits, hashes, cohorts, key });
    const cohort = storedBelow(personal.subarray(16))(cohorts);
    const print = fingerprint(device.key, value), coin = await stored(personal, print), bloom = new Set();
    for (let i = 0; i < hashes; i++) bloom.add(bucket(device, print % P, cohort * hashes + i, m.bits, 3));
    for (let i = 0; i < m.bits; i++) {
      const permanent = bloom.has(i) !== coin(i) < device.coins.stored;
      bits.push(+coins.toss(device.coins[permanent ? "one" : "zero"]));
    }
    put(bits, cohort, cohorts);
  },
  "own-oracle"(device, value, coins, bits) {
    const row = device.m.weights[device.known(value, coins)];
    let ticket = coins.below(total(row)), report = 0;
    while (ticket >= row[report]) ticket -= row[report++];
    put(bits, report, row.length);
  },
  "square-wave"(device, value, coins, bits) {
    const { m } = device, { buckets, reach } = m, found = bucketOf(value, m);
    const point = device.near(found < 0 ? coins.below(buckets) : found, 2 * reach + 1, buckets - 1, coins);
    put(bits, point, buckets + 2 * reach);
  },
  "mean-response"(device, value, coins, bits) {
    const { m } = device;
    put(bits, said(device, value, m.low, m.high, coins), outputs(m, device.kind));
  },
  "mean-vector"(device, value, coins, bits) {
    const { m } = device, { low, high } = m, d = low.length, taken = [];
    for (let left = d; taken.length < sent(m, d); left--) {
      let ticket = coins.below(left);
      for (const earlier of rising(taken)) ticket += ticket >= earlier;
      taken.push(ticket);
    }
    const values = isArray(value) && value.length === d ? value : [];
    for (const i of taken) {
      put(bits, i, d);
      put(bits, said(device, values[i], low[i], high[i], coins), outputs(m, device.kind));
    }
  },
};

// ---- numbers, by whole-number arithmetic alone

/** A bound as it is written: a decimal, as the exact rational [numerator, denominator > 0]. */
const bound = (text) => {
  const [x, y] = amount(text.replace("-", ""));
  return [text[0] === "-" ? -x : x, y];
};
/** The double nearest to a number, as an exact rational; an infinite one as the bound next to it. Nothing for the rest. */
function rational(value, low, high) {
  let x = ["number", "bigint", "boolean"].includes(typeof value) ? small(value) : NaN, under = 1n;
  if (isNaN(x)) return undefined;
  if (abs(x) === Infinity) return bound(x < 0 ? low : high);
  for (; x % 1; x *= 2) under *= 2n;
  return [big(x), under];
}
/** How many whole parts of the range lie below a number, from 0 to all of them. */
function share([x, y], low, high, parts) {
  const [a, b] = bound(low), [c, d] = bound(high), all = big(parts);
  const found = ((x * b - a * y) * d * all) / (y * (c * b - a * d));
  return small(found < 0n ? 0n : found < all ? found : all);
}
/** The whole part of a square root (Newton). */
function root(n) {
  for (let x = 1n << big(ceil(n.toString(2).length / 2)); ; ) {
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
}
function bucketOf(value, { low, high, buckets, scale }) {
  const found = rational(value, low, high);
  if (!found) return -1;
  if (scale === "linear") return min(share(found, low, high, buckets), buckets - 1);
  const [a, b] = bound(low), fixed = ([x, y]) => (x * b * WORD) / (y * a), x = fixed(found);
  let first = WORD, last = fixed(bound(high)), number = 0;
  for (let size = buckets; size > 1; size /= 2) {
    const middle = root(first * last), above = x >= middle;
    number = 2 * number + above;
    if (above) first = middle;
    else last = middle;
  }
  return number;
}
/** A point or a sign for a number; what is not one counts as the middle. */
function said(device, value, low, high, coins) {
  const { steps, window } = device.m, found = rational(value, low, high);
  const place = found ? floor((share(found, low, high, 4 * HALF) + 1) / 2) : HALF, kind = device.kind;
  if (kind === "piecewise" || (kind === "hybrid" && coins.toss(device.coins.choice))) {
    const scaled = (steps - window) * place, up = coins.below(HALF) < scaled % HALF;
    return device.near(floor(scaled / HALF) + up, 2 * window + 1, 2 * (steps - window), coins);
  }
  const likely = coins.toss(device.coins.informed) ? place : HALF;
  return (kind === "hybrid" ? 2 * steps + 1 : 0) + (coins.below(2 * HALF) < likely);
}
/** How many of some numbers a report holds, and by which law each is told. */
const sent = (m, d) => min(d, Math.max(1, small((2n * amount(m.epsilon)[0]) / (5n * amount(m.epsilon)[1]))));
const kindOf = (m, d) => {
  const [x, y] = amount(m.epsilon);
  return m.method === "hybrid" && !more([x, y * big(sent(m, d))], [61n, 100n]) ? "duchi" : m.method;
};
const outputs = ({ steps }, kind) => (kind === "duchi" ? 2 : 2 * steps + (kind === "hybrid" ? 3 : 1));

/** The personal key of the one user of a device. */
async function memo(secret, context) {
  const users = await hmac(secret, utf8("discreet users"));
  const user = siphash(users, joined(utf8("device"), [2]));
  return hmac(secret, joined(await sha256(utf8(canonical(context))), word8(user)));
}
const storedWord = (key, place) => siphash(key, joined(word8(place), [4]));
function storedBelow(key) {
  let place = 0;
  return (bound) => {
    for (;;) {
      const word = storedWord(key, place++);
      if (word >= WORD % big(bound)) return small(word % big(bound));
    }
  };
}
async function stored(personal, value) {
  const key = await hmac(personal.subarray(0, 16), word8(value));
  return (place) => storedWord(key, place);
}

// ---- what a task may ask

/** Is a/b at most e^(n/d)? Exactly: the series is summed in whole numbers, up to 2^320, until that decides. */
function within(a, b, [n, d]) {
  for (let bits = 640n; ; bits *= 2n) {
    let sum = 0n;
    for (let i = 1n, term = 1n << bits; term; term = (term * n) / (d * i++)) sum += term;
    if (a << bits <= b * sum) return true;
    if (a << bits > b * (sum + (1n << 320n))) return false;
  }
}

const isWhole = (x, low, high) => isSafeInteger(x) && x >= low && x <= high;
const isText = (x) => typeof x === "string" && x.normalize("NFC") === x && !/\p{Cs}/u.test(x);
const isName = (x) => typeof x === "string" && x.trim() && [...x].length <= 100 && !/(?! )[\p{C}\p{Z}]/u.test(x);
const isTime = (x) => /^[1-9]\d{3}-.{14}Z$/.test(x) && !isNaN(new Date(x)) && new Date(x).toISOString() === x.slice(0, 19) + ".000Z";
const isList = (x) => isArray(x) && x.length > 1 && new Set(x).size === x.length && x.every((y) => isText(y) || isSafeInteger(y));
const isDomain = (x) => isWhole(x, 2, 2 ** 32) || (isList(x) && new Set(x.map(String)).size === x.length);
const has = (x, fields) => !isArray(x) && String(keys(x).sort()) === fields;
/** A rational in lowest terms, as text of at most so many digits. */
const exact = (text, digits = 400) => {
  const found = typeof text === "string" && text.length < 5e3 && /^\d+(\/[1-9]\d*)?$/.test(text) && amount(text);
  if (!found || shown(plus(found, [0n, 1n])) !== text || String(found[1]).length > digits) throw Error();
  return found;
};

/** A bound: the shortest decimal of a double, without an exponent. */
const isBound = (text) => {
  const x = typeof text === "string" ? small(text) : NaN, found = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(x);
  if (!found) return false;
  const [, sign, whole, rest = "", power = 0] = found, digits = whole + rest, point = whole.length + +power;
  const before = digits.slice(0, Math.max(point, 0)).padEnd(point, "0") || "0";
  const after = point < 0 ? "0".repeat(-point) + digits : digits.slice(point);
  return text === sign + before + (after && "." + after);
};
/** Bounds in order, and not too far apart for a double. */
const isRange = (low, high) => isBound(low) && isBound(high) && small(low) < small(high) && isFinite(high - low);
/** A number's report: how many points it has, and what its coins cost. `parts` numbers share the budget. */
const isSaid = ({ method, steps, window }, kind, parts, { paid, heads, largest }) => {
  const pair = (name, f) => f(heads(name), unit(name));
  return ["hybrid", "piecewise", "duchi"].includes(method) && isWhole(steps, 1, 2 ** 20) && isWhole(window, 0, steps - 1)
    && (kind === "duchi" || paid("keep", 2 * (steps - window), 2 * window + 1, parts))
    && (kind === "piecewise" || pair("informed", (x, all) => largest(all + x, all - x, 1, 1, parts)))
    && (kind !== "hybrid" || pair("choice", (x, all) => largest(all, all - x, 1, 1, 2 * parts, 0n)));
};
/** Of every mechanism: its fields, and whether they and its coins are sound. `paid` and `turned` look at one coin each. */
const KINDS = {
  __proto__: null,
  "direct-response": ["domain,epsilon,mechanism", (m, d, { paid }) => paid("keep", d - 1)],
  "unary-encoding": ["domain,epsilon,mechanism,variant", ({ variant }, d, { paid, turned, heads }) =>
    variant === "symmetric" ? paid("held", 1, 1, 2) && turned("other", 2)
    : variant === "optimised" && heads("held") === 1n << 127n && turned("other")],
  "subset-selection": ["domain,epsilon,mechanism,size", ({ size }, d, { paid }) =>
    isWhole(size, 1, d - 1) && paid("hold", d - size, size)],
  "local-hashing": ["candidates,epsilon,key,mechanism,pool,width", ({ candidates, pool, width }, d, { paid }) =>
    isWhole(width, 2, 2 ** 32) && (pool === null ? isDomain(candidates) : candidates === null && isPool(pool, width))
    && paid("keep", width - 1)],
  "prefix-extension": ["alphabet,bits,epsilon,key,length,mechanism,other,pool,steps,width", (m, d, { paid }) => {
    const { alphabet, other, steps, width, pool } = m, letters = [...alphabet];
    const each = bitsFor(letters.length + 1 + !letters.includes(other));
    return typeof alphabet === "string" && isWhole(letters.length, 1, 65534) && new Set(letters).size === letters.length
      && letters.every(isText) && isText(other) && [...other].length === 1 && m.bits === null && isWhole(m.length, 1, 256)
      && isArray(steps) && steps.length < 65 && steps.every((x) => isWhole(x, 1, 20))
      && steps.reduce((x, y) => x + y) === m.length * each
      && isWhole(width, 2, 65536) && isPool(pool, width * steps.length) && paid("keep", width - 1);
  }],
  "hadamard-response": ["bits,domain,epsilon,mechanism", ({ bits }, d, { paid }) =>
    isWhole(bits, 1, min(bitsFor(d), 20)) && paid("keep", 2 ** bits - 1)],
  "projective-geometry": ["domain,epsilon,mechanism,order", ({ order }, d, { paid }) => {
    if (d > 2 ** 29 || !isWhole(order, 2, 2 ** 30)) return false;
    for (let x = 2; x * x <= order; x++) if (order % x === 0) return false;
    const { points, on } = geometry(order, d);
    return points <= 2 ** 30 && paid("on", points - on, on);
  }],
  "count-mean-sketch": ["epsilon,key,mechanism,n_hashes,width", ({ n_hashes, width }, d, { turned }) =>
    isWhole(n_hashes, 1, 2 ** 20) && isWhole(width, 2, min(2 ** 20, 2 ** 31 / n_hashes)) && turned("flip", 2)],
  "hadamard-sketch": ["epsilon,key,mechanism,n_hashes,skip_zero,width", ({ n_hashes, width, skip_zero }, d, { turned }) =>
    isWhole(n_hashes, 1, 2 ** 20) && isWhole(width, 2, min(2 ** 30, 2 ** 31 / n_hashes)) && !(width & (width - 1))
    && !!skip_zero === skip_zero && turned("flip")],
  "bit-flip": ["bits,domain,epsilon,mechanism,memoised", ({ bits, memoised }, d, { turned }) =>
    isWhole(bits, 1, min(d, 4096)) && !!memoised === memoised && turned(memoised ? "stored" : "flip", min(bits, 2))],
  rappor: ["bits,cohorts,f,hashes,key,mechanism,p,q", (m, d, { epsilon: [n, under], heads }) => {
    const [f, p, q] = [m.f, m.p, m.q].map((x) => exact(x, 60)), GRID = 10n ** 12n, { bits, hashes } = m;
    const near = (name, [x, y], up) => {
      const all = unit(name), found = (x * all + (up ? y - 1n : 0n)) / y;
      return heads(name) === (found < all ? found : all - 1n);
    };
    // The chances of a 1 where the Bloom bit is 1 and where it is 0, over `all`: the larger one first.
    const all = 2n * f[1] * p[1] * q[1], one = q[0] * p[1] * 2n * f[1], zero = p[0] * q[1] * 2n * f[1];
    const gap = (f[0] * (one - zero)) / (2n * f[1]), more = one > zero;
    const [high, low] = more ? [one - gap, zero + gap] : [zero + gap, one - gap];
    if (!isWhole(bits, 2, 65536) || !isWhole(hashes, 1, 64) || !isWhole(m.cohorts, 1, 65536)) return false;
    if ([f, p, q].some(([x, y]) => x > y) || f[0] === f[1] || one === zero || low <= 0n || high >= all) return false;
    const first = big(min(hashes, bits - 1)), second = big(min(hashes, bits - small(first)));
    const [a, b] = high * (all - high) > low * (all - low) ? [first, second] : [second, first];
    const cost = [high ** a * (all - low) ** b, low ** a * (all - high) ** b];
    return (n * GRID) % under === 0n && within(...cost, [n, under]) && !within(...cost, [n * GRID - under, under * GRID])
      && near("stored", [f[0], 2n * f[1]], true) && near("one", q, !more) && near("zero", p, more);
  }],
  "own-oracle": ["domain,epsilon,mechanism,supports,weights", ({ weights, supports }, d, { epsilon }) => {
    const lists = (x, n) => isArray(x) && x.length === n && x.every(isArray), size = lists(weights, d) && weights[0].length;
    return isWhole(size, 2, 65536 / d) && weights.every((row) => row.length === size && row.every((x) => isWhole(x, 1, 2 ** 48)))
      && new Set(weights.map(total)).size === 1 && total(weights[0]) <= 2 ** 48 && lists(supports, size)
      && supports.every((row) => row.every((x, i) => isWhole(x, i && row[i - 1] + 1, d - 1)))
      && weights[0].every((_, y) => {
        const column = weights.map((row) => row[y]).sort((a, b) => a - b);
        return within(big(column[d - 1]), big(column[0]), epsilon);
      });
  }],
  "square-wave": ["buckets,epsilon,high,low,mechanism,reach,scale", ({ low, high, buckets, scale, reach }, d, { paid }) =>
    isRange(low, high) && isWhole(buckets, 2, 65536) && isWhole(reach, 0, buckets)
    && (scale === "linear" || (scale === "log" && low > 0 && high >= 2 * low && !(buckets & (buckets - 1))))
    && paid("keep", buckets - 1, 2 * reach + 1)],
  "mean-response": ["epsilon,high,low,mechanism,method,steps,window", (m, d, law) =>
    isRange(m.low, m.high) && isSaid(m, kindOf(m, 1), 1, law)],
  "mean-vector": ["epsilon,high,low,mechanism,method,steps,window", (m, d, law) => {
    const { low, high } = m, n = isArray(low) && isArray(high) && low.length;
    return isWhole(n, 1, 65536) && high.length === n && low.every((x, i) => isRange(x, high[i]))
      && isSaid(m, kindOf(m, n), sent(m, n), law);
  }],
};
const isPool = (pool, width) => pool === 1 || isWhole(pool, 1, 2 ** 31 / width);
const unit = (name) => 1n << (name === "stored" ? 64n : 128n);
const isShuffle = (x, long) =>
  has(x, "batch,collector,delta,honest,longest_wait,shuffler") && isWhole(x.batch, 2, 1e6) && isWhole(x.honest, 2, x.batch)
  && isWhole(x.longest_wait, 1, long) && isHex(x.collector, 64) && isHex(x.shuffler, 64) && x.collector !== x.shuffler
  && exact(x.delta)[0] > 0n && more([1n, big(x.honest)], exact(x.delta));
const FIELDS = "candidates,client,closes,coins,epsilon,format,key_window,mechanism,minimum,name,opens,per_day,period,version,wanted";

/** Read a task; refuse all but the one text of a sound one, whose coins cost epsilon and no less than they must. */
function checked(text) {
  try {
    const task = typeof text === "string" ? parse(text) : text, { mechanism: m, coins, candidates, wanted } = task;
    const [fields, sound] = typeof m.mechanism === "string" && KINDS[m.mechanism];
    const epsilon = exact(task.epsilon), perDay = exact(task.per_day), listed = m.domain ?? m.candidates;
    let used = 0;
    const heads = (name) => {
      used++;
      if (!isHex(coins[name], name === "stored" ? 16 : 32)) throw Error();
      return big("0x" + coins[name]);
    };
    // A coin must be the largest whose price, ln(heads/tails · outer/inner), is within its part of epsilon.
    const largest = (head, tail, outer, inner, parts, step = 1n) => {
      const limit = [epsilon[0], epsilon[1] * big(parts)], [x, y] = [big(outer), big(inner)];
      return within(head * x, tail * y, limit) && !within((head + step) * x, (tail - 1n) * y, limit);
    };
    const law = {
      epsilon, heads, largest,
      paid: (name, outer, inner = 1, parts = 1, head = heads(name)) => largest(head, unit(name) - head, outer, inner, parts),
      turned: (name, parts = 1, tail = heads(name)) => largest(unit(name) - tail, tail, 1, 1, parts),
    };
    const day = 86400, long = 366 * day;
    if (
      (typeof text !== "string" || (text.length <= 1 << 24 && canonical(task) === text))
      && has(task, task.shuffle ? FIELDS.replace("ve", "shuffle,ve") : FIELDS) && (!task.shuffle || isShuffle(task.shuffle, long))
      && has(m, fields) && task.format === "discreet.task" && task.version === 1 && task.client === RULES
      && isName(task.name) && isTime(task.opens) && isTime(task.closes) && task.opens < task.closes
      && isWhole(wanted, 1, 1e15) && isWhole(task.minimum, 1, wanted)
      && isWhole(task.period, 60, long) && isWhole(task.key_window, 60, long)
      && !more([1n, 1000000n], perDay) && !more(perDay, [200n, 1n]) && !more(epsilon, perDay)
      && (m.epsilon === undefined || (m.epsilon === task.epsilon && !more([1n, 1000000n], epsilon) && String(epsilon[0]).length <= 400))
      && (m.key === undefined || isHex(m.key, 32)) && (m.domain === undefined || isDomain(m.domain))
      && (candidates === null
        || (isArray(m.low) ? isArray(candidates) && isList(candidates) && candidates.length === m.low.length
          : !isArray(listed) && (m.domain || listed == null) && m.low === undefined
          && (isArray(candidates) ? isList(candidates) && (m.domain ?? candidates.length) === candidates.length
            : has(candidates, "file,sha256") && isName(candidates.file) && isHex(candidates.sha256, 64))))
      && sound(m, isArray(m.domain) ? m.domain.length : m.domain, law) && keys(coins).length === used
    ) return task;
  } catch {}
  throw new Refused("task", "not a sound task");
}

/** Turns values into reports of one task. */
export class Device {
  constructor(text, labels) {
    const task = checked(text), m = task.mechanism;
    Object.assign(this, { task, m, terms: new Map(), coins: {} });
    for (const [name, digits] of entries(task.coins))
      this.coins[name] = name === "stored" ? big("0x" + digits) : unhex(digits);
    if (m.key) this.key = unhex(m.key);
    if (m.method) this.kind = kindOf(m, isArray(m.low) ? m.low.length : 1);
    if (m.domain) {
      const names = isArray(m.domain) ? m.domain : task.candidates && (isArray(task.candidates) ? task.candidates : labels);
      this.size = isArray(m.domain) ? m.domain.length : m.domain;
      if (task.candidates && (!isList(names) || names.length !== this.size)) throw new Refused("task", "not the labels of the task");
      if (names) this.codes = new Map(names.map((label, i) => [label, i]));
    }
  }
  /** The number of a value in the declared list, -1 if it is not in it. */
  code(value) {
    let v = plain(value);
    if (typeof v === "bigint") v = plain(small(v));
    if (typeof v === "boolean" || v === null) return -1;
    if (this.codes) return this.codes.get(v) ?? -1;
    return typeof v === "number" && v >= 0 && v < this.size ? v : -1;
  }
  known(value, coins) {
    const code = this.code(value);
    return code < 0 ? coins.below(this.size) : code;
  }
  /** Lay out the truth, or one of the other numbers below a size. */
  respond(bits, truth, size, coins) {
    if (!coins.toss(this.coins.keep)) {
      const other = coins.below(size - 1);
      truth = other + (other >= truth);
    }
    put(bits, truth, size);
  }
  /** A point of a window, or one of the others around it. */
  near(start, width, others, coins) {
    if (coins.toss(this.coins.keep)) return start + coins.below(width);
    const other = coins.below(others);
    return other + (other >= start ? width : 0);
  }
  /** Make one packed report. */
  async report(value, coins, secret) {
    const bits = [];
    const waits = MAKERS[this.m.mechanism](this, value, coins, bits, secret);
    if (waits) await waits;
    const out = new Uint8Array(ceil(bits.length / 8));
    bits.forEach((bit, i) => (out[i >> 3] |= bit << (i & 7)));
    return out;
  }
}

/** Write a frame: version and flags, a fresh key of 16 bytes, the report, or the number of reports and the reports. */
export function frame(reports, key = random(16)) {
  const many = reports.length !== 1;
  const count = many ? word8(reports.length).subarray(0, 4) : [];
  return joined([16 | (many ? 2 : 0)], key, count, ...reports);
}

/** HPKE (RFC 9180: X25519, HKDF-SHA256, AES-128-GCM, base mode) of data to a public key, in a context. */
async function hpke(key, info, data) {
  const KEM = joined(utf8("KEM"), [0, 32]), ALL = joined(utf8("HPKE"), [0, 32, 0, 1, 0, 1]), X = "X25519", AES = "AES-GCM";
  const words = (suite, name, rest) => joined(utf8("HPKE-v1"), suite, utf8(name), rest);
  const extract = (salt, ...more) => hmac(salt, words(...more));
  const expand = async (secret, size, ...more) => (await hmac(secret, joined([0, size], words(...more), [1]))).subarray(0, size);
  const own = await subtle.generateKey(X, true, ["deriveBits"]), none = new Uint8Array(32);
  const sent = new Uint8Array(await subtle.exportKey("raw", own.publicKey));
  const other = await subtle.importKey("raw", key, X, true, []);
  const common = new Uint8Array(await subtle.deriveBits({ name: X, public: other }, own.privateKey, 256));
  const shared = await expand(await extract(none, KEM, "eae_prk", common), 32, KEM, "shared_secret", joined(sent, key));
  const context = joined([0], await extract(none, ALL, "psk_id_hash", []), await extract(none, ALL, "info_hash", info));
  const secret = await extract(shared, ALL, "secret", []);
  const aes = await subtle.importKey("raw", await expand(secret, 16, ALL, "key", context), AES, false, ["encrypt"]);
  const iv = await expand(secret, 12, ALL, "base_nonce", context);
  return joined(sent, new Uint8Array(await subtle.encrypt({ name: AES, iv }, aes, data)));
}

/** Seal the frame of one report to the collector, and the result to the shuffler of its task. */
export async function seal({ collector, shuffler }, digest, data) {
  const sealed = (key, name, inside) => hpke(unhex(key), joined(utf8(name), unhex(digest)), inside);
  return sealed(shuffler, "discreet shuffle 1", await sealed(collector, "discreet frame 1", data));
}

// ---- where a device remembers

/** Forgets when the page is closed: for experiments only. */
export function memoryStore() {
  let text = null;
  return { read: async () => text, write: async (now) => void (text = now) };
}

/** The browser's IndexedDB. */
export function indexedDbStore(name = "discreet") {
  const opened = () => new Promise((done, fail) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("device");
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
  const act = async (mode, work) => {
    const base = await opened();
    return new Promise((done, fail) => {
      const deal = base.transaction("device", mode, { durability: "strict" });
      const request = work(deal.objectStore("device"));
      deal.oncomplete = () => done(request.result);
      deal.onabort = () => fail(deal.error);
    }).finally(() => base.close());
  };
  return {
    name: `IndexedDB "${name}"`,
    read: async () => (await act("readonly", (store) => store.get("state"))) ?? null,
    write: (text) => act("readwrite", (store) => store.put(text, "state")),
  };
}

/** A file, in Node: written under another name, synced, moved into place. One program at a time. */
export function fileStore(path) {
  const files = import("node:fs/promises");
  return {
    name: path,
    read: async () => (await files).readFile(path, "utf8").catch((error) => {
      if (error.code === "ENOENT") return null;
      throw error;
    }),
    async write(text) {
      const fs = await files, file = await fs.open(path + ".new", "w", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await fs.rename(path + ".new", path);
      const folder = await fs.open((await import("node:path")).dirname(path)); // or a power cut undoes the charge
      await folder.sync().finally(() => folder.close());
    },
  };
}

/** What a store holds. A damaged text is refused and left as it is: a new one would say that nothing was spent. */
function restored(text, name) {
  const format = "discreet.device", version = 1;
  if (text === null)
    return { format, version, secret: hex(random(32)), day: "", today: {}, life: "0", tasks: {}, queue: [], frames: [] };
  let state;
  try {
    state = parse(text);
    const { today, tasks } = state;
    if (state.format === format && has(state, "day,format,frames,life,queue,secret,tasks,today,version") && isHex(state.secret, 64)
      && ![today, tasks].some(isArray) && [state.queue, state.frames].every(isArray) && keys(tasks)
      && [state.life, ...Object.values(today)].every(amount) && state.version === version) return state;
  } catch {}
  throw Error(state?.format === format && state.version > version
    ? `${name} is of format version ${state.version}; update discreet.js`
    : `${name} is damaged or not a device file: what was spent is unknown; delete it only if the device may start over with a new budget`);
}

// ---- the client

/** Why a client did not answer: `reason` is "ceiling", "task", "closed" or "full". */
export class Refused extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

export class Client {
  constructor({ url, pins, report, day, life, store, labels = {}, clock = () => new Date() }) {
    Object.assign(this, { url, store, labels, clock, devices: new Map(), notBefore: {} });
    this.pins = new Map(entries(pins).map(([question, pin]) => [question, [pin].flat()]));
    const pinned = [...this.pins.values()];
    if (!pinned.length || !pinned.flat().every((pin) => isHex(pin, 64)) || new Set(pinned.map((p) => p[0])).size < pinned.length)
      throw Error("pins: one digest per question");
    this.ceilings = { report: amount(report), day: amount(day), life: amount(life) };
  }

  /** Take a task that came some other way than from the collector. */
  use(text) {
    return this.#alone(async (state) => {
      const digest = hex(await sha256(utf8(text)));
      const found = [...this.pins].find(([, [pinned]]) => pinned === digest);
      if (!found) throw new Refused("task", `task ${digest} is not pinned`);
      await this.#accept(state, found[0], digest, text);
    });
  }

  /** Charge, randomise and queue one answer. `flush` sends what waits. */
  report(question, value) {
    return this.#alone(async (state) => {
      const device = await this.#device(state, question), { task } = device, now = this.clock();
      const digest = this.pins.get(question)[0], time = now.toISOString().slice(0, 19) + "Z";
      if (time < task.opens || time >= task.closes)
        throw new Refused("closed", `"${question}" is closed`);
      if (waiting(state) >= MOST_WAITING) throw new Refused("full", `${MOST_WAITING} reports wait`);
      const made = state.tasks[digest].reports;
      const local = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((x) => String(x).padStart(2, "0")).join("-");
      if (local > state.day) Object.assign(state, { day: local, today: {} });
      const spent = (name) => amount(state.today[name] ?? 0);
      const all = keys(state.today).map(spent).reduce(plus, [0n, 1n]);
      // A memoised d-bit flip has d + 1 stored responses: that is what its life pays for. A day pays for every report.
      const ofDay = amount(task.epsilon), ofLife = device.m.memoised && made > device.m.bits ? [0n, 1n] : ofDay;
      for (const [limit, used, price, where] of [
        [amount(task.per_day), spent(digest), ofDay, "today here"],
        [this.ceilings.day, all, ofDay, "today"],
        [this.ceilings.life, amount(state.life), ofLife, "for life"],
      ])
        if (more(plus(used, price), limit))
          throw new Refused("ceiling", `"${question}" costs ${near(price)}; ${near(used)} of ${near(limit)} is spent ${where}`);
      const body = await device.report(value, new Coins(), await hmac(unhex(state.secret), utf8(question)));
      state.today[digest] = shown(plus(spent(digest), ofDay));
      state.life = shown(plus(amount(state.life), ofLife));
      state.tasks[digest].reports = made + 1;
      state.queue.push([digest, hex(body)]);
    });
  }

  /** Try once to send what waits; what is not acknowledged stays. The store is free while the network is waited for. */
  async flush() {
    let sent = 0, refused = 0;
    const down = new Set();
    const ready = await this.#alone(async (state) => {
      await this.#frame(state);
      return state.frames.map((entry) => {
        const { text, question } = state.tasks[entry[0]];
        return [...entry, parse(text).key_window, this.#place(question)];
      });
    });
    for (const [digest, bytes, first, reports, window, url] of ready) {
      if (!url || down.has(url) || Date.now() < this.notBefore[url]) continue;
      const now = this.clock() / 1000;
      let status = 410; // once the collector may have forgotten the key, sending again could count twice
      if (first === null || abs(now - first) < window) {
        await this.#alone((state) => state.frames.forEach((entry) => entry[1] === bytes && (entry[2] ??= now)));
        status = (await this.#ask(url, `/v1/tasks/${digest}/reports`, unhex(bytes)))?.status;
      }
      if ([403, 404].includes(status)) continue; // the wrong address for this task, or too early
      if (!status || status >= 500 || [408, 425, 429].includes(status)) {
        down.add(url);
        continue;
      }
      await this.#alone((state) => {
        const place = state.frames.findIndex((entry) => entry[1] === bytes);
        if (place < 0) return; // another page was quicker
        state.frames.splice(place, 1);
        if (status < 300) sent += reports;
        else refused += reports;
      });
    }
    return { sent, waiting: await this.#alone(waiting), refused };
  }

  /** What the reports of this device have cost: on its last day, and ever. */
  spent() {
    return this.#alone((state) => ({
      today: near(Object.values(state.today).map(amount).reduce(plus, [0n, 1n])),
      life: near(amount(state.life)),
    }));
  }

  /** One act at a time, on what is stored now; the change is stored whole, or not at all if the act fails. */
  #alone(act) {
    const work = async () => {
      const text = await this.store.read(), state = restored(text, this.store.name ?? "the store");
      const result = await act(state), now = stringify(state);
      if (now !== text) await this.store.write(now);
      return result;
    };
    const locks = globalThis.navigator?.locks;
    const { store } = this, next = Promise.resolve(store.last).then(() => (locks ? locks.request("discreet", work) : work()));
    store.last = next.catch(() => {}); // other clients of the store wait too
    return next;
  }

  async #device(state, question) {
    if (!this.pins.has(question)) throw Error(`"${question}" is not pinned`);
    const digest = this.pins.get(question)[0];
    let text = state.tasks[digest]?.text;
    if (text && this.devices.has(question)) return this.devices.get(question);
    if (text === undefined) {
      const url = this.#place(question), answer = await this.#ask(url, `/v1/tasks/${digest}`);
      if (answer?.status !== 200) throw new Refused("task", `no task for "${question}" from ${url}`);
      text = await answer.text();
    }
    return this.#accept(state, question, digest, text);
  }

  async #accept(state, question, digest, text) {
    const refuse = (why) => {
      throw new Refused("task", `the task of "${question}" ${why}`);
    };
    if (hex(await sha256(utf8(text))) !== digest) refuse("is not pinned");
    const task = checked(text);
    for (const [what, asked] of [["report", task.epsilon], ["day", task.per_day]])
      if (more(amount(asked), this.ceilings[what]))
        throw new Refused("ceiling", `"${question}" asks for ${asked} per ${what}, ${near(this.ceilings[what])} is allowed`);
    const listed = task.candidates ?? task.mechanism.domain ?? task.mechanism.candidates;
    const labels = isArray(listed) ? listed.map(String).sort() : listed?.sha256 ?? ["named", task.name];
    const subject = hex(await sha256(utf8(canonical({ asks: labels }))));
    for (const [other, facts] of entries(state.tasks))
      if ((question === facts.question || task.name === facts.name || subject === facts.subject)
        && !this.pins.get(question).includes(other)) refuse(`asks what task ${other} has asked`);
    const content = this.labels[question];
    if (task.mechanism.domain && listed.sha256 && (!content || hex(await sha256(utf8(content))) !== listed.sha256))
      refuse(`needs ${listed.file}`);
    // Before anything is charged: a key of low order hides nothing, and an old browser cannot seal.
    if (task.shuffle) await seal(task.shuffle, digest, utf8("")).catch(() => refuse("cannot be sealed here"));
    const device = new Device(task, content?.split(/\r?\n|\r$/).filter(Boolean));
    // Two batches must fit into a request; a larger one is never forwarded.
    if (task.shuffle?.batch > 2 ** 23 / (65 + (await device.report(null, new Coins(), random(32))).length))
      refuse("asks for too large a batch");
    state.tasks[digest] ??= { question, name: task.name, subject, text, reports: 0 };
    this.devices.set(question, device);
    return device;
  }

  /** Where the reports of a question go. */
  #place(question) {
    const { url } = this;
    return (typeof url === "string" ? url : url[question] ?? "").replace(/\/+$/, "");
  }

  /** Put what is queued into frames, in an order of its own; one report per frame if they are sealed. */
  async #frame(state) {
    const coins = new Coins();
    for (const digest of new Set(state.queue.map(([task]) => task))) {
      const bodies = state.queue.filter(([task]) => task === digest).map(([, body]) => unhex(body));
      for (let i = bodies.length - 1; i > 0; i--) {
        const j = coins.below(i + 1);
        [bodies[i], bodies[j]] = [bodies[j], bodies[i]];
      }
      const { shuffle } = parse(state.tasks[digest].text);
      while (bodies.length) {
        const part = bodies.splice(0, shuffle ? 1 : BATCH), made = frame(part);
        state.frames.push([digest, hex(shuffle ? await seal(shuffle, digest, made) : made), null, part.length]);
      }
    }
    state.queue = [];
  }

  /** Make a request that says nothing of the device; nothing comes back if nobody answers. */
  async #ask(url, path, body) {
    try {
      const answer = await fetch(url + path, {
        method: body ? "POST" : "GET", body,
        headers: body ? { "Content-Type": "application/octet-stream" } : {},
        credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(10_000),
      });
      const pause = answer.headers.get("Retry-After");
      if (answer.status >= 400 && /^\d{1,9}$/.test(pause ?? ""))
        this.notBefore[url] = Date.now() + min(1000 * small(pause), LONGEST_PAUSE);
      if (body) await answer.arrayBuffer();
      return answer;
    } catch {
      return undefined;
    }
  }
}

const waiting = (state) => state.queue.length + state.frames.reduce((sum, [, , , reports]) => sum + reports, 0);
