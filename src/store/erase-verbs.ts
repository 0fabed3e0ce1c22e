import { toTurnId } from '../base/brand.ts';
import type { TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded, kindOf } from '../base/check-text.ts';
import type { Contexts, EraseOptions, TurnEraseReport } from '../context/contexts.ts';
import type { Lifetime } from '../base/lifetime.ts';
import { REASON_BYTES_MAX } from '../context/limits.ts';
import type { Engine } from '../engine/engine.ts';
import type { RootSource } from '../engine/roots.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { Blobs } from './blobs.ts';
import { findHash, noBlob } from './create-blobs.ts';

/** Kinds of thread that need blobs beside turns, and do not erase them themselves. */
const OTHER_KINDS = ['workflows', 'sessions'];

export interface EraseVerbs {
  readonly turn: Contexts['erase'];
  readonly blob: Blobs['erase'];
}

export function eraseVerbs(engine: Engine, lifetime: Lifetime, clock: () => number): EraseVerbs {
  /** What a chat needs it lets go itself, line by line, before it asks for the blob to be erased. */
  async function otherSources(): Promise<readonly RootSource[]> {
    const { rootSources } = await import('./root-sources.ts');
    return rootSources(engine, clock).filter(({ kind }) => OTHER_KINDS.includes(kind));
  }

  return {
    async turn(turn: TurnId, options: EraseOptions): Promise<TurnEraseReport> {
      lifetime.assertOpen('contexts.erase');
      const checked = checkErase(options);
      const { eraseTurn } = await import('../maintain/erase-turn.ts');
      const others = await otherSources();
      return eraseTurn(engine, toTurnId(turn), { ...checked, atMs: clock(), others });
    },

    async blob(ref: string, options: EraseOptions): Promise<EraseReport> {
      lifetime.assertOpen('blobs.erase');
      const checked = checkErase(options);
      const hash = await findHash(engine, ref);
      if (hash === undefined || !(await engine.hasBlob(hash))) throw noBlob(ref);
      const { eraseBlobs } = await import('../maintain/erase-blobs.ts');
      const request = { ...checked, hashes: [hash], atMs: clock(), others: await otherSources() };
      const [report] = await eraseBlobs(engine, request);
      if (report === undefined) throw new TypeError(`nothing was said about blob ${hash}`);
      return report;
    },
  };
}

function checkErase(options: EraseOptions): Required<EraseOptions> {
  const { reason, everywhere = false } = options;
  if (typeof everywhere !== 'boolean') {
    throw invalid('everywhere', `is a boolean, got ${kindOf(everywhere)}`);
  }
  return { reason: checkBounded(reason, 'reason', REASON_BYTES_MAX), everywhere };
}
