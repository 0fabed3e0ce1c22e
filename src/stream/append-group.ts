import type { Batch, DocChange, TurnAppend } from '../engine/batch.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { Encoding } from '../format/turn-record.ts';
import { findStream, tailOf, used, type LiveStream, type StreamParts } from './find-stream.ts';
import { CLOSED_TYPE, MESSAGE_TYPE, type Message, toMessage, mediaType } from './message.ts';
import {
  decodeProducer,
  encodeProducer,
  encodeStreamRecord,
  producerDoc,
  streamDoc,
  type ProducerState,
} from './stream-record.ts';

/** A producer's word on a message, so that the message is stored once however often it is sent. */
export interface ProducerMark extends ProducerState {
  readonly id: string;
}

export interface AppendRequest {
  /** Absent for a request that only closes the stream. */
  readonly message?: Message;
  /** The content type of the request. */
  readonly type?: string;
  readonly seq?: string;
  readonly producer?: ProducerMark;
  readonly close: boolean;
}

export type AppendAnswer =
  | { readonly is: 'done'; readonly next: number; readonly closed: boolean }
  /** The producer had this message accepted before. `seq` is the last one that was. */
  | {
      readonly is: 'duplicate';
      readonly next: number;
      readonly closed: boolean;
      readonly seq: number;
    }
  | { readonly is: 'closed'; readonly next: number }
  | { readonly is: 'stale'; readonly epoch: number }
  | { readonly is: 'gap'; readonly expected: number; readonly received: number }
  | { readonly is: 'new epoch' }
  | { readonly is: 'other type'; readonly type: string }
  | { readonly is: 'old seq'; readonly seq: string }
  | { readonly is: 'missing' }
  | { readonly is: 'gone' };

/** A stream as it will be after the requests that were decided on. */
export interface StreamDraft {
  readonly type: string;
  readonly producers: Map<string, ProducerState>;
  readonly messages: Message[];
  tail: number;
  closed: boolean;
  seq: string | undefined;
}

/** Decides on one request, and takes what it accepts into the draft. */
export function decideAppend(draft: StreamDraft, request: AppendRequest): AppendAnswer {
  const { message, type, seq, producer, close } = request;
  const refusal = producer && checkProducer(draft, producer);
  if (draft.closed) {
    if (refusal?.is === 'duplicate' || refusal?.is === 'stale') return refusal;
    const isSettled = message === undefined && producer === undefined;
    return isSettled ? done(draft) : { is: 'closed', next: draft.tail };
  }
  if (message !== undefined && mediaType(type ?? '') !== mediaType(draft.type)) {
    return { is: 'other type', type: draft.type };
  }
  // A retry is known by its producer, so this comes before the check of `seq`.
  if (refusal !== undefined) return refusal;
  if (seq !== undefined && draft.seq !== undefined && seq <= draft.seq) {
    return { is: 'old seq', seq: draft.seq };
  }
  if (message !== undefined) {
    draft.messages.push(message);
    draft.tail += 1;
  }
  if (producer !== undefined) draft.producers.set(producer.id, producer);
  if (seq !== undefined) draft.seq = seq;
  draft.closed = close;
  return done(draft);
}

function done({ tail, closed }: StreamDraft): AppendAnswer {
  return { is: 'done', next: tail, closed };
}

/** Undefined when the message is the producer's next one. */
function checkProducer(
  { producers, tail, closed }: StreamDraft,
  { id, epoch, seq }: ProducerMark,
): AppendAnswer | undefined {
  const last = producers.get(id);
  if (last !== undefined && epoch < last.epoch) return { is: 'stale', epoch: last.epoch };
  if (last === undefined || epoch > last.epoch) {
    if (seq === 0) return undefined;
    return last === undefined ? { is: 'gap', expected: 0, received: seq } : { is: 'new epoch' };
  }
  if (seq <= last.seq) return { is: 'duplicate', next: tail, closed, seq: last.seq };
  return seq === last.seq + 1 ? undefined : { is: 'gap', expected: last.seq + 1, received: seq };
}

export async function appendGroup(
  parts: StreamParts,
  name: string,
  requests: readonly AppendRequest[],
): Promise<readonly AppendAnswer[]> {
  const stream = await findStream(parts, name);
  if (stream === undefined) return requests.map(() => ({ is: 'missing' }));
  if (stream.is === 'gone') return requests.map(() => ({ is: 'gone' }));
  const { record } = stream;
  const known = await readProducers(parts, name, requests);
  const draft: StreamDraft = {
    type: record.type,
    producers: new Map([...known].map(([id, { state }]) => [id, state])),
    messages: [],
    tail: tailOf(stream),
    closed: record.closed !== undefined,
    seq: record.seq,
  };
  const answers = requests.map((request) => decideAppend(draft, request));
  const batch = toBatch(stream, draft, known, parts.clock());
  if (batch !== undefined) await parts.engine.commit(batch);
  return answers;
}

interface KnownProducer {
  readonly version: number;
  readonly state: ProducerState;
}

async function readProducers(
  { engine }: StreamParts,
  name: string,
  requests: readonly AppendRequest[],
): Promise<Map<string, KnownProducer>> {
  const known = new Map<string, KnownProducer>();
  for (const id of new Set(requests.flatMap(({ producer }) => producer?.id ?? []))) {
    const doc = await engine.getDoc(producerDoc(name, id));
    if (doc === undefined) continue;
    known.set(id, { version: doc.version, state: decodeProducer(doc.name, doc.content) });
  }
  return known;
}

/** The batch that the draft adds to the stream. Undefined when the draft is empty. */
function toBatch(
  stream: LiveStream,
  draft: StreamDraft,
  known: ReadonlyMap<string, KnownProducer>,
  nowMs: number,
): Batch | undefined {
  const { record, version, context } = stream;
  const closes = draft.closed && record.closed === undefined;
  const turns = toTurns(context.id, draft.messages, { closes, expectedHead: context.head });
  const docs: DocChange[] = [];
  for (const [id, state] of draft.producers) {
    const before = known.get(id);
    if (before?.state === state) continue;
    const content = encodeProducer(id, state);
    const name = producerDoc(record.name, id);
    docs.push({ name, content, expectedVersion: before?.version ?? 0 });
  }
  const isUsed = turns.length + docs.length > 0;
  const next = {
    ...(isUsed ? used(record, nowMs) : record),
    ...(draft.seq !== undefined && { seq: draft.seq }),
    ...(closes && { closed: draft.tail }),
  };
  if (next.until !== record.until || next.seq !== record.seq || closes) {
    const content = encodeStreamRecord(next);
    docs.push({ name: streamDoc(record.name), content, expectedVersion: version });
  }
  if (turns.length + docs.length === 0) return undefined;
  const blobs = [...draft.messages, ...(closes ? [NOTHING] : [])];
  return { blobs: blobs.map(({ hash, bytes }) => ({ hash, bytes })), turns, docs };
}

/** The payload of a closing turn. */
export const NOTHING: Message = toMessage(new Uint8Array(), '') as Message;

interface TurnsPlan {
  readonly closes: boolean;
  readonly expectedHead?: TurnId;
}

/** The turns of messages, and of a closing if `closes`. The first says what it builds on. */
export function toTurns(
  context: ContextId | { readonly created: number },
  messages: readonly Message[],
  { closes, expectedHead }: TurnsPlan,
): TurnAppend[] {
  const common = { context, version: 1 };
  const turns = messages.map(({ hash, bytes, encoding }): TurnAppend => {
    return { ...common, type: MESSAGE_TYPE, encoding, payload: hash, size: bytes.length };
  });
  if (closes) {
    const nothing = { encoding: Encoding.bytes, payload: NOTHING.hash, size: 0 };
    turns.push({ ...common, type: CLOSED_TYPE, ...nothing });
  }
  const [first, ...rest] = turns;
  return first === undefined || expectedHead === undefined
    ? turns
    : [{ ...first, expectedHead }, ...rest];
}
