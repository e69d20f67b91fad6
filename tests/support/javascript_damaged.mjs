// A client in Node on files that may be damaged: what it says of each. Prints it as JSON.
const [module, pin, ...paths] = process.argv.slice(2);
const { Client, fileStore } = await import(module);
const said = [];
for (const path of paths) {
  const client = new Client({ url: "http://127.0.0.1:1", pins: { q: pin }, report: 1, day: 1, life: 1, store: fileStore(path) });
  said.push(await client.spent().then(() => "", (error) => error.message));
}
console.log(JSON.stringify(said));
