// Several devices in Node answer a task of a running collector, one report each, and print how many were taken.
import { Client, memoryStore } from "../../src/discreet/local/tasks/javascript/discreet.js";

const { url, digest, values } = JSON.parse(process.argv[2]);
let sent = 0;
for (const value of values) {
  const client = new Client({ url, pins: { colour: digest }, report: 2, day: 2, life: 2, store: memoryStore() });
  await client.report("colour", value);
  sent += (await client.flush()).sent;
}
console.log(sent);
