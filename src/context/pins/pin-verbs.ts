import { toTurnId } from '../../base/brand.ts';
import { jsonable } from '../../base/jsonable.ts';
import { notFound } from '../../base/errors.ts';
import { checkBounded } from '../../base/text.ts';
import { untilFirst } from '../../base/until-first.ts';
import type { ContextsParts } from '../turns/loaded-page.ts';
import type { Contexts, Pin } from '../contexts.ts';
import { REASON_BYTES_MAX } from '../limits.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { PINS_DOC, formatPins, parsePins, withPin, withoutPin } from './pin-list.ts';
import { mustGetSealed, mustGetTurn } from '../turns/read-turns.ts';

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
