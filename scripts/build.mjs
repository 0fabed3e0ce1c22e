// `npm run build`: compiles the sources to `dist`, then puts a bundle in the place of each file that is a way in.
//
// A module takes about a millisecond to load, and a command has hundreds. Bundled, they are a few files. What more than
// one way in needs is in `dist/chunks`, so a class is the same wherever it comes from. The modules that `tsc` wrote stay
// beside the bundles, for tests that look inside. The package has the bundles and the types.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const inProject = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const output = resolve(process.argv[2] ?? inProject('dist'));

const { programs, commands, parts, ...bundled } = JSON.parse(
  readFileSync(inProject('scripts/bundles.json'), 'utf8'),
);
/** Packages that the sources import, and `theirs`, which those import. */
const packages = [...bundled.packages, ...bundled.theirs];

/**
 * What a program imports, what a shell starts, and what these start. `base/program-file` finds all of them, from a
 * place that must not depend on which of them needs it.
 */
const WAYS_IN = [...programs, ...commands, ...parts];

/**
 * Left to itself, the bundler makes a chunk for each set of imports that need the same modules: a command then loads a
 * hundred chunks. So modules are told apart only by which of these need them from the start.
 */
const TOLD_APART = [
  'browser',
  'client',
  'cli/main',
  'cli/program',
  'open-store',
  'cli/nouns/context',
];

const pathOf = (name) => join(output, `${name}.js`);

/** All that `entry` imports from the start. */
function reachOf(entry, modules) {
  const reached = new Set();
  const pending = [pathOf(entry)];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    pending.push(...(modules.getModuleInfo(id)?.importedIds ?? []));
  }
  return reached;
}

/** The name of the chunk that a module belongs to; null leaves it to the bundler. */
function chunkNames() {
  const waysIn = new Set(WAYS_IN.map(pathOf));
  let reaches;
  return (id, modules) => {
    if (waysIn.has(id)) return null;
    reaches ??= TOLD_APART.map((entry) => reachOf(entry, modules));
    const users = TOLD_APART.filter((_, at) => reaches[at].has(id));
    return users.length === 0 ? null : users.map((user) => user.split('/').at(-1)).join('-');
  };
}

/** Small packages are part of the bundles, for a command would load them file by file. Others are dependencies. */
function isElsewhere(id) {
  return !/^[./]/.test(id) && !packages.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * A module that imports `node:process` makes Node read each of its properties, and so open standard input, output and
 * error: 6 ms of a command. The global variable is the same object.
 */
const GLOBAL_PROCESS = {
  name: 'global-process',
  resolveId(id, _, { kind }) {
    if (id !== 'node:process') return null;
    // `require` reads no properties.
    return kind === 'require-call' ? { id, external: true } : '\0global-process';
  },
  load: (id) => (id === '\0global-process' ? 'export default globalThis.process;' : null),
};

async function bundle() {
  const made = await rolldown({
    input: Object.fromEntries(WAYS_IN.map((name) => [name, pathOf(name)])),
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    plugins: [GLOBAL_PROCESS],
    external: (id) => id !== 'node:process' && isElsewhere(id),
    // The messages are about imports on demand of what is there already, which is as it should be.
    logLevel: 'silent',
  });
  await made.write({
    dir: output,
    format: 'esm',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: false,
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: chunkNames() }] },
  });
  await made.close();
}

function noteLicenses() {
  const texts = packages.map((name) => {
    const folder = inProject(`node_modules/${name}`);
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    return `${name}\n\n${readFileSync(join(folder, license), 'utf8').trim()}\n`;
  });
  writeFileSync(join(output, 'LICENSES.txt'), texts.join('\n'));
}

rmSync(join(output, 'chunks'), { recursive: true, force: true });
const tsc = inProject('node_modules/typescript/bin/tsc');
const options = ['-p', inProject('tsconfig.build.json'), '--outDir', output];
const { status } = spawnSync(process.execPath, [tsc, ...options], { stdio: 'inherit' });
await bundle();
noteLicenses();
// Types that do not fit are shown and keep nothing from running.
process.exitCode = status ?? 1;
