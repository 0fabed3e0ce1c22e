import { type Message, mediaType } from './message.ts';
import type { ProducerState } from './stream-record.ts';

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
