import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressOf, parseAddress, type View } from './address.ts';

const id = fc.integer({ min: 1, max: 2 ** 40 }).map(String);
const word = fc
  .string({ minLength: 1, unit: 'grapheme' })
  .filter((text) => !/^\.{1,2}$/.test(text));

const view: fc.Arbitrary<View> = fc.oneof(
  fc.constant<View>({ at: 'home' }),
  fc.constant<View>({ at: 'store' }),
  fc.record({ at: fc.constant('context' as const), context: id, turn: id }),
  fc.record({
    at: fc.constant('context' as const),
    context: id,
    turn: id,
    query: fc.string({ minLength: 1 }),
  }),
  fc.record({ at: fc.constant('context' as const), context: id }),
  fc.record({ at: fc.constant('branches' as const), context: id }),
  fc.record({ at: fc.constant('compare' as const), left: id, right: id }),
  fc.record({ at: fc.constant('chat' as const), chat: word }),
  fc.record({ at: fc.constant('chat' as const), chat: word, message: word }),
  fc.record({ at: fc.constant('workflow' as const), thread: word }),
  fc.record({ at: fc.constant('workflow' as const), thread: word, step: word }),
  fc.record({ at: fc.constant('session' as const), session: word, entry: word }),
  fc.record({ at: fc.constant('session' as const), session: word }),
  fc.record({ at: fc.constant('queue' as const), queue: word }),
  fc.record({ at: fc.constant('search' as const), query: fc.string() }),
);

it('reads every address that it writes', () => {
  fc.assert(
    fc.property(view, (given) => {
      const [path = '', search = ''] = addressOf(given).split(/(?=\?)/);
      expect(parseAddress(path, search)).toEqual(given);
    }),
  );
});

it.each(['/c/0', '/c/x', '/c/1/t/0', '/c/1/what', '/compare/1..', '/w', '/%ff', '/what/1'])(
  'knows no address %s',
  (path) => {
    expect(parseAddress(path)).toEqual({ at: 'nowhere', path });
  },
);
