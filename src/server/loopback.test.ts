import { expect, it } from 'vitest';
import { isLoopback } from './loopback.ts';

it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST'])('%s is loopback', (host) => {
  expect(isLoopback(host)).toBe(true);
});

it.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  'example.com',
  'localhost.example.com',
  '127.1',
  '',
])('%s is not known to be', (host) => {
  expect(isLoopback(host)).toBe(false);
});
