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
const TOLD_APART = {
  browser: ['browser'],
  client: ['client'],
  main: ['cli/main'],
  cli: ['cli/program', 'cli/nouns/context', 'cli/nouns/turn', 'cli/nouns/overlay'],
  store: ['open-store'],
};

const pathOf = (name) => join(output, `${name}.js`);

/** All that `entries` import from the start. */
function reachOf(entries, modules) {
  const reached = new Set();
  const pending = entries.map(pathOf);
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
    reaches ??= Object.entries(TOLD_APART).map(([name, entries]) => ({
      name,
      modules: reachOf(entries, modules),
    }));
    const users = reaches.filter((reach) => reach.modules.has(id));
    return users.length === 0 ? null : users.map((user) => user.name).join('-');
  };
}

/** Small packages are part of the bundles, for a command would load them file by file. Others are dependencies. */
function isElsewhere(id) {
  return !/^[./]/.test(id) && !packages.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * A module that imports a module of Node by name makes Node read each of its properties, used or not: of `node:process`
 * and `node:fs` these open streams, of `node:crypto` they load the Web Crypto API. That is 5 to 10 ms of a command.
 * Asked for at run time, Node gives the module as it is.
 */
const BUILTINS = {
  name: 'builtins',
  renderChunk: (code) =>
    code.replaceAll(
      /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+)|\{ (.*?) \})? from "(node:[\w/]+)";$/gm,
      (_, ...[whole, namespace, names, id]) => {
        const objects = [whole, namespace].filter((name) => name !== undefined);
        return [
          ...objects.map((name) => `const ${name} = ${toObject(id)};`),
          ...(names?.split(', ') ?? []).map((name) => toConstant(name, id)),
        ].join(' ');
      },
    ),
};

/** Modules that take 4 and 15 ms to load, and that most commands do not call. */
const WHEN_CALLED = new Set(['node:crypto', 'node:tls']);

const toBuiltin = (id) => `globalThis.process.getBuiltinModule("${id}")`;

function toObject(id) {
  if (!WHEN_CALLED.has(id)) return toBuiltin(id);
  return `new Proxy({}, { get: (_, name) => ${toBuiltin(id)}[name] })`;
}

/** `given` is `name` or `name as local`. */
function toConstant(given, id) {
  const [name, local = name] = given.split(' as ');
  const isFunction =
    typeof process.getBuiltinModule(id)[name] === 'function' && /^[a-z]/.test(name);
  const isCalled = isFunction && WHEN_CALLED.has(id);
  const value = `${toBuiltin(id)}.${name}`;
  return `const ${local} = ${isCalled ? `(...given) => ${value}(...given)` : value};`;
}

/**
 * Less text is read and parsed sooner. Names of functions and classes stay, so that the trace of an error can be read.
 * Lines stay, too: Node prints the line that threw above the trace, and without line breaks that is a whole chunk.
 */
const MINIFIED = {
  compress: false,
  mangle: { toplevel: false, keepNames: true },
  codegen: { removeWhitespace: false },
};

async function bundle() {
  const made = await rolldown({
    input: Object.fromEntries(WAYS_IN.map((name) => [name, pathOf(name)])),
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    plugins: [BUILTINS],
    external: isElsewhere,
    // The messages are about imports on demand of what is there already, which is as it should be.
    logLevel: 'silent',
  });
  await made.write({
    dir: output,
    format: 'esm',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: false,
    minify: MINIFIED,
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
