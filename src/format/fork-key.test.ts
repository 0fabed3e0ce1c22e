import { expect, it } from 'vitest';
import { toContextId, toTurnId } from '../base/brand.ts';
import { decodeForkKey, encodeForkKey, forkKeyName, toForkKey } from './fork-key.ts';

it('is a document of a name and a text that stay', () => {
  expect(forkKeyName(toTurnId(12), 'k')).toBe('fork-keys/1573e7347462f911b1aad45007dd7bfd.json');
  const key = toForkKey(toContextId(7), { title: 'branch', labels: ['a'] });
  expect(encodeForkKey(key)).toBe('{"context":"7","said":"180430c262fde35c51f40b1c85c03a63"}');
  expect(decodeForkKey(encodeForkKey(key))).toEqual(key);
});

it('does not depend on the order in which details were given', () => {
  const one = toForkKey(toContextId(7), { title: 't', kind: 'k' });
  expect(toForkKey(toContextId(7), { kind: 'k', title: 't' })).toEqual(one);
});
