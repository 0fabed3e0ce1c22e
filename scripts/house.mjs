// Measures the house: how much product code there is, where one structure is spread, and how far one append walks.
// Run `npm run build` first, then `node scripts/house.mjs`; with `--json` it prints one object.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const src = join(root, 'src');
const dist = join(root, 'dist');

const files = readdirSync(src, { recursive: true })
  .map((name) => name.replaceAll('\\', '/'))
  .filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing/'),
  )
  .map((name) => ({ name, text: readFileSync(join(src, name), 'utf8') }));

const lone = await walkAppend();
const cycles = folderCycles();
const measured = {
  files: files.length,
  lines: files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
  filesOfAppend: lone.files,
  functionsOfAppend: lone.functions,
  // A constant once, and a field of one structure since.
  filesThatNameTurns: files.filter(({ text }) => /\bTURNS_FILE\b|turns\.log'/.test(text)).length,
  folderCycles: cycles,
};
if (process.argv.includes('--json')) console.log(JSON.stringify(measured));
else {
  for (const [name, value] of Object.entries(measured)) {
    const shown = Array.isArray(value)
      ? [value.length, ...value.map((cycle) => `\n    ${cycle}`)].join('')
      : value;
    console.log(`${name.padEnd(20)} ${shown}`);
  }
}

/** The files and functions of the built package that run during one append, after a few to warm up. */
async function walkAppend() {
  // Not the bundle of `index.js`, in which modules are no files.
  const { openStore } = await import(pathToFileURL(join(dist, 'open-store.js')).href);
  const folder = mkdtempSync(join(tmpdir(), 'quipu-house-'));
  const store = await openStore(folder);
  const session = new Session();
  try {
    const { id } = await store.contexts.create();
    const append = (n) => store.contexts.append(id, { type: 'note', payload: { n } });
    for (let n = 0; n < 20; n += 1) await append(n);
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await append(20);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ours = result.filter(({ url }) => url.startsWith(pathToFileURL(dist).href));
    const ran = ours.map(
      ({ functions }) => functions.filter(({ ranges }) => ranges[0].count > 0).length,
    );
    return {
      files: ran.filter((count) => count > 0).length,
      functions: ran.reduce((sum, count) => sum + count, 0),
    };
  } finally {
    session.disconnect();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Groups of folders of one layer that import each other in a circle; the layers themselves are for lint. */
function folderCycles() {
  const edges = new Map();
  for (const { name, text } of files) {
    const from = posix.dirname(name);
    for (const [, path] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const to = posix.dirname(posix.join(from, path));
      if (to === from || layerOf(to) !== layerOf(from)) continue;
      if (!edges.has(from)) edges.set(from, new Set());
      edges.get(from).add(to);
    }
  }
  const reaches = (from, to, seen = new Set()) =>
    [...(edges.get(from) ?? [])].some(
      (next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
    );
  const inCircle = [...edges.keys()].filter((folder) => reaches(folder, folder));
  const groups = [];
  for (const folder of inCircle) {
    const group = groups.find(([first]) => reaches(first, folder) && reaches(folder, first));
    if (group === undefined) groups.push([folder]);
    else group.push(folder);
  }
  return groups.map((group) => group.join(' <-> '));
}

/** `engine/files` and `engine/postgres` are layers of their own. */
function layerOf(folder) {
  const [top, second] = folder.split('/');
  return top === 'engine' && second !== undefined ? `${top}/${second}` : top;
}
