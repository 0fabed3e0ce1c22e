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
  /** A server is there for long: enough for both ends of the connection to have warmed up. */
  readonly servedAppends: number;
  /** Turns of the thread that the page shows; a twentieth as many forks. */
  readonly pageTurns: number;
  /** Appends by eight writers that somebody watches. */
  readonly watchedAppends: number;
  readonly reads: number;
  readonly forks: number;
  readonly ranges: number;
  readonly deepTurns: number;
  /** Rising; the deep store is one of them. */
  readonly scales: readonly number[];
  readonly sessions: number;
  readonly blobBytes: number;
  /** Through a sink, three times. */
  readonly sinkBytes: number;
  /** Sessions of an agent. */
  readonly importBytes: number;
  readonly importFiles: number;
  /** Of about a thousand bytes each. */
  readonly searchTurns: number;
  /** Half of them are dead. */
  readonly collectedBlobs: number;
  readonly collectedBlobBytes: number;
  /** Appends before a collection, and after it, to compare with those meanwhile. */
  readonly quietAppends: number;
  /** Payload bytes of each store that is checked. */
  readonly verifiedBytes: number;
  readonly backedUpTurns: number;
  /** Events pushed one by one, pushed at once, and in the queue that is read. */
  readonly queuePushes: number;
  readonly queueBatch: number;
  readonly queueEvents: number;
  /** Appends by 32 writers to a database, and turns of its deep context. */
  readonly databaseAppends: number;
  readonly databaseDeepTurns: number;
  /** Checkpoints of a graph, and messages in its state at the end. */
  readonly langgraphTurns: number;
  /** Of the long chat. */
  readonly chatEvents: number;
}

const DEFAULT: Sizes = {
  name: 'default',
  rounds: 5,
  payloadBytes: 10_000,
  smallPayloadBytes: 100,
  oneWriterAppends: 500,
  manyWritersAppends: 30_000,
  servedAppends: 3000,
  pageTurns: 10_000,
  watchedAppends: 20_000,
  reads: 500,
  forks: 400,
  ranges: 200,
  deepTurns: 1_000_000,
  scales: [1000, 10_000, 100_000, 1_000_000],
  sessions: 100,
  blobBytes: 1024 ** 3,
  sinkBytes: 512e6,
  importBytes: 1e9,
  importFiles: 2000,
  searchTurns: 1_000_000,
  collectedBlobs: 1_000_000,
  collectedBlobBytes: 500,
  quietAppends: 1000,
  verifiedBytes: 256e6,
  backedUpTurns: 50_000,
  queuePushes: 1000,
  queueBatch: 100_000,
  queueEvents: 1_000_000,
  databaseAppends: 4000,
  databaseDeepTurns: 100_000,
  langgraphTurns: 400,
  chatEvents: 1_000_000,
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
    servedAppends: 20,
    pageTurns: 200,
    watchedAppends: 64,
    reads: 8,
    forks: 8,
    ranges: 8,
    deepTurns: 2000,
    scales: [1000, 2000],
    sessions: 2,
    blobBytes: 4 * 1024 ** 2,
    sinkBytes: 4e6,
    importBytes: 2e6,
    importFiles: 8,
    searchTurns: 500,
    collectedBlobs: 2000,
    collectedBlobBytes: 100,
    quietAppends: 20,
    verifiedBytes: 1e6,
    backedUpTurns: 200,
    queuePushes: 20,
    queueBatch: 1000,
    queueEvents: 3000,
    databaseAppends: 64,
    databaseDeepTurns: 300,
    langgraphTurns: 20,
    chatEvents: 3000,
  },
};
