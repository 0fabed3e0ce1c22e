import type { Bench } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';

/** One line of the table. */
export interface Finding {
  readonly work: string;
  readonly answers: Partial<Record<DriverName, string>>;
  readonly measured: string;
  /** What must be reached; empty for a figure that is only shown. */
  readonly must: string;
  readonly met: boolean | undefined;
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Plot {
  readonly file: string;
  readonly title: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
}

export interface RowResult {
  readonly findings: readonly Finding[];
  readonly plots?: readonly Plot[];
}

export interface Row {
  readonly name: string;
  readonly about: string;
  run(bench: Bench): Promise<RowResult>;
}

export function times(value: number): string {
  return `${value.toFixed(2)}x`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

export function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

export function us(valueMs: number): string {
  return `${(valueMs * 1000).toFixed(0)} µs`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
