import { expect, it } from 'vitest';
import { decodeHello, encodeHello, helloMeta, parseHelloMeta } from './hello.ts';

it('reads the two names it knows in the meta, and nothing into what is not understood', () => {
  expect(parseHelloMeta('{"token":"s3","quipu":1,"more":[]}')).toEqual({
    token: 's3',
    quipu: true,
  });
  for (const meta of ['', 'null', '[]', '"x"', '{', '{"token":3,"quipu":2}', '{"quipu":true}']) {
    expect(parseHelloMeta(meta)).toEqual({ token: undefined, quipu: false });
  }
});

it('writes only what is said', () => {
  expect(helloMeta({ token: undefined, quipu: true })).toBe('{"quipu":1}');
  expect(helloMeta({ token: undefined, quipu: false })).toBe('{}');
});

it('limits the tag and the meta', () => {
  const hello = (tag: number, meta: number): Uint8Array =>
    Buffer.concat(encodeHello({ version: 1, tag: 't'.repeat(tag), meta: 'm'.repeat(meta) }));
  expect(decodeHello(hello(1024, 16_384)).tag.length).toBe(1024);
  for (const long of [hello(1025, 0), hello(0, 16_385)]) {
    expect(() => decodeHello(long)).toThrow(expect.objectContaining({ code: 'INVALID' }));
  }
});
