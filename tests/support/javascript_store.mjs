// Many clients of one store in Node, at once: who may report, what was charged, what is stored; and a week of one client,
// with four tries a day. Prints it as JSON.
import { Client, memoryStore } from "../../src/discreet/local/tasks/javascript/discreet.js";

const { first, second, daily, pins } = JSON.parse(process.argv[2]), store = memoryStore();
const open = () => new Client({ url: "http://127.0.0.1:1", pins, report: 1, day: 9, life: 4, store });
await open().use(first);
await open().use(second);
const tried = Array.from({ length: 20 }, (_, i) => open().report("ab"[i % 2], 3));
const fulfilled = (await Promise.allSettled(tried)).filter(({ status }) => status === "fulfilled").length;
let day = 0;
const week = [], clock = () => new Date(2026, 10, 1 + day, 12);
const one = new Client({ url: "", pins: { c: pins.c }, report: 1, day: 3, life: 9, store: memoryStore(), clock });
await one.use(daily);
for (; day < 7; day++) {
  const made = await Promise.allSettled([1, 2, 3, 4].map((value) => one.report("c", value)));
  const { today, life } = await one.spent();
  week.push([made.filter(({ status }) => status === "fulfilled").length, today, life]);
}
console.log(JSON.stringify({ fulfilled, spent: (await open().spent()).life, state: await store.read(), week }));
