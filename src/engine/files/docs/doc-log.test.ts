import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeDocRecord } from '../../../format/doc-record.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { type DocItem, walkDocs } from './doc-log.ts';

async function walk(bytes: Uint8Array): Promise<DocItem[]> {
  const io = new MemoryIo();
  await io.mkdir('/s');
  await io.mkdir('/s/docs');
  const file = await io.open('/s/docs/docs.log', 'create');
  await file.write(bytes, 0);
  const items: DocItem[] = [];
  for await (const item of walkDocs(new StoreFiles(io, '/s'), bytes.length)) items.push(item);
  return items;
}

function logOf(contents: readonly string[]): { bytes: Buffer; starts: number[] } {
  const starts: number[] = [];
  let bytes = Buffer.alloc(32);
  for (const [at, content] of contents.entries()) {
    starts.push(bytes.length);
    const about = { version: at + 1, createdAt: 0, published: false };
    bytes = Buffer.concat([bytes, encodeDocRecord({ name: 'doc', content, ...about })]);
  }
  return { bytes, starts };
}

describe('walking documents', () => {
  it('sees every record, also one longer than a piece', async () => {
    const contents = ['1', `"${'x'.repeat(3_000_000)}"`, '2'];
    const { bytes, starts } = logOf(contents);
    const items = await walk(bytes);
    expect(items.map(({ kind, offset }) => `${kind} ${offset}`)).toEqual(
      starts.map((start) => `doc ${start}`),
    );
  });

  it('passes over a damaged record, wherever it is changed, and sees the others', async () => {
    const { bytes, starts } = logOf(['"one"', '"two"', '"QDRC"', '"four"']);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 32, max: bytes.length - 1 }), async (at) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ 0x41;
        const hit = starts.filter((start) => start <= at).at(-1);
        const items = await walk(damaged);
        expect(items.filter(({ kind }) => kind === 'bad').map(({ offset }) => offset)).toEqual([
          hit,
        ]);
        expect(items.length).toBe(4);
      }),
    );
  });
});
