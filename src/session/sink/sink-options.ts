import type { OpenSpill } from './spill.ts';

export interface SinkOptions {
  /** Opens the file for the whole output once it does not fit. The sink calls this at most once, and only then. */
  readonly artifact?: OpenSpill;
  /** The number of bytes shown; default 51,200. */
  readonly spillThreshold?: number;
  /** The number of them that may be from the beginning; default 0. At most half. */
  readonly headBytes?: number;
  /** Longer lines are cut to this many bytes; default 0, no limit. */
  readonly maxColumns?: number;
  /** Receives the sanitised text as it comes, uncut. */
  readonly onChunk?: (text: string) => void;
  /** Joins the text for `onChunk` so that it is called at most once in this time; default 0. */
  readonly chunkThrottleMs?: number;
  /** The file keeps the beginning and the end within this many bytes; default 0, no limit. */
  readonly artifactMaxBytes?: number;
  /** Lets SIXEL pictures through. */
  readonly allowSixel?: boolean;
}

export interface OutputSummary {
  /** The text to show, with the notice in front. */
  readonly output: string;
  /** True when more came than is shown. Lines that were cut do not count: see `columnTruncatedLines`. */
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Counts the sanitised text. */
  readonly totalBytes: number;
  readonly outputLines: number;
  /** Counts neither notice nor marker. */
  readonly outputBytes: number;
  readonly elidedLines: number;
  readonly elidedBytes: number;
  readonly columnTruncatedLines: number;
  readonly columnDroppedBytes: number;
  readonly columnMax: number;
  /** Present only when every byte of the output is in the file: read it at `artifact://<id>`. */
  readonly artifactId?: string;
  /** The step of writing the file that failed. The shown text is right all the same. */
  readonly artifactError?: string;
  /** The first error that `onChunk` threw. The output is complete all the same. */
  readonly chunkError?: string;
}

/** Tells a reader which part is missing, and where the whole output is. Undefined when nothing is missing. */
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
