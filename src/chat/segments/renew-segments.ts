import { hashBytes } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { addLine } from '../projections/overview.ts';
import type { Overview } from '../projections/overview.ts';
import type { ReadLine } from '../events/read-line.ts';
import { foldsOf } from './segment-line.ts';
import type { SegmentLine } from './segment-line.ts';
import type { SplitParts } from './split-parts.ts';

/** The segments from which texts were erased, and the folds that had them. */
export interface Erased {
  readonly segments: ReadonlySet<number>;
  /** Questions and answers are in the overviews, from their segment on. */
  readonly overviews: boolean;
}

export interface SegmentSource {
  readonly begin: number;
  readonly count: number;
  /** A line of the log of segments; undefined when it is something else. */
  line(at: number): Promise<SegmentLine | undefined>;
  events(segment: number): Promise<readonly ReadLine[]>;
  parts(segment: number): Promise<SplitParts>;
  overviewBefore(segment: number): Promise<Overview>;
}

export interface Renewed {
  readonly lines: readonly SegmentLine[];
  readonly blobs: readonly BlobPut[];
  /** Blobs that had the texts, of every time the segments were written. */
  readonly old: readonly string[];
}

/**
 * Returns all segments as they are to stand from line `total` on, with new folds in place of those with erased texts.
 */
export async function renewSegments(
  source: SegmentSource,
  total: number,
  { segments, overviews }: Erased,
): Promise<Renewed> {
  const old = new Set<string>();
  const lines: SegmentLine[] = [];
  const blobs: BlobPut[] = [];
  const first = overviews ? Math.min(...segments) : Infinity;
  let overview: Overview | undefined;
  const put = (value: unknown): string => {
    const bytes = encodeUtf8(JSON.stringify(value));
    blobs.push({ hash: hashBytes(bytes), bytes });
    return hashBytes(bytes);
  };
  for (let at = 0; at < total; at += 1) {
    const line = await source.line(at);
    if (line === undefined) continue;
    const { segment } = line;
    if (segments.has(segment)) for (const hash of foldsOf(line)) old.add(hash);
    if (segment >= first) old.add(line.overview);
    if (line.begin !== source.begin || segment >= source.count) continue;
    if (segment >= first) {
      overview ??= await source.overviewBefore(segment);
      overview = (await source.events(segment)).reduce(addLine, overview);
    }
    lines.push({
      ...line,
      begin: total,
      ...(segments.has(segment) && (await foldAgain(segment))),
      ...(overview !== undefined && { overview: put(overview) }),
    });
  }
  for (const { hash } of blobs) old.delete(hash);
  return { lines, blobs, old: [...old] };

  async function foldAgain(segment: number): Promise<Pick<SegmentLine, 'messages' | 'touches'>> {
    const { begun, touched } = await source.parts(segment);
    return { messages: put(begun), ...(touched.length > 0 && { touches: put(touched) }) };
  }
}
