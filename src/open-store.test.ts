import { describe, expect, it } from 'vitest';
import type { OpenOptions } from './open-store.ts';
import { openStore } from './open-store.ts';

describe('openStore', () => {
  it.each([
    [{ fsync: false }, 'unknown option "fsync"; write durability: "unsafe"'],
    [{ cache_bytes: 1 }, 'unknown option "cache_bytes"; write cacheBytes'],
    [{ Create: true }, 'unknown option "Create"; write create'],
    [{ constructor: 1 }, 'unknown option "constructor"; known options are durability, create'],
    [{ durability: 'fast' }, '"durability" is "safe" or "unsafe", got "fast"'],
    [{ create: 'yes' }, '"create" is true or false, got "yes"'],
    [{ clock: 5 }, '"clock" is a function'],
    [{ cacheBytes: 10 }, '"cacheBytes" is a whole number of at least 1048576, got 10'],
    [{ maxPayloadBytes: 1.5 }, '"maxPayloadBytes" is a whole number of at least 1, got 1.5'],
  ])('says what is wrong with %j', async (options, message) => {
    await expect(openStore('never-made', options as unknown as OpenOptions)).rejects.toThrow(
      message,
    );
  });

  it.each(['postgres://localhost/quipu', 'quipu://localhost:7411', 'HTTP://x'])(
    'does not take %s for a directory',
    async (url) => {
      await expect(openStore(url)).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringContaining('directories only') as string,
      });
    },
  );

  it('wants a path', async () => {
    await expect(openStore('')).rejects.toMatchObject({ code: 'INVALID' });
    await expect(openStore(undefined as unknown as string)).rejects.toThrow(TypeError);
  });
});
