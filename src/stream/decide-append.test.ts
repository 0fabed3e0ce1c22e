import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '../base/text.ts';
import {
  decideAppend,
  type AppendAnswer,
  type AppendRequest,
  type ProducerMark,
  type StreamDraft,
} from './append-group.ts';
import { toMessage } from './message.ts';

const TYPE = 'text/plain';
const message = toMessage(encodeUtf8('x'), TYPE)!;

function emptyDraft(): StreamDraft {
  const start = { tail: 0, closed: false, seq: undefined };
  return { type: TYPE, producers: new Map(), messages: [], ...start };
}

function ask(draft: StreamDraft, request: Partial<AppendRequest> = {}): AppendAnswer {
  return decideAppend(draft, { message, type: TYPE, close: false, ...request });
}

function mark(epoch: number, seq: number, id = 'p'): { producer: ProducerMark } {
  return { producer: { id, epoch, seq } };
}

describe('an append', () => {
  it('takes messages of the type alone, whatever its parameters', () => {
    const draft = emptyDraft();
    expect(ask(draft, { type: 'Text/Plain; charset=utf-8' })).toMatchObject({
      is: 'done',
      next: 1,
    });
    expect(ask(draft, { type: 'text/html' })).toMatchObject({ is: 'other type' });
    expect(draft.messages).toHaveLength(1);
  });

  it('takes rising sequence texts, and keeps nothing of a refused request', () => {
    const draft = emptyDraft();
    expect(ask(draft, { seq: '2' }).is).toBe('done');
    expect(ask(draft, { seq: '10', ...mark(0, 0) }).is).toBe('old seq');
    expect([draft.seq, draft.tail, draft.producers.size]).toEqual(['2', 1, 0]);
  });

  it('to a closed stream is refused; closing it again is not', () => {
    const draft = emptyDraft();
    expect(ask(draft, { close: true })).toEqual({ is: 'done', next: 1, closed: true });
    expect(ask(draft)).toEqual({ is: 'closed', next: 1 });
    const { message: _, ...closing } = { message, close: true };
    expect(decideAppend(draft, closing)).toMatchObject({ is: 'done', closed: true });
    expect(decideAppend(draft, { ...closing, ...mark(0, 0) })).toMatchObject({ is: 'closed' });
  });
});

describe('a producer', () => {
  it('has each message stored once, in order', () => {
    const draft = emptyDraft();
    expect(ask(draft, mark(0, 1))).toEqual({ is: 'gap', expected: 0, received: 1 });
    for (const seq of [0, 1]) expect(ask(draft, mark(0, seq)).is).toBe('done');
    expect(ask(draft, mark(0, 0))).toEqual({ is: 'duplicate', next: 2, closed: false, seq: 1 });
    expect(ask(draft, mark(0, 3))).toEqual({ is: 'gap', expected: 2, received: 3 });
    expect(draft.messages).toHaveLength(2);
  });

  it('begins an epoch at 0, and an earlier run of it is refused', () => {
    const draft = emptyDraft();
    ask(draft, mark(0, 0));
    expect(ask(draft, mark(1, 1)).is).toBe('new epoch');
    expect(ask(draft, mark(1, 0)).is).toBe('done');
    expect(ask(draft, mark(0, 1))).toEqual({ is: 'stale', epoch: 1 });
    expect(ask(draft, mark(0, 0, 'another')).is).toBe('done');
  });

  it('gets the answer to a retry also when the stream is closed by now', () => {
    const draft = emptyDraft();
    ask(draft, mark(0, 0));
    ask(draft, { ...mark(0, 1), close: true });
    expect(ask(draft, mark(0, 1))).toMatchObject({ is: 'duplicate', closed: true, seq: 1 });
    expect(ask(draft, mark(0, 2))).toMatchObject({ is: 'closed' });
  });
});
