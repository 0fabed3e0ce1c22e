import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenOptions } from './open-store.ts';
import { openStore } from './open-store.ts';
import { freshFolder } from './testing/fresh-folder.ts';

describe('openStore', () => {
  it.each([
    [{ fsync: false }, 'unknown option "fsync"; write durability: "unsafe"'],
    [{ cache_bytes: 1 }, 'unknown option "cache_bytes"; write cacheBytes'],
    [{ Create: true }, 'unknown option "Create"; write create'],
    [{ constructor: 1 }, 'unknown option "constructor"; known options are durability, create'],
    [{ durability: 'fast' }, '"durability" must be "safe" or "unsafe", got "fast"'],
    [{ create: 'yes' }, '"create" must be true or false, got "yes"'],
    [{ clock: 5 }, '"clock" must be a function'],
    [{ share: 'no' }, '"share" must be true or false, got "no"'],
    [{ exclusive: true }, 'unknown option "exclusive"; write share: false'],
    [{ waitMs: -1 }, '"waitMs" must be a whole number of at least 0, got -1'],
    [{ cacheBytes: 10 }, '"cacheBytes" must be a whole number of at least 1048576, got 10'],
    [{ timeout: 5 }, 'unknown option "timeout"; write timeoutMs'],
    [{ timeoutMs: 0 }, '"timeoutMs" must be a whole number of at least 1, got 0'],
    [{ token: 5 }, '"token" must be a text'],
    [{ maxPayloadBytes: 1.5 }, '"maxPayloadBytes" must be a whole number of at least 1, got 1.5'],
  ])('says what is wrong with %j', async (options, message) => {
    await expect(openStore('never-made', options as unknown as OpenOptions)).rejects.toThrow(
      message,
    );
  });

  it('does not take any address for a directory', async () => {
    await expect(openStore('mysql://localhost/quipu')).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('mysql:// is not an address of a store') as string,
    });
  });

  it.each(['quipu://127.0.0.1:1', 'quipus://127.0.0.1:1', 'unix:./no.sock', 'http://127.0.0.1:1'])(
    'says that nobody is there at %s',
    async (url) => {
      await expect(openStore(url)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        data: { what: 'server' },
      });
    },
  );

  it("leaves to a server what is the server's", async () => {
    await expect(openStore('quipu://127.0.0.1:1', { create: true })).rejects.toThrow(
      '"create" is an option of the process that keeps the data',
    );
  });

  it('ends a blob that is being read with CLOSED', async () => {
    const store = await openStore(freshFolder('quipu-close-', onTestFinished), { share: false });
    const { hash } = await store.blobs.put(randomBytes(4 << 20));
    const reader = store.blobs.stream(hash).getReader();
    await reader.read();
    await store.close();
    const readOn = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(readOn()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('wants a path', async () => {
    await expect(openStore('')).rejects.toMatchObject({ code: 'INVALID' });
    await expect(openStore(undefined as unknown as string)).rejects.toThrow(TypeError);
  });
});
