import { onTestFinished } from 'vitest';
import { toHash } from '../../src/base/brand.ts';
import type { Hash } from '../../src/base/brand.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';

export const BUNDLE: Hash = toHash('b'.repeat(64));

export interface Opened {
  readonly engine: ModelEngine;
  readonly store: Store;
}

/** A store in memory whose clock goes on by a second with every question. */
export function openModel(): Opened {
  let now = Date.UTC(2026, 10, 15);
  const clock = (): number => (now += 1000);
  const engine = new ModelEngine({ clock });
  const store = createStore(engine, { clock });
  onTestFinished(() => store.close());
  return { engine, store };
}
