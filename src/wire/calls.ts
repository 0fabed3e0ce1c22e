// The calls of a store that travel by name, in one table. The client sends them by it, the server checks and answers
// them by it, and the host of a folder passes them on by it. So a new method of the engine is a row here and a method
// of each engine. Names and order of arguments are part of the protocol.

export interface CallRow {
  /** The scope that the caller needs. `handlers` is the right to bring programs that others run. */
  readonly needs: 'read' | 'write' | 'admin' | 'handlers';
  readonly args: readonly ArgumentKind[];
  /**
   * `answer`, the default: one answer. `stream`: many. `upload`: one answer to a body. `work` takes longer than an
   * answer may, so it is a stream of progress with the result at its end.
   */
  readonly kind?: 'answer' | 'stream' | 'upload' | 'work';
  /** Carrying the call out twice differs from once, so it is not sent again when its answer was lost. */
  readonly once?: true;
  /** Only older clients send the call. */
  readonly retired?: true;
}

export const CALLS = {
  // The client decides by the batch whether a commit may be sent again.
  'engine.commit': { needs: 'write', args: ['batch'] },
  'engine.hasBlob': { needs: 'read', args: ['hash'] },
  'engine.statBlob': { needs: 'read', args: ['hash'] },
  'engine.readBlob': { needs: 'read', args: ['hash', 'count', 'count'] },
  'engine.putBlob': { needs: 'write', args: ['putOptions'], kind: 'upload' },
  'engine.findBySha256': { needs: 'read', args: ['sha256'] },
  'engine.listBlobs': { needs: 'read', args: ['hashPrefix', 'limit', 'hash?'] },
  'engine.getTurn': { needs: 'read', args: ['turn'] },
  'engine.walkBack': { needs: 'read', args: ['turn', 'limit'] },
  'engine.ancestorAt': { needs: 'read', args: ['turn', 'count'] },
  'engine.commonAncestor': { needs: 'read', args: ['turn', 'turn'] },
  'engine.getOpenTurn': { needs: 'read', args: ['turn'] },
  'engine.getHead': { needs: 'read', args: ['context'] },
  'engine.getContext': { needs: 'read', args: ['context'] },
  'engine.findContext': { needs: 'read', args: ['text'] },
  'engine.listContexts': { needs: 'read', args: ['contextQuery'] },
  'engine.getPatches': { needs: 'read', args: ['turns'] },
  'engine.getFsRoots': { needs: 'read', args: ['turns'] },
  // Older than `getMany`.
  'engine.getPatch': { needs: 'read', args: ['count'], retired: true },
  'engine.getMany': { needs: 'read', args: ['wanted'] },
  'engine.tips': { needs: 'read', args: [] },
  'engine.getLog': { needs: 'read', args: ['text'] },
  'engine.readLog': { needs: 'read', args: ['text', 'count', 'limit'] },
  'engine.salvageLog': { needs: 'read', args: ['text', 'count', 'limit'] },
  'engine.listLogs': { needs: 'read', args: ['text', 'limit', 'text?'] },
  'engine.getDoc': { needs: 'read', args: ['text'] },
  'engine.listDocs': { needs: 'read', args: ['text', 'limit', 'text?'] },
  'engine.stats': { needs: 'read', args: [] },
  'engine.subscribe': { needs: 'read', args: [], kind: 'stream' },
  'engine.checkpoint': { needs: 'admin', args: [], kind: 'work' },
  'engine.reindex': { needs: 'admin', args: [], kind: 'work' },
  'upkeep.check': { needs: 'admin', args: ['boolean'], kind: 'work' },
  'upkeep.eraseBlob': { needs: 'admin', args: ['hash'], kind: 'work' },
  'upkeep.eraseLines': { needs: 'admin', args: ['text', 'erasures'], kind: 'work' },
  'upkeep.backup': { needs: 'admin', args: ['path'], kind: 'work' },
  'contexts.page': { needs: 'read', args: ['pageRequest', 'pageRead'] },
  'contexts.erase': { needs: 'admin', args: ['turn', 'eraseOptions'], kind: 'work' },
  'blobs.erase': { needs: 'admin', args: ['text', 'blobEraseOptions'], kind: 'work' },
  'maintain.gc': { needs: 'admin', args: ['gcOptions'], kind: 'work' },
  'maintain.retain': { needs: 'admin', args: ['retention', 'boolean'], kind: 'work' },
  // The index may have to be made first, so it is work, with progress.
  'store.search': { needs: 'read', args: ['text', 'searchOptions'], kind: 'work' },
  'queues.list': { needs: 'read', args: [] },
  // Creating a queue that exists does nothing.
  'queues.create': { needs: 'write', args: ['text'] },
  'queues.info': { needs: 'read', args: ['text'] },
  'queues.push': { needs: 'write', args: ['text', 'event'], once: true },
  'queues.pushBatch': { needs: 'write', args: ['text', 'events'], once: true },
  // Repeating an acknowledgement changes nothing.
  'queues.pop': { needs: 'write', args: ['text', 'text', 'popOptions'] },
  'queues.peek': { needs: 'read', args: ['text', 'peekOptions'] },
  // The server runs the handler as a command of its machine, so whoever subscribes one has a shell there.
  'queues.subscribe': { needs: 'handlers', args: ['text', 'subscription'], once: true },
  'queues.unsubscribe': { needs: 'admin', args: ['text', 'text'], once: true },
  'queues.dispatch': { needs: 'write', args: ['text'] },
} as const;

export type CallName = keyof typeof CALLS;

/** The kinds of arguments. The server has a check for each, see `server/calls/create-calls.ts`. */
export type ArgumentKind = (typeof CALLS)[CallName]['args'][number];

type CallIn<Noun extends string, Name = CallName> = Name extends `${Noun}.${infer Method}`
  ? Method
  : never;

/** The methods of the engine that travel as calls of their own. */
export type EngineMethod = Exclude<CallIn<'engine'>, 'getPatch'>;
export type QueueMethod = Exclude<CallIn<'queues'>, 'list' | 'create'>;

export const ENGINE_METHODS: readonly EngineMethod[] = methodsOf('engine') as EngineMethod[];
export const QUEUE_METHODS: readonly QueueMethod[] = methodsOf('queues').filter(
  (method): method is QueueMethod => method !== 'list' && method !== 'create',
);

/** A row that is no `CallRow` does not compile here. */
export function rowOf(call: CallName): CallRow {
  return CALLS[call];
}

function methodsOf(noun: string): string[] {
  return Object.entries<CallRow>(CALLS)
    .filter(([name, { retired }]) => name.startsWith(`${noun}.`) && retired !== true)
    .map(([name]) => name.slice(noun.length + 1));
}
