/** How much of everything. Each size is one that its row can be judged at, except for the smoke run. */
export interface Sizes {
  readonly name: 'default' | 'full' | 'smoke';
  /** Processes per driver and workload; figures are medians over them. */
  readonly rounds: number;
  readonly payloadBytes: number;
  /** For stores of many turns: it is the number that counts there. */
  readonly smallPayloadBytes: number;
  readonly oneWriterAppends: number;
  readonly manyWritersAppends: number;
  readonly reads: number;
  readonly forks: number;
  readonly ranges: number;
  readonly deepTurns: number;
  /** Rising; the deep store is one of them. */
  readonly scales: readonly number[];
  readonly sessions: number;
  readonly blobBytes: number;
}

const DEFAULT: Sizes = {
  name: 'default',
  rounds: 5,
  payloadBytes: 10_000,
  smallPayloadBytes: 100,
  oneWriterAppends: 500,
  manyWritersAppends: 10_000,
  reads: 500,
  forks: 400,
  ranges: 200,
  deepTurns: 1_000_000,
  scales: [1000, 10_000, 100_000, 1_000_000],
  sessions: 100,
  blobBytes: 1024 ** 3,
};

export const SIZES: Readonly<Record<Sizes['name'], Sizes>> = {
  default: DEFAULT,
  full: { ...DEFAULT, name: 'full', scales: [...DEFAULT.scales, 10_000_000] },
  smoke: {
    name: 'smoke',
    rounds: 1,
    payloadBytes: 2000,
    smallPayloadBytes: 100,
    oneWriterAppends: 20,
    manyWritersAppends: 128,
    reads: 8,
    forks: 8,
    ranges: 8,
    deepTurns: 2000,
    scales: [1000, 2000],
    sessions: 2,
    blobBytes: 4 * 1024 ** 2,
  },
};
