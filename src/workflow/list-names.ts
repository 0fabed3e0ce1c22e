import type { Hash } from '../base/brand.ts';
import type { Engine } from '../engine/engine.ts';
import { BUNDLES_PREFIX, bundleOfIndex, historyPrefix } from './names.ts';

const NAMES_AT_ONCE = 1000;

/** Yields every bundle that ever had a thread: its index stays when it is empty. */
export async function* eachBundle(engine: Engine): AsyncGenerator<Hash, void, undefined> {
  for await (const name of eachName((after) =>
    engine.listDocs(BUNDLES_PREFIX, NAMES_AT_ONCE, after),
  )) {
    const bundle = bundleOfIndex(name);
    if (bundle !== undefined) yield bundle;
  }
}

/** Yields the logs of finished threads of a bundle, oldest day first. */
export function eachHistory(engine: Engine, bundle: Hash): AsyncGenerator<string, void, undefined> {
  return eachName((after) => engine.listLogs(historyPrefix(bundle), NAMES_AT_ONCE, after));
}

async function* eachName(
  page: (after: string | undefined) => Promise<readonly string[]>,
): AsyncGenerator<string, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const names = await page(after);
    yield* names;
    after = names.at(-1);
    if (after === undefined || names.length < NAMES_AT_ONCE) return;
  }
}
