import type { JournalWrite } from '../../../format/journal-frame.ts';

/** A file of records of one size, in which record n is at n times that size. */
export interface RecordFile<Record> {
  readonly path: string;
  readonly recordBytes: number;
  readonly encode: (record: Record, into: Buffer, at: number) => void;
}

/** Records that lie side by side become one write, encoded where they will be written from. */
export function encodeRuns<Record>(
  records: Iterable<[number, Record]>,
  { path, recordBytes, encode }: RecordFile<Record>,
): JournalWrite[] {
  const sorted = [...records].sort(([a], [b]) => a - b);
  const writes: JournalWrite[] = [];
  for (let start = 0; start < sorted.length;) {
    const first = sorted[start]?.[0] ?? 0;
    let end = start + 1;
    while (sorted[end]?.[0] === first + end - start) end += 1;
    const data = Buffer.allocUnsafe((end - start) * recordBytes);
    let at = 0;
    for (const [, record] of sorted.slice(start, end)) {
      encode(record, data, at);
      at += recordBytes;
    }
    writes.push({ kind: 'bytes', path, offset: first * recordBytes, data });
    start = end;
  }
  return writes;
}
