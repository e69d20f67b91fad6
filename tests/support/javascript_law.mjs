// Makes many reports of one task in Node and prints them in hexadecimal, one text for all.
import { readFileSync } from "node:fs";
import { Coins, Device } from "../../src/discreet/local/tasks/javascript/discreet.js";

const device = new Device(readFileSync(process.argv[2], "utf8"));
const given = process.argv[3]; // values, or a file of them
const [values, n] = [JSON.parse(given.startsWith("[") ? given : readFileSync(given, "utf8")), Number(process.argv[4])];
const coins = new Coins(), secret = new Uint8Array(32), parts = [];
for (let i = 0; i < n; i++) parts.push(await device.report(values[i % values.length], coins, secret));
process.stdout.write(Buffer.concat(parts));
