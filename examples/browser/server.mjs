/* server: the site of the example: its page, the client's package, and a token for each browser that asks. A real site gives
 * tokens to accounts. usage: node server.mjs SITE PACKAGE [PORT]; SITE has settings.json and clients.tokens */
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";

const [site, faro, port = "0"] = process.argv.slice(2);
const here = new URL(".", import.meta.url).pathname;
const types = { ".html": "text/html; charset=utf-8", ".mjs": "text/javascript", ".json": "application/json", ".wasm": "application/wasm" };
const pages = { "/": join(here, "index.html"), "/page.mjs": join(here, "page.mjs"), "/settings.json": join(site, "settings.json") };
const tokens = (await readFile(join(site, "clients.tokens"), "utf8")).trim().split("\n");

/* The page may run its own scripts and the module, and talk to the parties that its settings name. */
const { analyzer, shufflers } = await readFile(join(site, "settings.json"), "utf8").then(JSON.parse, () => ({ shufflers: [] }));
const parties = [analyzer, ...shufflers.map(({ url }) => url)].filter(Boolean).join(" ");
const policy = `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; connect-src 'self' ${parties}`;

const server = createServer(async (request, answer) => {
  const path = new URL(request.url, "http://site").pathname;
  if (request.method === "POST" && path === "/token") {
    answer.writeHead(tokens.length > 0 ? 200 : 503, { "Cache-Control": "no-store" }).end(tokens.shift());
    return;
  }
  const file = path.startsWith("/faro/") ? join(faro, basename(path)) : pages[path];
  const bytes = file && (await readFile(file).catch(() => null));
  if (!bytes) answer.writeHead(404, { "Content-Type": "text/plain" }).end("not found\n");
  else answer.writeHead(200, { "Content-Type": types[extname(file)], "Cache-Control": "no-cache", "Content-Security-Policy": policy }).end(bytes);
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
