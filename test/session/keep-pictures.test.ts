import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../src/base/hash.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { plainFilesIo } from '../../src/engine/files/disk/plain-files-io.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import type { RootSource } from '../../src/engine/roots.ts';
import { collectGarbage } from '../../src/maintain/collect-garbage.ts';
import { sessionRoots } from '../../src/session/keep/session-roots.ts';
import type { Session } from '../../src/session/sessions.ts';
import { createStore } from '../../src/store/create-store.ts';
import { rootSources } from '../../src/store/root-sources.ts';
import type { Store } from '../../src/store/store.ts';

// Invariant: a picture that some file of a session refers to, and that the store had before a collection, is there
// after it. Whoever wrote the file, in whatever form, at whatever time, without any grace.
//
// Method: random steps of random writers, with collections between and during them. The files themselves say what
// must be there: they are searched by another way than the store's.

type Step =
  | { do: 'create' | 'bring' | 'collect' | 'collectLate' | 'reopen' }
  | { do: 'put'; picture: number }
  | {
      do: 'own' | 'mention' | 'foreign' | 'torn' | 'artifact' | 'swap';
      at: number;
      picture: number;
    }
  | { do: 'fork' | 'move' | 'copy' | 'remove' | 'child'; at: number };

const PICTURES = 12;
const at = fc.nat(5);
const picture = fc.nat(PICTURES - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('create' as const, 'bring' as const) }),
  fc.record({
    do: fc.constantFrom('collect' as const, 'collectLate' as const, 'reopen' as const),
  }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('put' as const), picture }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('own', 'mention', 'foreign', 'torn', 'artifact', 'swap'),
      at,
      picture,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('fork', 'move', 'copy', 'remove', 'child'),
      at,
    }),
  },
) as fc.Arbitrary<Step>;

function bytesOf(n: number): Buffer {
  return Buffer.alloc(1500, n + 1);
}

class World {
  readonly folder = fs.mkdtempSync(join(tmpdir(), 'quipu-pictures-'));
  readonly #io: Io;
  engine!: Engine;
  store!: Store;
  #sessions: Session[] = [];
  #names = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  async open(): Promise<void> {
    const folder = join(this.folder, 'store');
    this.engine = await openFilesEngine(folder, { durability: 'unsafe' });
    this.store = createStore(this.engine, { folder });
  }

  async end(): Promise<void> {
    await this.store.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  async take(given: Step): Promise<void> {
    const { sessions, blobs } = this.store;
    const session = 'at' in given ? await this.#session(given.at) : undefined;
    const ref = 'picture' in given ? `blob:sha256:${sha256Hex(bytesOf(given.picture))}` : '';
    const file = session?.file ?? '';
    switch (given.do) {
      case 'create':
        this.#sessions.push(await sessions.create({ folder: join(this.folder, 'own') }));
        break;
      case 'bring':
        await this.#bring(this.#newFile());
        break;
      case 'put':
        await blobs.put(bytesOf(given.picture), { sha256: true });
        break;
      case 'own':
        await session?.append(toPicture(given.picture));
        break;
      case 'mention':
        await session?.append({ type: 'x', note: [`(${ref})`] });
        break;
      case 'foreign':
        if (session) fs.appendFileSync(file, `{"type":"x","id":"${this.#names++}","a":"${ref}"}\n`);
        break;
      case 'torn':
        if (session) fs.appendFileSync(file, `{"type":"x","a":"${ref}"`);
        break;
      case 'artifact':
        await session?.saveArtifact(`seen: ${ref}`, 'bash');
        break;
      case 'swap':
        if (session) {
          const text = fs.readFileSync(file, 'utf8');
          fs.writeFileSync(file, text.replace(/blob:sha256:\w{64}/, ref));
        }
        break;
      case 'fork':
        if (session) this.#sessions.push(await sessions.open((await session.fork()).id));
        break;
      case 'move':
        await session?.moveTo(join(this.folder, `moved-${this.#names++}`));
        break;
      case 'copy':
        if (session) {
          const copy = this.#newFile();
          fs.copyFileSync(file, copy);
          this.#sessions.push(await sessions.open(copy));
        }
        break;
      case 'child':
        if (session) {
          const agentId = await session.artifacts.allocateAgent('A');
          this.#sessions.push(await sessions.create({ parent: session, agentId }));
        }
        break;
      case 'remove':
        if (session) {
          await session.close();
          await sessions.remove(file);
          this.#sessions = this.#sessions.filter((one) => fs.existsSync(one.file ?? ''));
        }
        break;
      case 'reopen':
        await this.store.close();
        await this.open();
        this.#sessions = await Promise.all(
          this.#sessions.map(({ file = '', id }) =>
            this.store.sessions.open(fs.existsSync(file) ? file : id),
          ),
        );
        break;
      case 'collect':
      case 'collectLate':
        await this.collect(given.do === 'collectLate');
        break;
    }
  }

  /** One whose file is where it says, also when its parent was moved. */
  async #session(n: number): Promise<Session | undefined> {
    const session = this.#sessions[n % this.#sessions.length];
    await session?.last(0);
    return session;
  }

  async collect(late: boolean): Promise<void> {
    const before = await this.#picturesInUse();
    let written = !late;
    const progress = (): void => {
      const [session] = this.#sessions;
      if (written || session?.file === undefined) return;
      written = true;
      for (let n = 0; n < PICTURES; n += 3) {
        const ref = `blob:sha256:${sha256Hex(bytesOf(n))}`;
        fs.appendFileSync(session.file, `\n{"type":"x","id":"l${this.#names++}","a":"${ref}"}\n`);
      }
    };
    const had = new Set(await this.#having());
    await collectGarbage(this.engine, this.#sources(), { graceMs: 0, all: true, progress });
    const after = await this.#picturesInUse();
    const has = new Set(await this.#having());
    for (const sha256 of new Set([...before, ...after])) {
      if (had.has(sha256) && !has.has(sha256)) throw new Error(`the picture ${sha256} is gone`);
    }
  }

  #sources(): RootSource[] {
    const others = rootSources(this.engine).filter(({ kind }) => kind !== 'sessions');
    return [...others, sessionRoots(this.engine, this.#io)];
  }

  async #having(): Promise<string[]> {
    const all = Array.from({ length: PICTURES }, (_, n) => sha256Hex(bytesOf(n)));
    const has = await Promise.all(all.map((one) => this.store.blobs.has(`blob:sha256:${one}`)));
    return all.filter((_, n) => has[n]);
  }

  /** Of every file below the folder that is of a session, by a search of its own. */
  async #picturesInUse(): Promise<Set<string>> {
    const found = new Set<string>();
    for (const entry of fs.readdirSync(this.folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !/\.(?:jsonl|log|torn)$/.test(path)) continue;
      if (path.startsWith(join(this.folder, 'store/'))) continue;
      const [, ...parts] = fs.readFileSync(path, 'latin1').split('blob:sha256:');
      for (const part of parts) found.add(part.slice(0, 64));
    }
    return found;
  }

  async #bring(file: string): Promise<void> {
    const header = { type: 'session', version: 3, id: `brought-${this.#names++}` };
    fs.writeFileSync(file, `${JSON.stringify(header)}\n`);
    this.#sessions.push(await this.store.sessions.open(file));
  }

  #newFile(): string {
    const folder = join(this.folder, 'foreign');
    fs.mkdirSync(folder, { recursive: true });
    return join(folder, `${this.#names++}.jsonl`);
  }
}

function toPicture(n: number): { type: string; data: string; mimeType: string } {
  return { type: 'image', mimeType: 'image/png', data: bytesOf(n).toString('base64') };
}

async function run(steps: readonly Step[], io: Io): Promise<void> {
  const world = new World(io);
  await world.open();
  try {
    for (const one of steps) await world.take(one);
    await world.collect(false);
  } finally {
    await world.end();
  }
}

const steps = fc.array(step, { minLength: 4, maxLength: 30 });
const RUNS = Number(process.env['QUIPU_PICTURE_RUNS'] ?? 25);

describe('pictures', () => {
  it('stay while any file of a session refers to them, whoever wrote it', async () => {
    const begin: Step[] = [{ do: 'create' }, { do: 'bring' }];
    const property = fc.asyncProperty(steps, (more) => run([...begin, ...more], plainFilesIo));
    expect(await fc.assert(property, { numRuns: RUNS })).toBeUndefined();
  });

  it('would be missed if files were not read', async () => {
    const blind: Io = { ...plainFilesIo, open: () => plainFilesIo.open('/dev/null', 'read') };
    const story: Step[] = [
      { do: 'create' },
      { do: 'put', picture: 1 },
      { do: 'foreign', at: 0, picture: 1 },
    ];
    await run(story, plainFilesIo);
    await expect(run(story, blind)).rejects.toThrow('picture');
  });

  it('would be missed if files were not read again before anything goes', async () => {
    const story: Step[] = [{ do: 'create' }, { do: 'put', picture: 3 }, { do: 'collectLate' }];
    await run(story, plainFilesIo);
    const first = new Map<string, Awaited<ReturnType<Io['stat']>>>();
    const stale: Io = {
      ...plainFilesIo,
      async stat(path) {
        if (!first.has(path)) first.set(path, await plainFilesIo.stat(path));
        return first.get(path);
      },
    };
    await expect(run(story, stale)).rejects.toThrow('picture');
  });
});
