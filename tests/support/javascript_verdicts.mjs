// Which texts the JavaScript client takes as tasks, each pinned by its digest and asked of a new device.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const [, , module, path] = process.argv;
const { Client, memoryStore } = await import(module);
const { texts, words } = JSON.parse(readFileSync(path, "utf8"));
const told = [];
for (const text of texts) {
  const pin = createHash("sha256").update(text).digest("hex");
  const limits = { report: 200, day: 200, life: 200 };
  const client = new Client({ url: "http://127.0.0.1:1", pins: { q: pin }, store: memoryStore(), labels: { q: words }, ...limits });
  told.push(await client.use(text).then(() => true, () => false));
}
console.log(JSON.stringify(told));
