import { describe, expect, it } from 'vitest';
import { parseBlobRef } from './create-blobs.ts';

const HEX = 'ab'.repeat(32);

describe('parseBlobRef', () => {
  it('reads the three forms', () => {
    expect(parseBlobRef(HEX)).toEqual({ by: 'hash', hash: HEX });
    expect(parseBlobRef(`b3:${HEX}`)).toEqual({ by: 'hash', hash: HEX });
    expect(parseBlobRef(`blob:sha256:${HEX}`)).toEqual({ by: 'sha256', sha256: HEX });
  });

  it.each(['', HEX.slice(1), HEX.toUpperCase(), `sha256:${HEX}`, `b3:${HEX}\n`, `${HEX} `])(
    'refuses %j',
    (ref) => {
      expect(() => parseBlobRef(ref)).toThrow(expect.objectContaining({ code: 'INVALID' }));
    },
  );
});
