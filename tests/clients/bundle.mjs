// Everything that the client's modules export, as one module: run in the folder that holds src/.
import { readdirSync } from "node:fs"
import { build } from "esbuild"

const modules = readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))
const contents = modules.map((name) => `export * from "./src/${name.replace(/ts$/, "js")}"`).join("\n")
await build({ stdin: { contents, resolveDir: "." }, bundle: true, format: "esm", outfile: "client.mjs" })
