import type { TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { Bell } from '../../base/bell.ts';
import type { CheckedRead } from '../check-input.ts';
import { DeltaTail, bytesAfter } from '../streams/delta-tail.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import { mustGetTurn, readTurn } from '../turns/read-turns.ts';

const TAIL_BYTES_MAX = 1_048_576;
const READ: CheckedRead = { payload: true, as: 'original', maxBytes: 0 };

export interface OpenTurnPlan {
  readonly id: TurnId;
  /** Begin after this many bytes. */
  readonly after: number;
  readonly signal: AbortSignal | undefined;
}

/** Yields the bytes of a turn as they become durable. A sealed turn gives its payload and ends. */
export async function* followOpenTurn(
  engine: Engine,
  lifetime: Lifetime,
  { id, after, signal }: OpenTurnPlan,
): AsyncGenerator<Uint8Array, void, undefined> {
  const bell = new Bell();
  const tail = new DeltaTail(TAIL_BYTES_MAX);
  const ring = (): void => bell.ring();
  const stops = [
    engine.subscribe(
      (change) => {
        const deltas = change.deltas.filter((delta) => delta.turn === id);
        for (const delta of deltas) tail.add(delta);
        const sealed = change.sealed.some((row) => row.id === id);
        if (sealed) tail.drop();
        if (sealed || deltas.length > 0) bell.ring();
      },
      () => {
        tail.drop();
        bell.ring();
      },
    ),
    lifetime.onClose(ring),
    () => signal?.removeEventListener('abort', ring),
  ];
  signal?.addEventListener('abort', ring);
  try {
    await mustGetTurn(engine, id);
    let sent = after;
    while (!lifetime.closed && signal?.aborted !== true) {
      const { bytes, sealed } = await nextBytes(engine, id, sent, tail);
      sent += bytes.length;
      if (bytes.length > 0) yield bytes;
      if (sealed) return;
      await bell.wait();
    }
  } catch (error) {
    if (!(lifetime.closed && isQuipuError(error, 'CLOSED'))) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

async function nextBytes(
  engine: Engine,
  id: TurnId,
  sent: number,
  tail: DeltaTail,
): Promise<{ bytes: Uint8Array; sealed: boolean }> {
  const deltas = tail.take();
  const fresh = deltas && bytesAfter(sent, deltas);
  if (fresh !== undefined) return { bytes: fresh, sealed: false };
  const turn = await readTurn(engine, id, READ);
  return {
    // A copy, when it is a part: a reader that waits must not hold the whole.
    bytes: (sent === 0 ? turn?.bytes : turn?.bytes?.slice(sent)) ?? new Uint8Array(),
    sealed: turn?.state !== 'open',
  };
}
