import type { OpenSpill } from './spill.ts';

export interface SinkOptions {
  /** Where the whole output goes once it does not fit; asked at most once, and only then. */
  readonly artifact?: OpenSpill;
  /** How many bytes are shown; default 51,200. */
  readonly spillThreshold?: number;
  /** How many of them may be from the beginning; default 0. At most half. */
  readonly headBytes?: number;
  /** Longer lines are cut to this many bytes; default 0, no limit. */
  readonly maxColumns?: number;
  /** Hears the sanitised text as it comes, uncut. */
  readonly onChunk?: (text: string) => void;
  /** Joins what `onChunk` hears so that it is called at most once in this time; default 0. */
  readonly chunkThrottleMs?: number;
  /** The file keeps the beginning and the end within this many bytes; default 0, no limit. */
  readonly artifactMaxBytes?: number;
  /** Lets SIXEL pictures through. */
  readonly allowSixel?: boolean;
}

export interface OutputSummary {
  /** What to show, with the notice in front. */
  readonly output: string;
  /** More came than is shown. Lines that were cut do not count: see `columnTruncatedLines`. */
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Of the sanitised text. */
  readonly totalBytes: number;
  readonly outputLines: number;
  /** Without notice and marker. */
  readonly outputBytes: number;
  readonly elidedLines: number;
  readonly elidedBytes: number;
  readonly columnTruncatedLines: number;
  readonly columnDroppedBytes: number;
  readonly columnMax: number;
  /** Only when every byte of it is in the file: read it at `artifact://<id>`. */
  readonly artifactId?: string;
  /** Which step of writing the file failed. What is shown is right all the same. */
  readonly artifactError?: string;
  /** What `onChunk` threw first. Nothing of the output is missing for it. */
  readonly chunkError?: string;
}

/** Tells a reader what is missing, and where all of it is. Undefined when nothing is. */
export function describeOutput(summary: OutputSummary): string | undefined {
  const { truncated, columnTruncatedLines, artifactId } = summary;
  if (!truncated && columnTruncatedLines === 0) return undefined;
  const what = truncated
    ? `Showing ${summary.outputBytes} of ${summary.totalBytes} bytes`
    : `${columnTruncatedLines} long lines were cut to ${summary.columnMax} bytes`;
  const where =
    artifactId === undefined ? 'The rest was not kept' : `All of it: artifact://${artifactId}`;
  return `${what}. ${where}`;
}
