import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../base/hash.ts';
import {
  parseBlobReference,
  hydrateEntry,
  type SessionWarning,
  MAX_PERSIST_CHARS,
  TRUNCATION_NOTICE,
  persistEntry,
} from './pictures.ts';
import { migrateEntry, newSessionId, toLine } from './session-entry.ts';

const zeros = (count: number): string => Buffer.alloc(count).toString('base64');
const HEX = 'ab'.repeat(32);

/** Writes, reads the JSON, and restores. */
async function roundTrip<T>(entry: T): Promise<unknown> {
  const { entry: written, blobs } = persistEntry(entry);
  const stored = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  for (const [sha256, bytes] of stored) expect(sha256Hex(bytes)).toBe(sha256);
  const read = async (sha256: string): Promise<Uint8Array | undefined> => stored.get(sha256);
  const { entry: whole, unresolved } = await hydrateEntry(
    JSON.parse(toLine(written)) as unknown,
    read,
    () => {
      throw new Error('nothing is missing');
    },
  );
  expect(unresolved).toEqual([]);
  return whole;
}

describe('persistEntry', () => {
  it('puts images of 1,024 characters and more aside, as bytes', () => {
    const image = { type: 'image', data: zeros(768) };
    const { entry, blobs } = persistEntry({ content: [image] });
    const sha256 = 'ef115a0e0c15cdc41958ca46b5b14b456115f4baec5e3ca68599d2a8f435e3b8';
    expect(entry).toEqual({ content: [{ type: 'image', data: `blob:sha256:${sha256}` }] });
    expect(blobs).toEqual([{ sha256, bytes: Buffer.alloc(768) }]);
    const small = { content: [{ type: 'image', data: zeros(765) }] };
    expect(persistEntry(small).entry).toBe(small);
    expect(image.data).toBe(zeros(768));
  });

  it('puts data URLs of images aside as text, whatever their length', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const sha256 = 'e1e10747c2374f621aa59fefede6ef99dc6acdb41b267ab4af408d5529f89ea8';
    const ref = `blob:sha256:${sha256}`;
    const entry = { a: { image_url: url }, b: { image_url: { url, detail: 'high' } } };
    expect(persistEntry(entry).entry).toEqual({
      a: { image_url: ref },
      b: { image_url: { url: ref, detail: 'high' } },
    });
    const other = { image_url: 'https://x/y.png', text: url };
    expect(persistEntry(other).entry).toBe(other);
  });

  it('finds images wherever they are, and only what comes back the same', async () => {
    const data = Buffer.alloc(1501, 0xff).toString('base64');
    const deep = { details: { images: [{ data, mimeType: 'image/webp' }] } };
    expect(JSON.stringify(persistEntry(deep).entry)).not.toContain(data);
    expect(await roundTrip(deep)).toEqual(deep);
    for (const odd of [
      `${data.slice(0, 76)}\n${data.slice(76)}`,
      data.replace(/=+$/, ''),
      data.replaceAll('/', '_'),
    ]) {
      const entry = { type: 'image', data: odd };
      expect(persistEntry(entry).entry).toBe(entry);
    }
    const kept = { type: 'image', data: `blob:sha256:${HEX}` };
    expect(persistEntry(kept).entry).toBe(kept);
  });

  it('cuts texts over 500,000 characters, and clears signatures', () => {
    const at = { text: 'x'.repeat(MAX_PERSIST_CHARS) };
    expect(persistEntry(at).entry).toBe(at);
    const over = persistEntry({ text: 'x'.repeat(MAX_PERSIST_CHARS + 1) }).entry.text;
    expect(over).toBe('x'.repeat(499_953) + TRUNCATION_NOTICE);
    expect(over).toHaveLength(MAX_PERSIST_CHARS);
    const pair = persistEntry({ text: 'x'.repeat(499_952) + '😀'.repeat(100) }).entry.text;
    expect(pair).toBe('x'.repeat(499_952) + TRUNCATION_NOTICE);
    const long = 's'.repeat(MAX_PERSIST_CHARS + 1);
    const signed = { thinkingSignature: long, thoughtSignature: long, textSignature: long };
    expect(persistEntry(signed).entry).toEqual({
      thinkingSignature: '',
      thoughtSignature: '',
      textSignature: '',
    });
    const image = { type: 'image', data: Buffer.alloc(600_001, 0xff).toString('base64url') };
    expect(persistEntry(image).entry).toBe(image);
  });

  it('counts the lines of a text that was cut', () => {
    const given = { content: 'a\n'.repeat(250_001), lineCount: 250_002 };
    const { entry } = persistEntry(given);
    expect(entry.content).toHaveLength(500_000);
    expect(entry.lineCount).toBe(249_979);
  });

  it('leaves out what only matters while a reply streams, but for arguments', () => {
    const entry = {
      partialJson: '{',
      content: [{ jsonlEvents: [1], type: 'toolCall', arguments: { partialJson: 'mine' } }],
      input: { jsonlEvents: 'mine' },
    };
    expect(persistEntry(entry).entry).toEqual({
      content: [{ type: 'toolCall', arguments: { partialJson: 'mine' } }],
      input: { jsonlEvents: 'mine' },
    });
  });

  it('writes lines that no reader breaks, and refuses what has no end', () => {
    expect(toLine({ a: '\u2028\u2029\n' })).toBe(String.raw`{"a":"\u2028\u2029\n"}`);
    let deep: unknown = 0;
    for (let level = 0; level < 1100; level++) deep = { deep };
    expect(() => persistEntry(deep)).toThrow(/nested deeper/);
    expect(newSessionId(5) < newSessionId(6)).toBe(true);
  });

  it('gives back every entry it does not cut, at any depth', async () => {
    const image = fc.uint8Array({ minLength: 700, maxLength: 900 }).map((bytes) => ({
      type: 'image',
      data: Buffer.from(bytes).toString('base64'),
    }));
    const url = fc.base64String().map((data) => ({ image_url: `data:image/gif;base64,${data}` }));
    const nested = fc.base64String().map((data) => ({
      image_url: { url: `data:image/png;base64,${data}`, detail: 'low' },
    }));
    const attachment = image.map(({ data }) => ({ data, mimeType: 'image/png' }));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium' },
        fc.jsonValue({ maxDepth: 1 }),
        image,
        url,
        nested,
        attachment,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('content', 'details', '__proto__', 'x'), tie('tree')),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, async (value) => {
        const entry: unknown = JSON.parse(JSON.stringify({ value }));
        const frozen = JSON.stringify(entry);
        expect(await roundTrip(entry)).toEqual(entry);
        expect(JSON.stringify(entry)).toBe(frozen);
      }),
      { numRuns: 80 },
    );
  });
});

describe('hydrateEntry', () => {
  it('keeps references whose blob is missing, and says so', async () => {
    const warnings: SessionWarning[] = [];
    const ref = `blob:sha256:${HEX}`;
    const entry = { content: [{ type: 'image', data: ref }], image_url: ref, text: ref };
    const read = async (): Promise<undefined> => undefined;
    const result = await hydrateEntry(entry, read, (warning) => warnings.push(warning));
    expect(result).toEqual({ entry, unresolved: [ref] });
    expect(warnings).toEqual([{ message: 'Blob not found for image reference', about: HEX }]);
    await hydrateEntry({ image_url: ref }, read, (warning) => warnings.push(warning));
    expect(warnings[1]?.message).toBe('Blob not found for persisted image data URL');
  });

  it.each([
    'blob:sha256:../../../secret.txt',
    `blob:sha256:${HEX.toUpperCase()}`,
    `blob:sha256:${HEX.slice(1)}`,
    `blob:sha256:${HEX}0`,
    'blob:sha256:',
    `blob:sha256:${HEX}\n`,
  ])('reads nothing for %j', async (data) => {
    expect(parseBlobReference(data)).toBeUndefined();
    const warnings: string[] = [];
    const entry = { type: 'image', data };
    const read = async (): Promise<Uint8Array> => {
      throw new Error('was read');
    };
    const result = await hydrateEntry(entry, read, ({ message }) => warnings.push(message));
    expect(result.entry).toBe(entry);
    expect(warnings).toEqual(['Rejected malformed blob reference']);
  });

  it('reads at most eight blobs at a time', async () => {
    const content = Array.from({ length: 40 }, (_, n) => ({
      type: 'image',
      data: `blob:sha256:${String(n).padStart(64, '0')}`,
    }));
    let now = 0;
    let most = 0;
    const read = async (): Promise<Uint8Array> => {
      now++;
      most = Math.max(most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return Buffer.from('x');
    };
    const { entry } = await hydrateEntry({ content }, read, () => undefined);
    expect(entry.content.every(({ data }) => data === 'eA==')).toBe(true);
    expect(most).toBe(8);
  });
});

describe('migrateEntry', () => {
  it('names lines of version 1 by their place, and points compactions at ids', () => {
    const first = migrateEntry({ type: 'message' }, { version: undefined, index: 1 });
    expect(first).toMatchObject({ id: 'line-1', parentId: null });
    const compaction = { type: 'compaction', firstKeptEntryIndex: 1 };
    expect(migrateEntry(compaction, { version: 1, index: 2 })).toEqual({
      type: 'compaction',
      id: 'line-2',
      parentId: 'line-1',
      firstKeptEntryId: 'line-1',
    });
    // Later entries have names of their own.
    const later = { type: 'message', id: 'own', parentId: 'line-2' };
    expect(migrateEntry(later, { version: 1, index: 3 })).toEqual(later);
  });

  it('renames messages of version 2, and leaves newer lines alone', () => {
    const old = { type: 'message', id: 'a', message: { role: 'hookMessage', x: 1 } };
    const renamed = { ...old, message: { role: 'custom', x: 1 } };
    expect(migrateEntry(old, { version: 2, index: 1 })).toEqual(renamed);
    expect(migrateEntry(old, { version: 4, index: 1 })).toBe(old);
  });
});
