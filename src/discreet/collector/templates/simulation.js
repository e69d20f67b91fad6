// Simulates devices against the collector that served the page, and draws the collector's estimates.
import { Coins, Device, frame, hex } from "/demo/discreet.js";

const { task: digest, shares } = document.body.dataset;
const labels = JSON.parse(shares), DEVICES = 10_000, BATCH = 100;
const told = document.getElementById("told"), found = document.getElementById("found"), more = document.getElementById("more");
// The true answers of devices of earlier visits are stored here, and nowhere else.
const earlier = JSON.parse(localStorage.getItem(digest) ?? "{}");
const truth = new Map(labels.map(([label]) => [label, earlier[label] ?? 0]));
const authorization = { authorization: `Bearer ${location.hash.slice(1)}` };
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// A client trusts a task by its digest alone.
const text = await (await fetch(`/v1/tasks/${digest}`)).text();
const sum = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
if (sum !== digest) throw new Error("this is not the task that was pinned");
const device = new Device(text);

function answer() {
  let ticket = crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  for (const [label, share] of labels) if ((ticket -= share) < 0) return label;
  return labels[0][0];
}

/** Send a frame until it is acknowledged: the same frame, so it is counted once. */
async function sent(body) {
  for (;;) {
    try {
      const reply = await fetch(`/v1/tasks/${digest}/reports`, { method: "POST", body });
      if (reply.ok) return;
      if (reply.status < 500 && reply.status !== 429) throw new Error((await reply.json()).error);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // no connection: try again
    }
    await wait(1000);
  }
}

async function play() {
  more.disabled = true;
  for (let done = 0; done < DEVICES; done += BATCH) {
    const reports = [];
    for (let i = 0; i < BATCH; i++) {
      const value = answer();
      truth.set(value, truth.get(value) + 1);
      reports.push(await device.report(value, new Coins()));
    }
    await sent(frame(reports));
    localStorage.setItem(digest, JSON.stringify(Object.fromEntries(truth)));
    if (done % 1000 === 900) await draw();
  }
  await draw();
  more.disabled = false;
}

const cell = (row, content, kind) => {
  const made = row.insertCell();
  made.className = kind;
  made.append(content);
};

async function draw() {
  const reply = await fetch(`/v1/tasks/${digest}/estimate`, { headers: authorization });
  const facts = await reply.json();
  if (!reply.ok) return void (told.textContent = facts.error);
  const mine = [...truth.values()].reduce((x, y) => x + y);
  told.textContent = `${facts.reports.toLocaleString("en")} noisy reports at ε = ${facts.epsilon_per_report} each.` +
    (facts.reports === mine ? "" : " Some came from another browser, so the truth about all of them is not known here.");
  const held = facts.reports === mine ? truth : new Map(); // others took part
  const most = Math.max(...facts.estimates.map((one) => one.upper), ...held.values()), table = document.createElement("table");
  const heads = table.createTHead().insertRow();
  ["answer", "", "devices", "95 % interval", "truth"].forEach((name, i) => {
    const head = document.createElement("th");
    if (i > 1) head.className = "n";
    head.textContent = name;
    heads.append(head);
  });
  const body = table.createTBody(), whole = (x) => Math.round(x).toLocaleString("en"), at = (x) => (100 * Math.max(x, 0)) / most;
  for (const one of facts.estimates) {
    const row = body.insertRow(), own = held.get(one.candidate);
    cell(row, one.candidate, "");
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("viewBox", "0 0 100 10");
    picture.setAttribute("preserveAspectRatio", "none");
    picture.innerHTML = `<rect x="0" y="1" width="${at(one.count)}" height="8"/>` +
      `<path class="whisker" vector-effect="non-scaling-stroke" d="M${at(one.lower)} 5H${at(one.upper)}"/>` +
      (own === undefined ? "" : `<path class="truth" vector-effect="non-scaling-stroke" d="M${at(own)} 0V10"/>`);
    cell(row, picture, "picture");
    cell(row, whole(one.count), "n");
    cell(row, `${whole(one.lower)} to ${whole(one.upper)}`, "n");
    cell(row, own === undefined ? "not known" : whole(own), "n");
  }
  found.replaceChildren(table);
}

more.addEventListener("click", play);
await play();
