import { afterEach, describe, expect, it, vi } from 'vitest';
import { Upload } from './call.ts';

const MIB = 1024 * 1024;
const uploads: Upload[] = [];
afterEach(() => {
  for (const upload of uploads.splice(0)) upload.cancel();
});

function begin(idleMs = 60_000): Upload {
  const upload = new Upload(idleMs);
  uploads.push(upload);
  return upload;
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Upload', () => {
  it('gives the reader every piece in order, and the answer at the end', async () => {
    const upload = begin();
    upload.start(readAll);
    await upload.push(Buffer.from('one '));
    await upload.push(Buffer.alloc(0));
    await upload.push(Buffer.from('two'));
    expect(await upload.end()).toBe('one two');
    await expect(upload.push(Buffer.from('x'))).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('answers no piece before the reader has room for it', async () => {
    const upload = begin();
    let takeOne = (): void => undefined;
    upload.start(async (body) => {
      let count = 0;
      for await (const piece of body) {
        count += piece.length;
        await new Promise<void>((resolve) => {
          takeOne = resolve;
        });
      }
      return count;
    });
    const answered = vi.fn<() => void>();
    const pushes = Array.from({ length: 6 }, () => upload.push(Buffer.alloc(MIB)).then(answered));
    await settled();
    // Three fit at once. One of six is with the reader then, and the other five are too many.
    expect(answered).toHaveBeenCalledTimes(3);
    takeOne();
    await settled();
    expect(answered).toHaveBeenCalledTimes(3);
    takeOne();
    await settled();
    expect(answered).toHaveBeenCalledTimes(6);
    await Promise.all(pushes);
    const result = upload.end();
    for (let count = 0; count < 6; count += 1) {
      await settled();
      takeOne();
    }
    expect(await result).toBe(6 * MIB);
  });

  it('tells the writer how the reader failed, for each piece and at the end', async () => {
    const upload = begin();
    upload.start(() => Promise.reject(new Error('no room')));
    await settled();
    await expect(upload.push(Buffer.from('x'))).rejects.toThrow('no room');
    await expect(upload.end()).rejects.toThrow('no room');
  });

  it('throws pieces away that the reader does not want', async () => {
    const upload = begin();
    upload.start(async (body) => {
      for await (const piece of body) return piece.length;
      return 0;
    });
    await upload.push(Buffer.alloc(8 * MIB));
    await upload.push(Buffer.alloc(8 * MIB));
    expect(await upload.end()).toBe(8 * MIB);
  });

  it('cuts the body off when it is given up', async () => {
    const upload = begin();
    let aborted = false;
    const failure = new Promise((resolve) => {
      upload.start(async (body, signal) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        await readAll(body).catch(resolve);
      });
    });
    const pushed = upload.push(Buffer.alloc(8 * MIB)).catch((error: unknown) => error);
    upload.cancel();
    expect(await failure).toMatchObject({ code: 'CLOSED' });
    expect(await pushed).toMatchObject({ code: 'CLOSED' });
    expect(aborted).toBe(true);
  });

  it('is given up when no piece comes', async () => {
    const upload = begin(10);
    const failure = new Promise((resolve) => {
      upload.start((body) => readAll(body).catch(resolve));
    });
    expect(await failure).toMatchObject({ code: 'CLOSED' });
  });
});
