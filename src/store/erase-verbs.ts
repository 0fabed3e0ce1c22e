import { toTurnId } from '../base/brand.ts';
import type { TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded, kindOf } from '../base/check-text.ts';
import type { Contexts, EraseOptions, TurnEraseReport } from '../context/contexts.ts';
import type { Lifetime } from '../base/lifetime.ts';
import { REASON_BYTES_MAX } from '../context/limits.ts';
import type { Engine } from '../engine/engine.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { Blobs } from './blobs.ts';
import { findHash, noBlob } from './create-blobs.ts';

export interface EraseVerbs {
  readonly turn: Contexts['erase'];
  readonly blob: Blobs['erase'];
}

export function eraseVerbs(engine: Engine, lifetime: Lifetime, clock: () => number): EraseVerbs {
  return {
    async turn(turn: TurnId, options: EraseOptions): Promise<TurnEraseReport> {
      lifetime.assertOpen('contexts.erase');
      const checked = checkErase(options);
      const { eraseTurn } = await import('../maintain/erase-turn.ts');
      return eraseTurn(engine, toTurnId(turn), { ...checked, atMs: clock() });
    },

    async blob(ref: string, options: EraseOptions): Promise<EraseReport> {
      lifetime.assertOpen('blobs.erase');
      const checked = checkErase(options);
      const hash = await findHash(engine, ref);
      if (hash === undefined || !(await engine.hasBlob(hash))) throw noBlob(ref);
      const { eraseBlobs } = await import('../maintain/erase-blobs.ts');
      const request = { ...checked, hashes: [hash], atMs: clock() };
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
