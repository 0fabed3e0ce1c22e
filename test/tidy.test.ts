import { describe, expect, it } from 'vitest';
import { listFiles, readPackageJson, readProject } from './support/project.ts';
import { codesWithoutAdvice, parseErrorData, parseErrorDocs } from './tidy/error-codes.ts';
import { folderCycles } from './tidy/folder-cycles.ts';
import { packageOf, specifiersOf, unreachable } from './tidy/imports.ts';
import { blockOf, importText, layerFolders, parseLayerBlocks } from './tidy/layers.ts';
import { findForbidden } from './tidy/words.ts';

/** Longer than 400 lines today. Names may leave this list and never join it. */
const LONG_FILES: readonly string[] = [];

/** Lowest first: a folder may import from the rows before its own. Siblings share a row. */
const LAYERS: readonly (readonly string[])[] = [
  ['base'],
  ['format'],
  ['postgres'],
  ['engine'],
  ['engine/plan'],
  ['engine/files', 'engine/postgres'],
  ['context', 'workflow', 'chat', 'session', 'queue', 'stream'],
  ['maintain'],
  ['search'],
  ['store'],
  ['import'],
  ['wire'],
  ['server', 'client'],
  ['host'],
  ['agents'],
  ['adapters'],
  ['mcp'],
  ['cli'],
  ['notifier'],
];

/** Which folders may import a package. Tests may import any package that is installed. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@anthropic-ai/claude-agent-sdk': ['src/adapters/'],
  '@langchain/core': ['src/adapters/'],
  '@langchain/langgraph-checkpoint': ['src/adapters/'],
  '@modelcontextprotocol/sdk': ['src/mcp/'],
  '@openai/agents-core': ['src/adapters/'],
  ai: ['src/adapters/'],
  '@hono/node-server': ['src/server/http/'],
  '@msgpack/msgpack': ['src/context/'],
  cborg: ['src/context/'],
  '@napi-rs/blake-hash': ['src/base/'],
  '@noble/hashes': ['src/base/'],
  'better-sqlite3': ['src/base/'],
  commander: ['src/cli/', 'src/notifier/'],
  mrmime: ['src/chat/'],
  'fast-check': ['src/testing/'],
  hono: ['src/server/http/'],
  pg: ['src/postgres/'],
  pino: ['src/server/'],
  'prom-client': ['src/server/metrics/'],
  ulid: ['src/agents/', 'src/chat/', 'src/engine/files/', 'src/workflow/'],
  vitest: ['src/testing/'],
  zod: ['src/server/', 'src/mcp/'],
  'zstd-napi': ['src/base/'],
};

/** The files that are bundled as ways in, and the packages that become part of the bundles. */
const {
  packages: BUNDLED,
  theirs: _,
  ...WAYS_IN
} = JSON.parse(readProject('scripts/bundles.json')) as Record<
  'programs' | 'commands' | 'parts' | 'packages' | 'theirs',
  string[]
>;
const ENTRIES = Object.values(WAYS_IN)
  .flat()
  .map((name) => `src/${name}.ts`);

/** The protocol's codec stands before the server and client that will import it. */
const AHEAD_OF_ITS_USERS = /^src\/wire\//;

const sources = listFiles('src', /\.ts$/);
const programs = sources.filter((file) => !file.endsWith('.test.ts'));
const written = ['src', 'test', 'bench', 'scripts'].flatMap((folder) =>
  listFiles(folder, /\.(?:ts|mjs)$/),
);
const texts = [
  ...written,
  ...listFiles('docs', /\.md$/),
  ...listFiles('.ci', /./),
  ...listFiles('clients', /\.(?:py|md)$/),
].concat(
  ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'package.json'],
  ['.oxlintrc.json', '.oxfmtrc.json', 'tsconfig.json', 'tsconfig.build.json'],
  ['vitest.config.ts', 'vitest.soak.config.ts'],
);

describe('the tree', () => {
  it('lets no file grow past 400 lines', () => {
    const long = written.filter((file) => readProject(file).trimEnd().split('\n').length > 400);
    expect(long).toEqual(LONG_FILES);
  });

  it('keeps the files of each adapter under 200 lines together', () => {
    const lines = new Map<string, number>();
    for (const file of listFiles('src/adapters', /(?<!\.test)\.ts$/)) {
      // LangGraph asks for two: a saver of checkpoints, and a store.
      const [adapter = file] = /[\w-]+?(?=-chunks|\.ts)/.exec(file) ?? [];
      const length = readProject(file).trimEnd().split('\n').length;
      lines.set(adapter, (lines.get(adapter) ?? 0) + length);
    }
    expect(lines.size).toBe(5);
    expect([...lines].filter(([, length]) => length >= 200)).toEqual([]);
  });

  it('names files in kebab-case', () => {
    const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)*\.(?:ts|mjs)$/;
    expect(written.filter((file) => !kebab.test(file.slice(file.lastIndexOf('/') + 1)))).toEqual(
      [],
    );
  });

  it('has no file that nothing leads to', () => {
    const dead = unreachable(programs, ENTRIES, readProject);
    expect(dead.filter((file) => !AHEAD_OF_ITS_USERS.test(file))).toEqual([]);
  });

  it('has a source and a bundle for every entry of the package', () => {
    const { exports, bin, files } = readPackageJson();
    const built = [...Object.values(exports).map((entry) => entry.default), ...Object.values(bin)];
    const entries = built.map((path) => path.replace(/^(?:\.\/)?dist\//, '').replace(/\.js$/, ''));
    expect(entries.toSorted()).toEqual([...WAYS_IN.programs, ...WAYS_IN.commands].toSorted());
    expect(ENTRIES.filter((entry) => !sources.includes(entry))).toEqual([]);
    const packed = files.filter((file) => /^dist\/.*\.js$/.test(file));
    const bundles = ENTRIES.map((entry) => entry.replace('src/', 'dist/').replace('.ts', '.js'));
    expect(packed.toSorted()).toEqual(bundles.toSorted());
  });

  // Programs that tests start import the built package, which no compiler checks.
  it('imports only built files that have a source', () => {
    const missing = ['test', 'bench', 'scripts', 'examples']
      .flatMap((folder) => listFiles(folder, /\.mjs$/))
      .flatMap((file) =>
        [...readProject(file).matchAll(/['"`](?:\.\.\/)+dist\/([\w/.-]+)\.js['"`]/g)].map(
          ([, path]) => ({ file, source: `src/${path}.ts` }),
        ),
      )
      .filter(({ source }) => !sources.includes(source));
    expect(missing).toEqual([]);
  });

  // The compiler says nothing of a named file that is not there: the benchmarks ran without the compression thread.
  it('compiles for the benchmarks only files that are there', () => {
    const named = [...readProject('bench/tsconfig.json').matchAll(/"\.\.\/(src\/[^"]+\.ts)"/g)];
    expect(named.length).toBeGreaterThan(0);
    expect(named.map(([, path]) => path).filter((path) => !sources.includes(path ?? ''))).toEqual(
      [],
    );
  });

  it('says nothing that only its author understands', () => {
    const findings = texts.flatMap((file) =>
      findForbidden(readProject(file), /\.(?:ts|mjs)$/.test(file)).map(
        ({ line, what }) => `${file}:${line} has ${what}`,
      ),
    );
    expect(findings).toEqual([]);
  });
});

describe('layers', () => {
  const blocks = parseLayerBlocks(readProject('.oxlintrc.json'));

  it('gives every folder of src a layer', () => {
    const known = new Set(LAYERS.flat());
    const missing = layerFolders(sources).filter(
      (folder) =>
        blockOf(blocks, folder) === undefined || !(known.has(folder) || folder === 'testing'),
    );
    expect(missing).toEqual([]);
  });

  // The lint rule is a list of names in an expression, and a name left out is silent.
  it.each(LAYERS.flat())('keeps %s from importing what stands above it', (folder) => {
    const row = LAYERS.findIndex((layer) => layer.includes(folder));
    const siblings = LAYERS[row]!.filter((other) => other !== folder);
    const above = [...siblings, ...LAYERS.slice(row + 1).flat(), 'testing'];
    const { forbidden } = blockOf(blocks, folder)!;
    const allowed = above.filter(
      (other) => !forbidden.some((pattern) => pattern.test(importText(folder, other))),
    );
    expect(allowed).toEqual([]);
  });

  it('have no circle of folders inside them', () => {
    const layered = programs.filter((file) => !file.startsWith('src/testing/'));
    expect([...folderCycles(layered, readProject)]).toEqual([]);
  });
});

describe('packages', () => {
  it('are imported only by their owners', () => {
    const strays = programs.flatMap((file) =>
      specifiersOf(readProject(file))
        .map(packageOf)
        .filter((name) => name !== undefined)
        .filter((name) => !(OWNERS[name] ?? []).some((owner) => file.startsWith(owner)))
        .map((name) => `${file} imports ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('are declared, and used by someone', () => {
    const { dependencies, peerDependencies } = readPackageJson();
    const declared = [dependencies, peerDependencies].flatMap(Object.keys).concat(BUNDLED);
    const imported = programs.flatMap((file) => specifiersOf(readProject(file)).map(packageOf));
    const used = new Set(imported.filter((name) => name !== undefined));
    expect([...used].toSorted()).toEqual(declared.toSorted());
  });
});

describe('error codes', () => {
  it('are documented, each with the facts it carries', () => {
    const codes = parseErrorData(readProject('src/base/errors.ts'));
    expect(codes.length).toBeGreaterThan(0);
    const documents = readProject('docs/reference/errors.md');
    expect(parseErrorDocs(documents)).toEqual(codes);
    expect(codesWithoutAdvice(documents)).toEqual([]);
  });
});
