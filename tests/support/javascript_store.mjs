// Many clients of one store in Node, at once: who may report, what was charged, what is stored. Prints it as JSON.
import { Client, memoryStore } from "../../src/discreet/local/tasks/javascript/discreet.js";

const { first, second, pins } = JSON.parse(process.argv[2]), store = memoryStore();
const open = () => new Client({ url: "http://127.0.0.1:1", pins, report: 1, day: 9, life: 4, store });
await open().use(first);
await open().use(second);
const tried = Array.from({ length: 20 }, (_, i) => open().report("ab"[i % 2], 3));
const fulfilled = (await Promise.allSettled(tried)).filter(({ status }) => status === "fulfilled").length;
console.log(JSON.stringify({ fulfilled, spent: (await open().spent()).life, state: await store.read() }));
