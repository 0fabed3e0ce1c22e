import type { Hash } from '../../base/brand.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { createWorkflows } from '../../workflow/create-workflows.ts';
import { changeThread } from '../../workflow/threads/change-thread.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { Lifetime } from '../../base/lifetime.ts';
import type { StateAt } from '../../workflow/home/nodes.ts';
import { planStep } from '../../workflow/steps/walk-steps.ts';
import type { Thread } from '../../workflow/threads/workflows.ts';
import { toThreadId } from '../../workflow/home/workflows-home.ts';
import { BUNDLE } from './fixture.ts';

const PUTS_AT_ONCE = 500;

/** Makes a thread of many steps in few commits, like one with a long life. */
export async function makeLongThread(
  engine: Engine,
  steps: number,
): Promise<{ thread: Thread; hashes: Hash[] }> {
  const started = await createWorkflows(engine).start({
    name: 'long',
    bundle: BUNDLE,
    prompt: 'p',
    maxRounds: 1_000_000,
  });
  const hashes: Hash[] = [];
  let parent: StateAt | undefined;
  let puts: BlobPut[] = [];
  for (let n = 0; n < steps; n += 1) {
    const payload = { role: 'worker', meta: { n }, timestamp: 1_790_000_000_000 + n };
    const planned = planStep(started.start, parent, {
      payload,
      content: `step ${n}`,
      artifacts: [],
    });
    parent = planned.state;
    hashes.push(parent.hash);
    puts.push(...planned.puts);
    if (puts.length >= PUTS_AT_ONCE) {
      await engine.commit({ blobs: puts });
      puts = [];
    }
  }
  const head = hashes.at(-1)!;
  const home = {
    engine,
    clock: Date.now,
    quickMs: 10_000,
    lifetime: new Lifetime(),
    changes: new OneAtATime<Hash>(),
    rounds: new LruCache<Hash, number>(1, () => 1),
  };
  await changeThread(home, toThreadId(started.id), async ({ entry }) => ({
    puts,
    entry: { ...entry!, head },
  }));
  return { thread: { ...started, head }, hashes };
}
