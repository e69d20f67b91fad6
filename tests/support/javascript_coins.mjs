// Which tasks the JavaScript client takes, and why not.
import { readFileSync } from "node:fs";
import { Device } from "../../src/discreet/local/tasks/javascript/discreet.js";

const told = JSON.parse(readFileSync(process.argv[2], "utf8")).map((task) => {
  try {
    new Device(task);
    return "taken";
  } catch (error) {
    return String(error);
  }
});
console.log(JSON.stringify(told));
