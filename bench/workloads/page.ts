import { openStore } from '../../src/index.ts';
import type { Context, Store } from '../../src/index.ts';
import { closeBrowser, openBrowser } from '../../test/support/chromium.ts';
import { percentile } from '../figures.ts';
import { ServerProcess } from '../drivers/server-process.ts';
import type { Result, Trial } from './workload.ts';

const BATCH = 500;
const DRAG_STEPS = 120;

/**
 * The page in a real browser, on a thread of `size` turns with a twentieth as many forks: the time until the thread can
 * be read, the time of a frame while the graph of its branches is dragged, and the heap of the tab after live turns.
 */
export async function page({ folder, size }: Trial): Promise<Result> {
  const server = await ServerProcess.start(folder);
  const store = await openStore(server.addresses.tcp);
  try {
    const { id } = await fill(store, size);
    const context = await (
      await openBrowser()
    ).newContext({ viewport: { width: 1280, height: 800 } });
    const tab = await context.newPage();
    const startedMs = performance.now();
    await tab.goto(`${server.addresses.http}/c/${id}`);
    await tab.getByText(`turn number ${size - 1}`, { exact: true }).waitFor();
    const readableMs = performance.now() - startedMs;
    const paintMs = await tab.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`,
    );

    const heapBefore = await heapOf(tab);
    const live = Math.min(1000, size);
    for (let n = 0; n < live; n += 1) {
      await store.contexts.append(id, note(`live turn ${n}`));
    }
    await tab.getByText(`live turn ${live - 1}`, { exact: true }).waitFor();
    const heapAfter = await heapOf(tab);

    await tab.goto(`${server.addresses.http}/c/${id}/branches`);
    await tab.locator('.row').first().waitFor();
    const frameMs = await drag(tab);
    await context.close();
    return {
      readableMs,
      paintMs,
      frameMs,
      heapBytes: Math.max(0, heapAfter - heapBefore),
      heapAfter,
    };
  } finally {
    await closeBrowser();
    await store.close();
    await server.stop();
  }
}

const note = (text: string): { type: string; payload: object } => ({
  type: 'chat.message',
  payload: { role: 'user', text },
});

async function fill({ contexts }: Store, size: number): Promise<Context> {
  const context = await contexts.create({ title: 'a long thread' });
  for (let at = 0; at < size; at += BATCH) {
    const length = Math.min(BATCH, size - at);
    const turns = Array.from({ length }, (_, n) => note(`turn number ${at + n}`));
    const appended = await contexts.appendBatch(context.id, turns);
    for (const turn of appended.filter((_, n) => n % 20 === 10)) {
      const branch = await contexts.fork(turn.id, { title: `branch at ${turn.depth}` });
      await contexts.append(branch.id, note('another way'));
    }
  }
  return context;
}

type Tab = Awaited<
  ReturnType<Awaited<ReturnType<Awaited<ReturnType<typeof openBrowser>>['newContext']>>['newPage']>
>;

/** What is in use after a collection. `performance.memory` gives rounded figures, with garbage. */
async function heapOf(tab: Tab): Promise<number> {
  const session = await tab.context().newCDPSession(tab);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** The 95th percentile of the time between two frames while the graph is dragged. */
async function drag(tab: Tab): Promise<number> {
  await tab.evaluate(`
    globalThis.frames_ = [];
    let last = performance.now();
    const tick = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);`);
  await tab.mouse.move(900, 700);
  await tab.mouse.down();
  for (let step = 0; step < DRAG_STEPS; step += 1) {
    await tab.mouse.move(900, 700 - (step % 60) * 10);
  }
  await tab.mouse.up();
  const frames = await tab.evaluate<number[]>('frames_');
  return percentile(frames, 0.95);
}
