import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';

/** What one step asked of the engine. */
export interface Cost {
  readonly ms: number;
  readonly lines: number;
  readonly blobs: number;
}

const BATCH = 5000;

/** Counts what is read. */
class Meter {
  lines = 0;
  blobs = 0;

  over(engine: Engine): Engine {
    const readLog = engine.readLog.bind(engine);
    const viewBlob = engine.viewBlob.bind(engine);
    return Object.assign(engine, {
      readLog: async (...given: Parameters<Engine['readLog']>) => {
        const lines = await readLog(...given);
        this.lines += lines.length;
        return lines;
      },
      viewBlob: async (...given: Parameters<Engine['viewBlob']>) => {
        this.blobs += 1;
        return viewBlob(...given);
      },
    });
  }

  async cost(work: () => Promise<unknown>): Promise<Cost> {
    const { lines, blobs } = this;
    const started = performance.now();
    await work();
    return {
      ms: performance.now() - started,
      lines: this.lines - lines,
      blobs: this.blobs - blobs,
    };
  }
}

/** Appends messages up to `events`, some of them edits of messages long past. */
export async function grow(folder: string, from: number, events: number): Promise<void> {
  const store = createStore(await openFilesEngine(folder, { durability: 'unsafe' }));
  if (from === 0) await store.chats.create({ id: 'long' });
  const chat = await store.chats.open('long');
  for (let at = from; at < events; at += BATCH) {
    const count = Math.min(BATCH, events - at);
    await chat.append(
      Array.from({ length: count }, (_, n) => {
        const seq = at + n;
        if (seq % 1000 === 999) {
          const payload = { message_id: `m${Math.floor(seq / 2) - 1}`, content: `edited ${seq}` };
          return { type: 'message_edited', payload };
        }
        const payload = { message_id: `m${seq}`, role: 'user', content: `message number ${seq}` };
        return { type: 'message_added', payload };
      }),
    );
  }
  await chat.status();
  await store.close();
}

export interface Used {
  readonly open: Cost;
  readonly status: Cost;
  readonly page: Cost;
  readonly append: Cost;
  readonly events: number;
  readonly last: string;
}

/** A process that has never seen the chat: opens it, shows its end, and appends. */
export async function use(folder: string): Promise<Used> {
  const meter = new Meter();
  const store = createStore(meter.over(await openFilesEngine(folder, { durability: 'unsafe' })));
  // Its modules are loaded with the first call.
  await store.chats.list();
  const open = await meter.cost(() => store.chats.open('long'));
  const chat = await store.chats.open('long');
  const status = await meter.cost(() => chat.status());
  let last = '';
  const page = await meter.cost(async () => {
    last = (await chat.messages({ limit: 20 })).messages.at(-1)?.content ?? '';
  });
  const append = await meter.cost(async () => {
    for (let n = 0; n < 20; n += 1) await chat.add({ role: 'user', content: 'one more' });
  });
  const { events } = await chat.status();
  await store.close();
  return { open, status, page, append, events, last };
}
