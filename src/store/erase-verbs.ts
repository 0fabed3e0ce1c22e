import { toTurnId } from '../base/brand.ts';
import { checkBoolean, only } from '../base/check-value.ts';
import { jsonable } from '../base/jsonable.ts';
import { invalid } from '../base/errors.ts';
import { checkBounded } from '../base/text.ts';
import type { Contexts, EraseOptions } from '../context/contexts.ts';
import { REASON_BYTES_MAX } from '../context/limits.ts';
import type { RootSource } from '../engine/roots.ts';
import type { BlobNeed } from '../engine/upkeep.ts';
import { findHash, noBlob } from './create-blobs.ts';
import type { Blobs } from './blobs.ts';
import type { StoreHome } from './kinds.ts';
import type { StoreElsewhere } from './store.ts';

export interface EraseVerbs {
  readonly turn: Contexts['erase'];
  readonly blob: Blobs['erase'];
}

/** Erases here, or `elsewhere` when the data is in another process. */
export function eraseVerbs(home: StoreHome, elsewhere?: StoreElsewhere): EraseVerbs {
  const here = eraseHere(home);
  const { eraseTurn, eraseBlob } = elsewhere ?? here;
  return {
    async turn(turn, options) {
      return jsonable(await eraseTurn(toTurnId(turn), options));
    },

    async blob(ref, options) {
      return jsonable(await eraseBlob(ref, options));
    },
  };
}

function eraseHere({
  engine,
  clock,
  folder,
}: StoreHome): Pick<StoreElsewhere, 'eraseTurn' | 'eraseBlob'> {
  async function otherSources(): Promise<readonly RootSource[]> {
    const { blobSources } = await import('./root-sources.ts');
    return blobSources(engine, clock, folder);
  }

  return {
    async eraseTurn(turn, options) {
      const checked = checkErase(options);
      const { eraseTurn } = await import('../maintain/erase-blobs.ts');
      const others = await otherSources();
      return eraseTurn(engine, turn, { ...checked, atMs: clock(), others });
    },

    async eraseBlob(ref, options) {
      const checked = { ...checkErase(options), letGo: checkLetGo(options.letGo) };
      const hash = await findHash(engine, ref);
      if (hash === undefined || !(await engine.hasBlob(hash))) throw noBlob(ref);
      const { eraseBlobs } = await import('../maintain/erase-blobs.ts');
      const request = { ...checked, hashes: [hash], atMs: clock(), others: await otherSources() };
      return only(await eraseBlobs(engine, request));
    },
  };
}

function checkLetGo(letGo: unknown = []): readonly BlobNeed[] {
  const isNeed = (need: unknown): boolean =>
    typeof need === 'object' && need !== null && 'kind' in need && 'id' in need;
  if (Array.isArray(letGo) && letGo.every(isNeed)) return letGo as BlobNeed[];
  throw invalid('letGo', 'must be a list of kind and id, as in neededBy');
}

function checkErase(options: EraseOptions): Required<EraseOptions> {
  const { reason, everywhere = false } = options;
  checkBoolean(everywhere, 'everywhere');
  return { reason: checkBounded(reason, 'reason', REASON_BYTES_MAX), everywhere };
}
