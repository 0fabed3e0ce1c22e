import { describe, expect, it } from 'vitest';
import { ModelEngine } from '../../testing/model-engine.ts';
import { createContexts } from '../verbs/create-contexts.ts';
import { toTurnId } from '../../base/brand.ts';
import { formatPins, parsePins, withPin, withoutPin } from './pin-verbs.ts';

const pins = [{ turn: toTurnId(2), reason: 'shown in a report' }, { turn: toTurnId(9) }];

describe('the list of pins', () => {
  it('reads back what it wrote', () => {
    expect(formatPins(pins)).toBe(
      '{"pins":[{"reason":"shown in a report","turn":"2"},{"turn":"9"}]}',
    );
    expect(parsePins(formatPins(pins))).toEqual(pins);
  });

  it('stays sorted and has each turn once', () => {
    const added = withPin(pins, { turn: toTurnId(5) });
    expect(added.map(({ turn }) => turn)).toEqual([2n, 5n, 9n]);
    expect(withPin(added, { turn: toTurnId(2), reason: 'new' })[0]).toEqual({
      turn: 2n,
      reason: 'new',
    });
    expect(withoutPin(added, toTurnId(5))).toEqual(pins);
  });

  it.each(['{}', '[]', 'null', '{"pins":[{"turn":"0"}]}', '{"pins":[{"turn":"x"}]}'])(
    'does not take %s for a list',
    (content) => {
      expect(() => parsePins(content)).toThrow(expect.objectContaining({ code: 'CORRUPT' }));
    },
  );
});

describe('pins that two processes set at once', () => {
  it('are all there', async () => {
    const engine = new ModelEngine();
    const [one, other] = [createContexts(engine), createContexts(engine)];
    const { id } = await one.create();
    const turns = await one.appendBatch(
      id,
      Array.from({ length: 10 }, (_, payload) => ({ type: 't', payload })),
    );
    await Promise.all(turns.map(({ id: turn }, at) => (at % 2 === 0 ? one : other).pin(turn)));
    expect((await one.pins()).map(({ turn }) => turn)).toEqual(turns.map((turn) => turn.id));
  });
});
