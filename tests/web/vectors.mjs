// The vectors of the protocol, read by the module's own code under node: the same test as the native one, and its verdicts and
// messages are those of tests/service/vectors/manifest. usage: node vectors.mjs VECTORS.WASM
import { readFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { WASI } from "node:wasi";

const scratch = mkdtempSync("/tmp/faro-vectors-");
try {
  const root = new URL("../..", import.meta.url).pathname;
  const wasi = new WASI({ version: "preview1", args: ["vectors"], preopens: { "/": root, "/tmp": scratch }, returnOnExit: true });
  const module = await WebAssembly.compile(await readFile(process.argv[2]));
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
  process.exitCode = wasi.start(instance);
} finally {
  rmSync(scratch, { recursive: true });
}
