import { expect, it } from 'vitest';
import { encodeUtf8 } from '../../../base/text.ts';
import { crc32 } from '../../../format/bytes.ts';
import { LOG_EXTENT_BYTES, encodeLogExtent } from '../../../format/log-extent.ts';
import { MemoryIo } from '../../../testing/disk/memory-io.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { extentsFile, readLines, readLogState } from './line-log.ts';

const LOG = 'logs/a';

/** A log with an extent for each list of lines. `said`: the number of lines that the last extent claims to have. */
async function logOf(extents: readonly (readonly string[])[], said?: number): Promise<StoreFiles> {
  const io = new MemoryIo();
  await io.mkdir('/store');
  const files = new StoreFiles(io, '/store');
  let [offset, line] = [0, 0];
  for (const [index, lines] of extents.entries()) {
    const data = encodeUtf8(lines.map((text) => `${text}\n`).join(''));
    const isLast = index === extents.length - 1;
    line += isLast ? (said ?? lines.length) : lines.length;
    const extent = { endOffset: offset + data.length, endLine: line, contentCrc: crc32(data) };
    await files.apply([
      { kind: 'bytes', path: LOG, offset, data },
      {
        kind: 'bytes',
        path: extentsFile(LOG),
        offset: index * LOG_EXTENT_BYTES,
        data: encodeLogExtent(extent),
      },
    ]);
    offset += data.length;
  }
  return files;
}

async function read(files: StoreFiles, from: number, limit: number): Promise<string[]> {
  const state = await readLogState(files, LOG);
  if (state === undefined) throw new Error('there is no log');
  return readLines(files, LOG, state, { from, limit });
}

it('reads any lines, wherever they lie in an extent', async () => {
  const extents = [
    ['"ü"'],
    ['1', '', '"€"', '', '5'],
    ['6', '7'],
    ['8', '9', '10', '""', '', '', '14'],
  ];
  const files = await logOf(extents);
  const all = extents.flat();
  for (let from = 0; from <= all.length; from += 1) {
    for (let limit = 0; limit <= all.length + 1; limit += 1) {
      expect(await read(files, from, limit)).toEqual(all.slice(from, from + limit));
    }
  }
});

it('refuses an extent that has fewer lines than it claims', async () => {
  const files = await logOf([['1'], ['2', '3', '4']], 6);
  for (const limit of [5, 6, 10]) {
    await expect(read(files, 0, limit)).rejects.toMatchObject({ code: 'CORRUPT' });
  }
});

it('refuses an extent that ends before it begins', async () => {
  const files = await logOf([['"longer"'], ['2']]);
  const data = encodeLogExtent({ endOffset: 2, endLine: 2, contentCrc: crc32(encodeUtf8('2\n')) });
  await files.apply([
    { kind: 'bytes', path: extentsFile(LOG), offset: LOG_EXTENT_BYTES, data },
    { kind: 'whole', path: LOG, data: encodeUtf8('2\n') },
  ]);
  await expect(read(files, 1, 1)).rejects.toMatchObject({ code: 'CORRUPT' });
});
