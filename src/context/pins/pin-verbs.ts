import { toTurnId, type TurnId } from '../../base/brand.ts';
import { jsonable } from '../../base/jsonable.ts';
import { notFound, QuipuError } from '../../base/errors.ts';
import { checkBounded } from '../../base/text.ts';
import { untilFirst } from '../../base/retry.ts';
import type { ContextsParts } from '../turns/loaded-page.ts';
import type { Contexts, Pin } from '../contexts.ts';
import { REASON_BYTES_MAX } from '../limits.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { mustGetSealed, mustGetTurn } from '../turns/read-turns.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RootSource } from '../../engine/roots.ts';

type PinVerbs = Pick<Contexts, 'pin' | 'unpin' | 'pins'>;

export function pinVerbs({ engine }: ContextsParts): PinVerbs {
  // Each change reads the list and writes the whole of it.
  const changes = new OneAtATime<'pins'>();

  async function read(): Promise<{ pins: Pin[]; version: number }> {
    const doc = await engine.getDoc(PINS_DOC);
    if (doc === undefined) return { pins: [], version: 0 };
    return { pins: parsePins(doc.content), version: doc.version };
  }

  async function change(edit: (pins: readonly Pin[]) => Pin[]): Promise<void> {
    const attempt = async (): Promise<void> => {
      const { pins, version } = await read();
      const content = formatPins(edit(pins));
      await engine.commit({ docs: [{ name: PINS_DOC, content, expectedVersion: version }] });
    };
    await changes.run('pins', () => untilFirst(attempt));
  }

  return {
    async pin(turn, options = {}) {
      const { reason } = options;
      const said =
        reason === undefined ? {} : { reason: checkBounded(reason, 'reason', REASON_BYTES_MAX) };
      const { id } = await mustGetSealed(engine, toTurnId(turn));
      await change((pins) => withPin(pins, { turn: id, ...said }));
      // A collection that was at its end may have removed the turn before it heard of the pin.
      try {
        await mustGetTurn(engine, id);
      } catch (error) {
        await change((pins) => withoutPin(pins, id));
        throw error;
      }
    },

    async unpin(turn) {
      const id = toTurnId(turn);
      await change((pins) => {
        const left = withoutPin(pins, id);
        if (left.length < pins.length) return left;
        throw notFound('pin', `${id}`, `turn ${id} is not pinned`);
      });
    },

    async pins() {
      return (await read()).pins.map((pin) => jsonable(pin));
    },
  };
}

/** The document that keeps the pins. */
const PINS_DOC = 'pins/turns.json';

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
