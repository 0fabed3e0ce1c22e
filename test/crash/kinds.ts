import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../src/engine/engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { createSessions } from '../../src/session/create-sessions.ts';
import type { Sessions } from '../../src/session/sessions.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type CrashCount, exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { BUNDLE } from '../../src/testing/workflow-suite/fixture.ts';
import { openStore, STORE } from './open-store.ts';
import { CHECK_TIME } from './oracle.ts';

// Workloads of the kinds of thread, on the disk that the engine is on, by the verbs that everyone calls. Each tells
// what it is about to do, and what was acknowledged: a crash may leave what was acknowledged, or one thing more.

export interface Fact {
  readonly what: 'sent' | 'acked';
  /** What a reader must see if it was done, and all that was done before it. */
  readonly id: string;
  readonly texts: readonly string[];
}

/** All that the store shows of a thread, oldest first; undefined when it is not there. */
type Read = (kinds: Kinds, id: string) => Promise<readonly string[] | undefined>;

export interface Kind {
  readonly name: string;
  readonly live: (kinds: Kinds, note: (fact: Fact) => void) => Promise<void>;
  readonly read: Read;
}

export interface Kinds {
  readonly store: Store;
  readonly sessions: Sessions;
  close(): Promise<void>;
}

/** The first picture is a blob; what is shorter stays in its line. */
const PICTURE = Buffer.alloc(3000, 'pixels').toString('base64');

class Teller {
  readonly #note: (fact: Fact) => void;
  #texts: readonly string[] = [];
  #id = '';

  constructor(note: (fact: Fact) => void) {
    this.#note = note;
  }

  /** `create` gives the thread its id. */
  async begin(create: () => Promise<string>): Promise<string> {
    this.#id = await create();
    this.#note({ what: 'acked', id: this.#id, texts: [] });
    return this.#id;
  }

  async add(text: string, act: () => Promise<unknown>): Promise<void> {
    this.#texts = [...this.#texts, text];
    this.#note({ what: 'sent', id: this.#id, texts: this.#texts });
    await act();
    this.#note({ what: 'acked', id: this.#id, texts: this.#texts });
  }
}

export const KINDS: readonly Kind[] = [
  {
    name: 'session',
    async live({ sessions }, note) {
      const teller = new Teller(note);
      let id = '';
      await teller.begin(async () => (id = (await sessions.create({ cwd: '/project' })).id));
      const session = await sessions.open(id);
      for (const text of ['one', 'two']) {
        await teller.add(text, () => session.append({ type: 'message', text }));
      }
      await teller.add(PICTURE, () =>
        session.append({ type: 'message', text: PICTURE, content: [image(PICTURE)] }),
      );
      await teller.add('artifact', async () => {
        const { id: artifact } = await session.saveArtifact('long output', 'bash');
        await session.append({ type: 'message', text: 'artifact', artifact });
      });
      await session.close();
    },
    async read({ sessions }, id) {
      const session = await sessions.open(id);
      const texts: string[] = [];
      for await (const { entry } of session.entries()) {
        const [picture] = (entry['content'] ?? []) as { data?: string }[];
        if (picture !== undefined && picture.data !== PICTURE) throw new Error('a picture is gone');
        const { artifact } = entry as { artifact?: string };
        if (artifact !== undefined) {
          const { content } = await session.resolve(`artifact://${artifact}`);
          if (content !== 'long output') throw new Error(`an artifact reads ${content}`);
        }
        if (entry.type === 'message') texts.push(String(entry['text']));
      }
      await session.close();
      return texts;
    },
  },
  {
    name: 'chat',
    async live({ store }, note) {
      const teller = new Teller(note);
      const id = await teller.begin(async () => (await store.chats.create({ title: 'c' })).id);
      const chat = await store.chats.open(id);
      await teller.add('hello', () => chat.add({ role: 'user', content: 'hello' }));
      const long = 'payload '.repeat(700);
      await teller.add(long, () => chat.add({ role: 'assistant', content: long }));
      await teller.add('in pieces', async () => {
        const stream = await chat.stream({ role: 'assistant' });
        await stream.write('in ');
        await stream.write('pieces');
        await stream.complete();
      });
      await teller.add('last', () => chat.add({ role: 'user', content: 'last' }));
    },
    async read({ store }, id) {
      const chat = await store.chats.open(id);
      const { messages } = await chat.messages({ limit: 100 });
      // One that is being written is not all there yet.
      return messages
        .filter(({ state }) => state !== 'streaming')
        .map(({ content }) => String(content));
    },
  },
  {
    name: 'workflow',
    async live({ store }, note) {
      const teller = new Teller(note);
      const { workflows } = store;
      const id = await teller.begin(
        async () => (await workflows.start({ name: 'w', bundle: BUNDLE, prompt: 'p' })).id,
      );
      for (const content of ['one', 'two '.repeat(900), 'three']) {
        await teller.add(content, () => workflows.step(id, { role: 'a', content }));
      }
    },
    async read({ store }, id) {
      const { steps } = await store.workflows.steps(id, { limit: 100 });
      return steps.map(({ content }) => String(content));
    },
  },
];

function image(data: string): object {
  return { type: 'image', mimeType: 'image/png', data };
}

export type Wrap = (io: Io) => Io;

async function open(io: Io, clock: () => number): Promise<Kinds> {
  const engine: Engine = await openStore(io, clock);
  const store = createStore(engine, { clock });
  const hooks: (() => Promise<void>)[] = [];
  const sessions = createSessions({
    io,
    engine,
    clock,
    root: `${STORE}/sessions`,
    onClose: (hook) => hooks.push(hook),
  });
  const close = async (): Promise<void> => {
    for (const hook of hooks) await hook();
    await store.close();
  };
  return { store, sessions, close };
}

/** Cuts the power at every point of a life of this kind of thread. */
export function cutPower(
  { live, read }: Kind,
  statesPerPoint: number,
  wrap: Wrap = (io) => io,
): Promise<CrashCount> {
  return exploreCrashes<Fact>({
    seed: 11,
    statesPerPoint,
    nestedPerPoint: 1,
    async run(disk, note) {
      let now = 1000;
      const kinds = await open(wrap(disk), () => (now += 1000));
      await live(kinds, note);
      await kinds.close();
    },
    async check(disk: MemoryIo, facts, crash) {
      const kinds = await open(disk, () => CHECK_TIME);
      crash.recovered();
      const acked = facts.findLast(({ what }) => what === 'acked');
      const sent = facts.at(-1);
      if (acked !== undefined && sent !== undefined) {
        const found = await read(kinds, acked.id);
        if (![acked.texts, sent.texts].some((texts) => isDeepStrictEqual(texts, found))) {
          throw new Error(`${found?.length} are there, of ${acked.texts.length} acknowledged`);
        }
      }
      await kinds.close();
    },
  });
}
