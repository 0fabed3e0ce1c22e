import type { Engine } from '../../engine/engine.ts';
import type { RootSource } from '../../engine/roots.ts';
import { PINS_DOC, parsePins } from './pin-list.ts';

/** Yields every pinned turn, also one that is pinned while a collection runs. */
export function pinRoots(engine: Engine): RootSource {
  return {
    kind: 'pins',
    async *roots() {
      const doc = await engine.getDoc(PINS_DOC);
      if (doc !== undefined) yield* parsePins(doc.content);
    },
    rootsIn: (change) =>
      change.docs
        .filter(({ name }) => name === PINS_DOC)
        .flatMap(({ content }) => parsePins(content)),
  };
}
