import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyText } from './take-input.ts';

it('keeps text as it is', () => {
  expect(keyText(Buffer.from('k-1'))).toBe('k-1');
  expect(keyText(Buffer.from('\uFEFFgrün'))).toBe('\uFEFFgrün');
});

it('keeps different bytes different', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(keyText(a) === keyText(b)).toBe(Buffer.compare(a, b) === 0);
    }),
    { numRuns: 2000 },
  );
  expect(keyText(Buffer.from([0xff]))).not.toBe(keyText(Buffer.from([0xfe])));
});

it('makes of bytes that are no text what no text can be', () => {
  const text = keyText(Buffer.from([0xff]));
  expect(Buffer.byteLength(text)).toBeGreaterThan(1024);
});
