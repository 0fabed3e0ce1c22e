import { Bell } from '../../base/bell.ts';
import type { Hash } from '../../base/brand.ts';
import type { DocRow } from '../../engine/rows.ts';
import { indexDoc } from '../home/documents.ts';
import type { WorkflowsHome } from '../home/workflows-home.ts';
import { parseIndex } from './thread-docs.ts';
import type { IndexChange } from './workflows.ts';

/** The versions kept for a busy reader; a reader that is further behind gets only the newest. */
const WAITING_MAX = 1000;
const WAITING_CHARS_MAX = 8 * 1024 * 1024;

/** Yields every version of an index, the present one first. */
export async function* watchIndex(
  { engine, lifetime }: WorkflowsHome,
  bundle: Hash,
  signal: AbortSignal | undefined,
): AsyncGenerator<IndexChange, void, undefined> {
  const name = indexDoc(bundle);
  const bell = new Bell();
  const ring = (): void => bell.ring();
  let waiting: DocRow[] = [];
  let missed = true;
  const stops = [
    engine.subscribe(
      ({ docs }) => {
        const doc = docs.find((row) => row.name === name);
        if (doc === undefined) return;
        waiting.push(doc);
        const chars = waiting.length * doc.content.length;
        if (waiting.length > WAITING_MAX || chars > WAITING_CHARS_MAX) waiting = [doc];
        bell.ring();
      },
      () => {
        missed = true;
        bell.ring();
      },
    ),
    lifetime.onClose(ring),
    () => signal?.removeEventListener('abort', ring),
  ];
  signal?.addEventListener('abort', ring);
  let told = -1;
  try {
    while (!lifetime.closed && signal?.aborted !== true) {
      if (missed) {
        missed = false;
        const empty = { name, version: 0, content: '{}' };
        waiting.push((await engine.getDoc(name)) ?? empty);
      }
      const next = waiting.shift();
      if (next === undefined) {
        await bell.wait();
      } else if (next.version > told) {
        told = next.version;
        const threads = Object.fromEntries(parseIndex(name, next.content));
        yield { version: next.version, threads };
      }
    }
  } finally {
    for (const stop of stops) stop();
  }
}
