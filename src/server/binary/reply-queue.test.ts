import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReplyQueue, Ticket } from './jobs.ts';
import type { ReadyReply } from './jobs.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function reply(text: string): ReadyReply {
  const chunk = Buffer.from(text);
  return { frame: { chunks: [chunk], length: chunk.length }, code: 0 };
}

function rig() {
  const written: string[] = [];
  const state = { mayWrite: true };
  const queue = new ReplyQueue({
    answerMs: 1000,
    mayWrite: () => state.mayWrite,
    write: (_, { frame }) => written.push(String(frame.chunks[0])),
    late: ({ message }) => reply(`late ${message}`),
    flushed: () => undefined,
  });
  const take = (message: string): Ticket => {
    const ticket = new Ticket(1, Buffer.alloc(8), message, 10);
    queue.add(ticket);
    return ticket;
  };
  return { queue, take, written, state };
}

describe('ReplyQueue', () => {
  it('sends replies in the order of the requests', () => {
    const { queue, take, written } = rig();
    const [a, b, c] = [take('a'), take('b'), take('c')];
    queue.answer(c, reply('C'));
    queue.answer(b, reply('B'));
    expect(written).toEqual([]);
    expect(queue).toMatchObject({ length: 3, requestBytes: 30, readyBytes: 2 });
    queue.answer(a, reply('A'));
    expect(written).toEqual(['A', 'B', 'C']);
    expect(queue).toMatchObject({ length: 0, requestBytes: 0, readyBytes: 0 });
  });

  it('holds them back while nothing may be written', () => {
    const { queue, take, written, state } = rig();
    state.mayWrite = false;
    queue.answer(take('a'), reply('A'));
    expect(written).toEqual([]);
    state.mayWrite = true;
    queue.flush();
    expect(written).toEqual(['A']);
  });

  it('says that something is sent when it is on its way', () => {
    const { queue, take } = rig();
    const sent = vi.fn<() => void>();
    const first = take('a');
    queue.answer(take('b'), { ...reply('B'), sent });
    expect(sent).not.toHaveBeenCalled();
    queue.answer(first, reply('A'));
    expect(sent).toHaveBeenCalledOnce();
  });

  it('replaces a reply that takes too long, and never sends it after all', () => {
    const { queue, take, written } = rig();
    const slow = take('slow');
    vi.advanceTimersByTime(600);
    const later = take('later');
    vi.advanceTimersByTime(399);
    expect(written).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(written).toEqual(['late slow']);
    queue.answer(slow, reply('SLOW'));
    queue.answer(later, reply('LATER'));
    expect(written).toEqual(['late slow', 'LATER']);
    vi.advanceTimersByTime(5000);
    const next = take('next');
    expect(queue.length).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(next.isOver).toBe(true);
    expect(written).toEqual(['late slow', 'LATER', 'late next']);
  });

  it('lets everything go', () => {
    const { queue, take, written } = rig();
    const ticket = take('a');
    queue.clear();
    vi.advanceTimersByTime(5000);
    queue.answer(ticket, reply('A'));
    expect(written).toEqual([]);
    expect(queue.length).toBe(0);
  });
});
