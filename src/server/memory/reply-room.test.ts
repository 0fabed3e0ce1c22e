import { describe, expect, it, vi } from 'vitest';
import { ByteBudget, ReplyRoom } from './byte-budget.ts';
import type { AnswerMaker, ReplyShare } from './byte-budget.ts';

const NO_MAKER: AnswerMaker = {
  isWaiting: true,
  advance: () => undefined,
  cutStalled: () => undefined,
};

function connect(room: ReplyRoom, name: string, told: string[]): ReplyShare {
  return room.shareFor({
    advance: () => told.push(`${name} may read`),
    hurry: () => told.push(`${name} is hurried`),
  });
}

describe('the room for replies', () => {
  it('lets a read begin that is alone, however large, and others when they fit', () => {
    const room = new ReplyRoom(new ByteBudget(1000, 100));
    const told: string[] = [];
    const [one, other] = [connect(room, 'one', told), connect(room, 'other', told)];
    expect(one.mayRead(500)).toBe(true);
    const held = one.beginRead(500);
    expect(other.mayRead(1)).toBe(false);
    one.setReady(90);
    one.endRead(held);
    expect(told).toEqual(['other may read']);
    expect([other.mayRead(5), other.mayRead(6)]).toEqual([true, false]);
  });

  it('counts what is ready and unsent in the budget, and nothing of a connection that is gone', () => {
    const budget = new ByteBudget(1000, 100);
    const room = new ReplyRoom(budget);
    const share = connect(room, 'one', []);
    const held = share.beginRead(10);
    share.setReady(30);
    share.setUnsent(20);
    share.setReady(0);
    expect(budget.held).toBe(20);
    share.close();
    share.endRead(held);
    share.setReady(50);
    share.setUnsent(50);
    expect(budget.held).toBe(0);
    expect(connect(room, 'other', []).mayRead(1000)).toBe(true);
  });

  it('lets connections read in the order in which they waited', () => {
    const budget = new ByteBudget(1000, 100);
    const room = new ReplyRoom(budget);
    const told: string[] = [];
    const holder = connect(room, 'holder', told);
    holder.setUnsent(100);
    const shares = ['a', 'b', 'c'].map((name) => connect(room, name, told));
    for (const share of shares) expect(share.mayRead(10)).toBe(false);
    shares[1]!.close();
    holder.setUnsent(0);
    expect(told).toEqual(['a may read', 'c may read']);
  });

  it('waits for the answers of the other protocol, too', () => {
    const budget = new ByteBudget(1000, 100);
    const advance = vi.fn<() => void>();
    budget.join({ ...NO_MAKER, advance });
    const room = new ReplyRoom(budget);
    const told: string[] = [];
    const share = connect(room, 'one', told);
    budget.addAnswer(95);
    expect(share.mayRead(5)).toBe(false);
    budget.addAnswer(-95);
    expect(told).toEqual(['one may read']);
    expect(advance).toHaveBeenCalledOnce();
  });

  it('hurries those whose clients take nothing, but only while somebody waits', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const room = new ReplyRoom(new ByteBudget(1000, 100));
      const told: string[] = [];
      const [slow, other] = [connect(room, 'slow', told), connect(room, 'other', told)];
      slow.setUnsent(100);
      vi.advanceTimersByTime(10_000);
      expect(told).toEqual([]);
      expect(other.mayRead(10)).toBe(false);
      vi.advanceTimersByTime(600);
      expect(told).toEqual(['slow is hurried']);
      slow.close();
      expect(told).toEqual(['slow is hurried', 'other may read']);
      vi.advanceTimersByTime(10_000);
      expect(told).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });
});
