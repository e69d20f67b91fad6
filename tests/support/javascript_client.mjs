// A device in Node: answers, is refused, meets a failing server. Prints what happened as JSON.
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Refused, fileStore } from "../../src/discreet/local/tasks/javascript/discreet.js";

const { url, first, second, big, words, sketched } = JSON.parse(process.argv[2]);
const path = join(mkdtempSync(join(tmpdir(), "discreet-")), "device.json");
const store = fileStore(path);
let now = new Date(2026, 10, 16, 12);
const open = (pins, more) => new Client({ url, pins, report: 1, day: 3, life: 5, store, clock: () => now, ...more });
const tried = async (act) => {
  try {
    return (await act()) ?? "done";
  } catch (error) {
    return error instanceof Refused ? `${error.reason}: ${error.message}` : String(error);
  }
};
const out = {};
const client = open({ colour: first });
out.reports = [];
for (let i = 0; i < 3; i++) out.reports.push(await tried(() => client.report("colour", "red")));
out.lost = await client.flush();
out.later = await client.flush();
out.again = await client.flush();
out.spent = await client.spent();
now = new Date(2026, 10, 17, 12);
out.tomorrow = await tried(() => client.report("colour", "red"));
now = new Date(2020, 1, 1);
out.back = [];
for (let i = 0; i < 2; i++) out.back.push(await tried(() => client.report("colour", "red")));
now = new Date(2026, 10, 18, 12);
out.life = [];
for (let i = 0; i < 2; i++) out.life.push(await tried(() => client.report("colour", "red")));
out.flushed = await client.flush();
out.second = await tried(() => open({ taste: second }).report("taste", "red"));
out.replaced = await tried(() => open({ taste: [second, first] }, { life: 9 }).report("taste", "red"));
out.big = await tried(() => open({ big }).report("big", "red"));
const poor = open({ taste: [second, first] }, { life: 1, store: fileStore(path + ".poor") });
out.poor = [await tried(() => poor.report("taste", 1)), await tried(() => poor.report("taste", 1)), await tried(() => poor.report("taste", 1))];
const poorer = open({ taste: [second, first] }, { life: "1/2", store: fileStore(path + ".poorer") });
out.poorer = [await tried(() => poorer.report("taste", 1)), await tried(() => poorer.report("taste", 1))];
const named = (content) => open({ words }, { life: 9, labels: { words: content }, store: fileStore(path + ".words") });
out.words = [await tried(() => named("cat\n").report("words", "dog")), await tried(() => named("cat\ndog\n").report("words", "dog"))];
out.sketched = await tried(() => open({ sketched }, { store: fileStore(path + ".sketched") }).report("sketched", "dog"));
const busy = open({ colour: first }, { life: 9, store: fileStore(path + ".busy") });
await busy.report("colour", "red");
const slow = busy.flush();
await new Promise((done) => setTimeout(done, 100));
const begun = Date.now();
await busy.report("colour", "red");
out.waited = Date.now() - begun;
out.slow = await slow;
out.unpinned = await tried(() => client.report("other", 1));
out.parallel = (await Promise.allSettled(Array.from({ length: 20 }, () => open({ taste: [second, first] }, { life: 9 }).report("taste", 1))))
  .map(({ status }) => status).sort();
const state = JSON.parse(readFileSync(path, "utf8"));
out.life_spent = state.life;
out.mode = statSync(path).mode & 0o077;
out.state = readFileSync(path, "utf8");
console.log(JSON.stringify(out));
