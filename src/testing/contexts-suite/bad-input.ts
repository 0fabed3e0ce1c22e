import { describe, expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Contexts, NewTurn, ReadOptions } from '../../context/contexts.ts';
import { failure, failures } from '../engine-suite/fixture.ts';
import { PAYLOAD_BYTES_MAX } from './contexts-target.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { openWith, settle } from './fixture.ts';

type Call = (contexts: Contexts, id: ContextId, turn: TurnId) => unknown;

const GOOD: NewTurn = { type: 't', payload: 1 };
const wrong = <T>(value: unknown): T => value as T;

/** The name in the error, and the call that gets it. */
const CALLS: readonly [string, Call][] = [
  ['context id', (contexts) => contexts.get(wrong(0n))],
  ['context id', (contexts) => contexts.get(wrong('one'))],
  ['context id', (contexts) => contexts.last(wrong(-1), 1)],
  ['context id', (contexts) => contexts.append(wrong(1.5), GOOD)],
  ['context id', (contexts) => contexts.follow(wrong(undefined))],
  ['turn id', (contexts) => contexts.turn(wrong(2n ** 64n))],
  ['turn id', (contexts) => contexts.chain(wrong(0n))],
  ['turn id', (contexts) => contexts.fork(wrong(null))],
  ['turn id', (contexts) => contexts.create({ base: wrong(0n) })],
  ['turn id', (contexts, id) => contexts.append(id, GOOD, { parent: wrong(-1n) })],
  ['turn id', (contexts, id) => contexts.moveHead(id, wrong(-1n))],
  ['turn id', (contexts, id) => contexts.moveHead(id, 0n, { expectedHead: wrong('x') })],
  ['turn id', (contexts, id) => contexts.append(id, GOOD, { expectedHead: wrong(-1n) })],
  ['turn id', (contexts, id) => contexts.follow(id, { after: wrong('x') })],
  ['turn', (contexts, id) => contexts.append(id, wrong('text'))],
  ['turns', (contexts, id) => contexts.appendBatch(id, wrong(GOOD))],
  ['type', (contexts, id) => contexts.append(id, { type: '', payload: 1 })],
  ['type', (contexts, id) => contexts.append(id, { type: 'ü'.repeat(513), payload: 1 })],
  ['type', (contexts, id) => contexts.append(id, { type: 'a\nb', payload: 1 })],
  ['type', (contexts, id) => contexts.append(id, { type: wrong(5), payload: 1 })],
  ['type', (contexts, id) => contexts.open(id, { type: '' })],
  ['version', (contexts, id) => contexts.append(id, { ...GOOD, version: -1 })],
  ['version', (contexts, id) => contexts.append(id, { ...GOOD, version: 2 ** 32 })],
  ['encoding', (contexts, id) => contexts.append(id, { ...GOOD, encoding: wrong('xml') })],
  ['encoding', (contexts, id) => contexts.open(id, { type: 't', encoding: 'json' })],
  ['payload', (contexts, id) => contexts.append(id, { type: 't', payload: undefined })],
  ['payload', (contexts, id) => contexts.append(id, { type: 't', payload: () => 1 })],
  ['payload', (contexts, _, turn) => contexts.patch(turn, 1n)],
  ['idempotencyKey', (contexts, id) => contexts.append(id, GOOD, { idempotencyKey: '' })],
  [
    'idempotencyKey',
    (contexts, id) => contexts.append(id, GOOD, { idempotencyKey: 'k'.repeat(1025) }),
  ],
  ['n', (contexts, id) => contexts.last(id, -1)],
  ['n', (contexts, id) => contexts.last(id, 10_001)],
  ['n', (contexts, id, turn) => contexts.before(id, turn, 1.5)],
  ['fromDepth', (contexts, id) => contexts.range(id, -1, 2)],
  ['toDepth', (contexts, id) => contexts.range(id, 2, 1)],
  ['toDepth', (contexts, id) => contexts.range(id, 0, Number.NaN)],
  ['as', (contexts, id) => contexts.last(id, 1, { as: -1 })],
  ['as', (contexts, _, turn) => contexts.turn(turn, wrong<ReadOptions>({ as: 'newest' }))],
  ['maxBytes', (contexts, id) => contexts.last(id, 1, { maxBytes: -1 })],
  ['payload', (contexts, id) => contexts.last(id, 1, wrong<ReadOptions>({ payload: 'no' }))],
  ['expectedSeq', (contexts, _, turn) => contexts.patch(turn, 1, { expectedSeq: -1 })],
  ['reason', (contexts, _, turn) => contexts.tombstone(turn, '')],
  [
    'reason',
    async (contexts, id) => (await contexts.open(id, { type: 't' })).abort('r'.repeat(4097)),
  ],
  ['piece', async (contexts, id) => (await contexts.open(id, { type: 't' })).write(wrong(5))],
  ['limit', (contexts) => contexts.list({ limit: -1 })],
  ['cursor', (contexts) => contexts.list({ cursor: wrong(5) })],
  ['label', (contexts) => contexts.list({ label: 'x'.repeat(129) })],
  ['title', (contexts) => contexts.create({ title: 'x'.repeat(1025) })],
  ['labels', (contexts, id) => contexts.update(id, { labels: [''] })],
  ['signal', (contexts, id) => contexts.follow(id, { signal: wrong({}) })],
];

export function badInputSuite(target: ContextsTarget): void {
  describe('bad input', () => {
    it('is INVALID, names the argument and changes nothing', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a');
      const [turn] = ids;
      for (const [what, call] of CALLS) {
        const before = { turns: (await contexts.last(id, 9)).turns.length };
        const error = await failure(
          settle(() => call(contexts, id, turn as TurnId)),
          'INVALID',
        );
        expect(error.data, `${String(call)}: ${error.message}`).toEqual({ what });
        expect((await contexts.last(id, 9)).turns.length).toBe(before.turns);
        await sealWhatIsOpen(contexts, id);
      }
      expect(await store.maintain.stats()).toMatchObject({ contexts: 1, patches: 0 });
    });

    it('is TOO_LARGE beyond the limit on payloads', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const payload = new Uint8Array(PAYLOAD_BYTES_MAX + 1);
      const works = [
        contexts.append(id, { type: 't', payload }),
        contexts.appendBatch(id, [GOOD, { type: 't', payload }]),
        contexts.patch(ids[0] as TurnId, payload),
      ];
      const named = ['payload', 'turns[1].payload', 'payload'];
      for (const [index, { data }] of (await failures(works, 'TOO_LARGE')).entries()) {
        expect(data).toEqual({
          what: named[index],
          limit: PAYLOAD_BYTES_MAX,
          size: PAYLOAD_BYTES_MAX + 1,
        });
      }
      await failure(contexts.create({ meta: 'x'.repeat(65_536) }), 'TOO_LARGE');
      await contexts.append(id, { type: 't', payload: payload.subarray(1) });
      expect((await contexts.last(id, 9)).turns.length).toBe(2);
    });
  });
}

/** Two of the calls leave a turn open. The next calls need the context free. */
async function sealWhatIsOpen(contexts: Contexts, id: ContextId): Promise<void> {
  const context = await contexts.get(id);
  if (context === undefined || context.openTurn === 0n) return;
  await (await contexts.resume(context.openTurn)).seal();
}
