import type { Hash } from '../../base/brand.ts';
import { ChangeBell } from '../../engine/change-bell.ts';
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
  home: WorkflowsHome,
  bundle: Hash,
  signal: AbortSignal | undefined,
): AsyncGenerator<IndexChange, void, undefined> {
  const name = indexDoc(bundle);
  let waiting: DocRow[] = [];
  let missed = true;
  using bell = new ChangeBell(home, {
    signal,
    hear({ docs }) {
      const doc = docs.find((row) => row.name === name);
      if (doc === undefined) return false;
      waiting.push(doc);
      const chars = waiting.length * doc.content.length;
      if (waiting.length > WAITING_MAX || chars > WAITING_CHARS_MAX) waiting = [doc];
      return true;
    },
    miss() {
      missed = true;
    },
  });
  let told = -1;
  while (!bell.isOver) {
    if (missed) {
      missed = false;
      const empty = { name, version: 0, content: '{}' };
      waiting.push((await home.engine.getDoc(name)) ?? empty);
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
}
