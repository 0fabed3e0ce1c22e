import { join } from 'node:path';
import { expect } from 'vitest';
import { Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { forkSession } from '../../src/session/carry/fork-session.ts';
import { moveSession } from '../../src/session/carry/move-session.ts';
import type { SessionHeader } from '../../src/session/entries/session-entry.ts';
import { findSession } from '../../src/session/keep/find-session.ts';
import {
  Registry,
  type SessionRecord,
  type SessionsHome,
} from '../../src/session/records/registry.ts';
import { artifactsFolderOf } from '../../src/session/files/session-names.ts';
import type { Io } from '../../src/engine/io.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';

export const ID = 'session-one';
export const OLD = '/old/2026-11-15T10-00-00-000Z_session-one.jsonl';
export const NEW = '/new/2026-11-15T10-00-00-000Z_session-one.jsonl';

const HEADER = {
  type: 'session',
  version: 3,
  id: ID,
  timestamp: '2026-11-15T10:00:00.000Z',
  cwd: '/a',
};
const ENTRIES = [
  { type: 'message', id: 'e1', parentId: null, timestamp: 't', text: 'first' },
  { type: 'message', id: 'e2', parentId: 'e1', timestamp: 't', text: 'see artifact://0' },
];
const ARTIFACTS: Readonly<Record<string, string>> = {
  '0.bash.log': 'output of a tool',
  '0-Plan.md': '# plan',
  '0-Plan.jsonl': '{"type":"session","id":"child"}\n',
  'deep/1-Other.md': '# deep',
};

export function startDisk(): MemoryIo {
  const lines = [HEADER, ...ENTRIES].map((record) => `${JSON.stringify(record)}\n`);
  const files = new Map([[OLD, Buffer.from(lines.join(''))]]);
  for (const [name, text] of Object.entries(ARTIFACTS)) {
    files.set(join(artifactsFolderOf(OLD)!, name), Buffer.from(text));
  }
  return MemoryIo.from(files);
}

/** What the store was told, in the moment it was. */
export type Fact = SessionRecord | 'done' | 'bare';

/** Tells of every record, as a store that survives the crash of the disk of the sessions. */
class ToldRegistry extends Registry {
  readonly #note: (fact: Fact) => void;

  constructor(engine: ModelEngine, note: (fact: Fact) => void) {
    super(engine);
    this.#note = note;
  }

  override async put(record: SessionRecord): Promise<void> {
    await super.put(record);
    this.#note(record);
  }
}

export async function homeOf(
  io: Io,
  facts: readonly Fact[] = [],
  note: (fact: Fact) => void = () => undefined,
): Promise<SessionsHome> {
  const engine = new ModelEngine({});
  const registry = new ToldRegistry(engine, note);
  await new Registry(engine).put({ id: ID, file: OLD });
  for (const fact of facts) if (typeof fact === 'object') await new Registry(engine).put(fact);
  return { io, engine, registry, clock: () => 0, root: '/root' };
}

export type Act = (home: SessionsHome) => Promise<unknown>;

export const move: Act = (home) =>
  moveSession(home, { id: ID, file: OLD }, { folder: '/new', cwd: '/b' });
export const fork: Act = (home) => forkSession(home, OLD, { folder: '/new' });

function textOf(io: MemoryIo, path: string): string | undefined {
  if (!io.paths().includes(path.slice(1))) return undefined;
  const content = io.contentOf(path)!;
  const bytes = Buffer.alloc(content.length);
  content.read(bytes, 0);
  return bytes.toString('utf8');
}

/** The session at `file` has every entry and every artifact, whole. */
function expectWhole(io: MemoryIo, file: string, artifacts = ARTIFACTS): SessionHeader {
  const lines = (textOf(io, file) ?? '').split('\n').filter((line) => line !== '');
  const [header, ...entries] = lines.map((line) => JSON.parse(line) as SessionHeader);
  expect(entries).toEqual(ENTRIES);
  for (const [name, text] of Object.entries(artifacts)) {
    expect(textOf(io, join(artifactsFolderOf(file)!, name)), name).toBe(text);
  }
  return header!;
}

/** Old or new, whole, and nothing of the session at the other place. */
export async function checkMoved(io: MemoryIo, facts: readonly Fact[]): Promise<void> {
  const home = await homeOf(io, facts);
  const { file } = await findSession(home, ID);
  expect([OLD, NEW]).toContain(file);
  if (facts.includes('done')) expect(file).toBe(NEW);
  expect(expectWhole(io, file).cwd).toBe(file === OLD ? '/a' : '/b');
  expect(textOf(io, file === OLD ? NEW : OLD)).toBeUndefined();
  // The store has forgotten the move, and finds the session where it is.
  expect(await home.registry.get(ID)).toEqual({ id: ID, file });
  expect((await findSession(home, file)).file).toBe(file);
}

/** The source as it was, and the fork whole or not there at all. */
export async function checkForked(io: MemoryIo, facts: readonly Fact[]): Promise<void> {
  const start = startDisk();
  expect(textOf(io, OLD)).toBe(textOf(start, OLD));
  expectWhole(io, OLD);
  const made = io.paths().filter((path) => /^new\/[^/.]+\.jsonl$/.test(path));
  if (facts.includes('done')) expect(made).toHaveLength(1);
  for (const path of made) {
    const header = expectWhole(io, `/${path}`, facts.includes('bare') ? {} : ARTIFACTS);
    const next = await new Artifacts(io, artifactsFolderOf(`/${path}`)!).allocate('bash');
    expect(next.id, 'an id of the parent never means something else').toBe('1');
    expect(header).toMatchObject({ parentSession: ID, cwd: '/a' });
    const told = facts.some((fact) => typeof fact === 'object' && fact.id === header.id);
    expect(told, 'the store knew of the fork before it was there').toBe(true);
  }
}
