// Reads the file of vectors and makes every report and frame again with a module of the JavaScript client.
import { readFileSync } from "node:fs";
import { createHash } from "node:crypto";

const { Coins, Device, frame, hex, unhex } = await import(process.argv[3]);

const unwrapped = (v) =>
  Array.isArray(v) ? v.map(unwrapped) : v?.number ? Number(v.number.replace("inf", "Infinity")) : v?.whole ? BigInt(v.whole) : v?.bytes ? unhex(v.bytes) : v?.units ? String.fromCharCode(...v.units) : v;
const file = JSON.parse(readFileSync(process.argv[2], "utf8"));
let made = 0;
const wrong = [];
for (const { task, digest, reports, frames } of file.tasks) {
  const device = new Device(task);
  const { mechanism } = device.task.mechanism;
  if (createHash("sha256").update(task).digest("hex") !== digest) wrong.push(`${mechanism}: the digest`);
  const bodies = [];
  for (const { value, coins, report } of reports) {
    const given = new Coins(unhex(coins));
    const body = await device.report(unwrapped(value), given, unhex(file.secret));
    bodies.push(body);
    made += 1;
    if (hex(body) !== report) wrong.push(`${mechanism}: ${JSON.stringify(value)} gave ${hex(body)}, not ${report}`);
    if (given.used !== coins.length / 2) wrong.push(`${mechanism}: ${JSON.stringify(value)} used ${given.used} coins`);
  }
  const key = unhex(frames.key);
  if (hex(frame(bodies.slice(0, 1), key)) !== frames.one) wrong.push(`${mechanism}: the frame of one report`);
  if (hex(frame(bodies, key)) !== frames.batch) wrong.push(`${mechanism}: the batch`);
}
console.log(JSON.stringify({ made, wrong }));
