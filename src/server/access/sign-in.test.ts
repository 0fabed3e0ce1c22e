import { expect, it } from 'vitest';
import { SignIn } from './token-access.ts';

it('gives a token for its code, once', () => {
  const signIn = new SignIn();
  const { code } = signIn.offer('token');
  expect(signIn.take('another')).toBeUndefined();
  expect(signIn.take(code)).toBe('token');
  expect(signIn.take(code)).toBeUndefined();
});

it('forgets a code after a minute, and the oldest of more than a hundred', () => {
  let now = 0;
  const signIn = new SignIn(() => now);
  const old = signIn.offer('old');
  now = old.expiresAt - 1;
  const first = signIn.offer('first');
  expect(signIn.take(signIn.offer('other').code)).toBe('other');
  now += 1;
  expect(signIn.take(old.code)).toBeUndefined();
  const codes = Array.from({ length: 100 }, (_, n) => signIn.offer(`token ${n}`).code);
  expect(signIn.take(first.code)).toBeUndefined();
  expect(codes.map((code) => signIn.take(code))).toEqual(codes.map((_, n) => `token ${n}`));
});
