import { toTurnId } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Pin } from '../contexts.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RootSource } from '../../engine/roots.ts';

/** The document that keeps the pins. */
export const PINS_DOC = 'pins/turns.json';

/** Throws CORRUPT for a list that cannot be read: taking it for empty would let pinned turns go. */
export function parsePins(content: string): Pin[] {
  try {
    const { pins } = JSON.parse(content) as { pins: { turn: string; reason?: string }[] };
    return pins.map(({ turn, reason }) => ({
      turn: toTurnId(BigInt(turn)),
      ...(reason !== undefined && { reason }),
    }));
  } catch (error) {
    const message = `the document ${PINS_DOC} is not a list of pins`;
    throw new QuipuError('CORRUPT', message, { file: PINS_DOC, offset: 0 }, { cause: error });
  }
}

export function formatPins(pins: readonly Pin[]): string {
  return canonicalJson({ pins: pins.map((pin) => ({ ...pin, turn: String(pin.turn) })) });
}

/** Sorted by rising turn. A turn that is pinned again takes the new reason. */
export function withPin(pins: readonly Pin[], pin: Pin): Pin[] {
  const all = [...withoutPin(pins, pin.turn), pin];
  return all.toSorted((a, b) => (a.turn < b.turn ? -1 : 1));
}

export function withoutPin(pins: readonly Pin[], turn: TurnId): Pin[] {
  return pins.filter((pin) => pin.turn !== turn);
}

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
