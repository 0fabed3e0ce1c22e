import { expect, it } from 'vitest';
import { toContextId } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import { ChangeFeed } from './change-feed.ts';
import { outcomeUnknown, unavailable } from './transport.ts';
import type { Transport } from './transport.ts';
import { Requests } from './requests.ts';

/** Fails with these in turn, and with the last one ever after. */
function failingWith(...errors: readonly Error[]): Requests {
  let calls = 0;
  const transport = {
    call: () => {
      calls += 1;
      return Promise.reject(errors[Math.min(calls, errors.length) - 1] ?? new Error('none'));
    },
  } as unknown as Transport;
  return new Requests(transport, 100, new ChangeFeed(transport));
}

const BATCH = { idempotency: { context: toContextId(1), key: 'k' }, turns: [{}] } as never;

it('says that the outcome is unknown when nobody answered after the request was lost', async () => {
  const lost = failingWith(outcomeUnknown('lost'), unavailable('nobody there'));
  await expect(lost.commit(BATCH)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    data: { outcome: 'unknown' },
  });
  const neverSent = failingWith(unavailable('nobody there'));
  await expect(neverSent.commit(BATCH)).rejects.toMatchObject({ data: { what: 'server' } });
});

it('believes a server that refuses what it would have repeated', async () => {
  const refusal = new QuipuError('NOT_FOUND', 'no', { what: 'context', id: '1' });
  const refused = failingWith(outcomeUnknown('lost'), refusal);
  await expect(refused.commit(BATCH)).rejects.toBe(refusal);
});

it('begins upkeep again whose server was lost, and no upkeep that was refused', async () => {
  const begun: unknown[] = [];
  const refusal = new QuipuError('NOT_FOUND', 'no', { what: 'turn', id: '1' });
  const transport = {
    async *stream(_: string, [name]: readonly unknown[]) {
      begun.push(name);
      yield { progress: [1, 2, 'half'] };
      if (name === 'refused') throw refusal;
      if (begun.length < 3) throw outcomeUnknown('lost');
      yield { result: 'done' };
    },
  } as unknown as Transport;
  const requests = new Requests(transport, 1000, new ChangeFeed(transport));
  expect(await requests.runLong('upkeep.backup', ['lost'])).toBe('done');
  expect(begun).toEqual(['lost', 'lost', 'lost']);
  await expect(requests.runLong('upkeep.backup', ['refused'])).rejects.toBe(refusal);
  expect(begun).toHaveLength(4);
});
