import { setTimeout as sleep } from 'node:timers/promises';
import type { ContextId } from '../../base/brand.ts';
import type { Store } from '../../store/store.ts';
import { ESSAY } from './demo-text.ts';

const PAUSE_MS = 400;

/**
 * Streams an answer word by word, so that there is something to follow, and seals it at its end. When the signal
 * aborts, the turn ends with the text it has. Never leaves a turn open.
 */
export async function writeSlowly(
  store: Store,
  live: ContextId,
  { signal, pauseMs = PAUSE_MS }: { readonly signal: AbortSignal; readonly pauseMs?: number },
): Promise<void> {
  const turn = await store.contexts.open(live, { type: 'chat.message' });
  for (const word of ESSAY.split(/(?<=\s)/)) {
    if (signal.aborted) break;
    await turn.write(word);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  await (signal.aborted ? turn.abort('the server was stopped') : turn.seal());
}
