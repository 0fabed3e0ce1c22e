import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatEvent, NewEvent } from '../../src/chat/events/event.ts';
import { clarificationProjection } from '../../src/chat/projections/clarification.ts';
import {
  mergeParts,
  messagesProjection,
  type MessagePart,
  type MessageParts,
} from '../../src/chat/projections/message-part.ts';
import { branchesProjection, usageProjection } from '../../src/chat/projections/overview.ts';
import {
  fold,
  fromSnapshot,
  takeSnapshot,
  type Projection,
} from '../../src/chat/projections/projection.ts';
import { randomEvent } from '../../src/testing/chat-suite/random-events.ts';

/*
 * Invariant: a projection gives the same state for the same events, whether they are folded at once, in
 * pieces, from a snapshot that went through JSON, or from folds of stretches that are merged.
 */

const PROJECTIONS = [
  messagesProjection,
  usageProjection,
  clarificationProjection,
  branchesProjection,
] as readonly Projection<unknown>[];

function numbered(events: readonly NewEvent[]): ChatEvent[] {
  return events.map(({ type, payload }, at) => ({
    schema_version: 1,
    seq: at + 1,
    event_id: `e${at}`,
    at: new Date(at * 1000).toISOString(),
    type,
    payload,
  }));
}

const events = fc.array(randomEvent, { maxLength: 40 }).map(numbered);
const cuts = fc.array(fc.nat(40), { maxLength: 4 });

function stretches(all: readonly ChatEvent[], at: readonly number[]): ChatEvent[][] {
  const edges = [0, ...at.map((cut) => Math.min(cut, all.length)), all.length].toSorted(
    (a, b) => a - b,
  );
  return edges.slice(1).map((end, index) => all.slice(edges[index], end));
}

describe('a projection', () => {
  it('folds alike at once, in pieces, and from a snapshot', () => {
    fc.assert(
      fc.property(events, cuts, (all, at) => {
        for (const projection of PROJECTIONS) {
          const whole = fold(projection, all);
          let [state, seq] = [projection.initial(), 0];
          for (const stretch of stretches(all, at)) {
            state = fold(projection, stretch, state);
            seq += stretch.length;
            const kept: unknown = JSON.parse(JSON.stringify(takeSnapshot(projection, state, seq)));
            state = fromSnapshot(projection, kept as never);
          }
          expect(state, projection.name).toEqual(whole);
        }
      }),
    );
  });

  it('of messages merges from stretches, in whatever groups', () => {
    fc.assert(
      fc.property(events, cuts, fc.boolean(), (all, at, fromLeft) => {
        expect(mergeAll(stretches(all, at), fromLeft, mergeParts)).toEqual(
          fold(messagesProjection, all),
        );
      }),
    );
  });

  it('of messages has one text around a second beginning, from stretches, too', () => {
    const delta = { type: 'message_stream_delta', payload: { message_id: 'a', delta: 'x' } };
    const added = { type: 'message_added', payload: { message_id: 'a', role: '', content: 'y' } };
    const all = numbered([added, delta, added, delta]);
    const whole = fold(messagesProjection, all);
    expect(whole.get('a')?.pieces).toEqual([
      { kind: 'added', text: 'y' },
      { kind: 'delta', text: 'xx' },
    ]);
    expect(mergeAll(stretches(all, [1]), true, mergeParts)).toEqual(whole);
  });

  it('is caught when it forgets that a completed message takes no more deltas', () => {
    const broken: typeof mergeParts = (a, b) =>
      mergeParts(a.completed === undefined ? a : { ...withoutEnd(a), pieces: a.pieces }, b);
    const run = fc.check(
      fc.property(events, cuts, (all, at) => {
        expect(mergeAll(stretches(all, at), true, broken)).toEqual(fold(messagesProjection, all));
      }),
      { numRuns: 2000 },
    );
    expect(run.failed).toBe(true);
  });

  it('is not used from a snapshot of another version', () => {
    const snapshot = takeSnapshot(usageProjection, usageProjection.initial(), 3);
    expect(fromSnapshot({ ...usageProjection, version: 2 }, snapshot)).toBeUndefined();
    expect(fromSnapshot(branchesProjection, snapshot)).toBeUndefined();
  });
});

function withoutEnd(part: MessagePart): MessagePart {
  const { completed: _, ...rest } = part;
  return rest;
}

function mergeAll(
  parts: readonly (readonly ChatEvent[])[],
  fromLeft: boolean,
  merge: typeof mergeParts,
): MessageParts {
  const folds = parts.map((stretch) => fold(messagesProjection, stretch));
  const both = (a: MessageParts, b: MessageParts): MessageParts => {
    const merged = new Map(a);
    for (const [id, part] of b) {
      const known = merged.get(id);
      merged.set(id, known === undefined ? part : merge(known, part));
    }
    return merged;
  };
  const none: MessageParts = new Map();
  return fromLeft ? folds.reduce(both, none) : folds.reduceRight((b, a) => both(a, b), none);
}
