import { toHash } from '../../base/brand.ts';
import type { Hash } from '../../base/brand.ts';
import { openRig } from '../store-suite/fixture.ts';
import type { StoreRig } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

export const BUNDLE: Hash = toHash('b'.repeat(64));

/** Opens a store whose clock goes on by a second each time it is read. */
export async function openWorkflows(target: StoreTarget): Promise<StoreRig> {
  let now = Date.UTC(2026, 10, 15);
  return openRig(target, { clock: () => (now += 1000) });
}
