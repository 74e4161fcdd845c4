// The client for browsers under node: the size of the module, and the time to open, to choose and to report, with the
// network and the storage in memory. d = 2, shuffle-bits. usage: node bench/bench_web.mjs [PACKAGE]   (after `make wasm`)
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const folder = resolve(process.argv[2] ?? "build/web/package");
const { Client, MemoryStore } = await import(`${folder}/faro.mjs`);
const bytes = await readFile(`${folder}/faro.wasm`);
const vectors = new URL("../tests/service/vectors/", import.meta.url);
const documents = { campaign: await readFile(new URL("campaign-shuffle-bits", vectors)), policy: await readFile(new URL("policy-good", vectors)) };
const key = (await readFile(new URL("key-analyzer.public", vectors), "utf8")).trim().split(" ")[1];

const fetch = async (url, { method }) => {
  if (method === "POST") return new Response(Uint8Array.of(0));
  const found = documents[new URL(url).pathname.replace("/v1/", "")];
  return found ? new Response(found) : new Response("", { status: 404 });
};
const open = (wasm, store = new MemoryStore()) =>
  Client.open({ analyzer: "https://analyzer.example", key, token: "a0".repeat(32), automatic: false, wasm, store, fetch });

async function time(times, work) {
  const all = [];
  for (let i = 0; i < times; i++) {
    const begin = performance.now();
    await work(i);
    all.push(performance.now() - begin);
  }
  return Math.min(...all); // other programs only add
}

console.log(`module: ${bytes.length} bytes, gzip ${gzipSync(bytes, { level: 9 }).length}, brotli ${brotliCompressSync(bytes).length}`);
const wasm = await WebAssembly.compile(bytes);
console.log(`compile: ${(await time(5, () => WebAssembly.compile(bytes))).toFixed(1)} ms`);
console.log(`open: first ${(await time(1, () => open(wasm))).toFixed(1)} ms, then ${(await time(20, () => open(wasm))).toFixed(1)} ms`);
const client = await open(wasm);
const rows = [[0.6, 0.8], [0.8, 0.6]];
console.log(`choose: ${(1000 * (await time(2000, () => client.choose(rows)))).toFixed(1)} us`);
const clients = await Promise.all(Array.from({ length: 50 }, () => open(wasm)));
for (const each of clients) await each.report(await each.choose(rows), 1);
console.log(`report made, saved, posted and answered: ${(await time(50, (i) => clients[i].flush())).toFixed(2)} ms`);
