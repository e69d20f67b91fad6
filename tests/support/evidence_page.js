// Runs the checks of the page `verifier/verify.html` in node: one case per line, one verdict per line.
const fs = require("fs"), vm = require("vm"), readline = require("readline");

const page = fs.readFileSync(process.argv[2], "utf-8");
const script = page.slice(page.indexOf("<script>") + 8, page.lastIndexOf("</script>"));
const nothing = new Proxy(function () {}, { get: (_, name) => (name === "value" ? "" : nothing), set: () => true, apply: () => nothing });
const context = { document: nothing, crypto: globalThis.crypto, TextEncoder, TextDecoder, console, Uint8Array };
vm.createContext(context);
vm.runInContext(script + "\n;globalThis.check = verify;", context);

let last = Promise.resolve();
readline.createInterface({ input: process.stdin }).on("line", line => {
  last = last.then(async () => {
    const [files, heads] = JSON.parse(line);
    const given = files.map(file => ({ name: file.name, payload: new Uint8Array(Buffer.from(file.data, "base64")) }));
    let found;
    try { found = await context.check(given, heads); } catch (error) { found = { error: String(error.stack) }; }
    process.stdout.write(JSON.stringify(found) + "\n");
  });
});
