import { corrupt, invalid } from '../base/errors.ts';
import { parseStored } from '../engine/json-text.ts';
import { hashText } from '../base/hash.ts';
import { checkBounded } from '../base/text.ts';

// streams/<hash of the name>, a document of JSON for each stream:                       docs/format/streams.md
//   {"v":1,"name":…,"type":…,"forks":0, and what applies of ttl, until, expiresAt, fork, seq, closed, deleted}
// stream-producers/<hash of the name>/<hash of the producer's id>, for each producer of a stream:
//   {"v":1,"id":…,"epoch":0,"seq":0}
// The messages are turns of the context `stream:<name>`.

/** The context's name has seven bytes more, and a context's name has up to 512. */
const NAME_BYTES_MAX = 500;
const VERSION = 1;

/** The facts about a stream besides its messages. */
export interface StreamRecord {
  readonly name: string;
  /** The content type, as it was given. */
  readonly type: string;
  /** Seconds that the stream lives after its last read or write. */
  readonly ttl?: number;
  /** Unix time in milliseconds at which a stream with a `ttl` ends, if nobody uses it until then. */
  readonly until?: number;
  /** The time at which the stream ends in any case, as it was given. */
  readonly expiresAt?: string;
  readonly fork?: ForkOrigin;
  /** The number of streams that were forked from this one and are still there. */
  readonly forks: number;
  /** The greatest `Stream-Seq` so far. */
  readonly seq?: string;
  /** The number of messages at which the stream was closed. */
  readonly closed?: number;
  /** The stream was deleted, and its forks keep its name from being used again. */
  readonly deleted?: true;
}

export interface ForkOrigin {
  readonly from: string;
  /** The number of messages that the fork shares with its source. */
  readonly at: number;
  /** The part of the next message that the fork begins with: bytes, or values of a JSON message. */
  readonly sub: number;
}

/** The last message that a producer had accepted. */
export interface ProducerState {
  readonly epoch: number;
  readonly seq: number;
}

export const STREAM_DOCS = 'streams/';

export function streamDoc(name: string): string {
  return STREAM_DOCS + hashText(name);
}

/** The documents of all producers of a stream begin with this. */
export function producerDocs(name: string): string {
  return `stream-producers/${hashText(name)}/`;
}

export function producerDoc(name: string, producer: string): string {
  return producerDocs(name) + hashText(producer);
}

/** The name of the context that holds the messages. */
export function contextName(name: string): string {
  return `stream:${name}`;
}

/** Names are paths: segments joined by `/`, none of them empty or made of dots alone. */
export function checkStreamName(given: unknown): string {
  const name = checkBounded(given, 'the name of a stream', NAME_BYTES_MAX);
  const isPath = name.split('/').every((segment) => !/^\.{0,2}$/.test(segment));
  if (isPath && !/[\p{Cc}\\]/u.test(name)) return name;
  throw invalid(
    'the name of a stream',
    'must be a path without empty segments, ".", "..", "\\" and control codes',
  );
}

export function encodeStreamRecord(record: StreamRecord): string {
  const { name, type, ttl, until, expiresAt, fork, forks, seq, closed, deleted } = record;
  const origin = fork && { from: fork.from, at: fork.at, sub: fork.sub };
  const fields = { ttl, until, expiresAt, fork: origin, forks, seq, closed, deleted };
  return JSON.stringify({ v: VERSION, name, type, ...fields });
}

export function decodeStreamRecord(doc: string, content: string): StreamRecord {
  const { v: _, ...fields } = parseFields(doc, content);
  const { name, type, ttl, until, expiresAt, fork, forks, seq, closed, deleted } = fields;
  const isWhole =
    isText(name) &&
    isText(type) &&
    isCount(forks) &&
    [ttl, until, closed].every((count) => count === undefined || isCount(count)) &&
    [expiresAt, seq].every((text) => text === undefined || isText(text)) &&
    (fork === undefined || isFork(fork)) &&
    (deleted === undefined || deleted === true);
  if (!isWhole || streamDoc(name) !== doc) throw corrupt(doc, `${doc} does not describe a stream`);
  return fields as unknown as StreamRecord;
}

export function encodeProducer(id: string, { epoch, seq }: ProducerState): string {
  return JSON.stringify({ v: VERSION, id, epoch, seq });
}

export function decodeProducer(doc: string, content: string): ProducerState {
  const { epoch, seq } = parseFields(doc, content);
  if (isCount(epoch) && isCount(seq)) return { epoch, seq };
  throw corrupt(doc, `${doc} does not describe a producer`);
}

function parseFields(doc: string, content: string): Readonly<Record<string, unknown>> {
  const fields = parseStored(doc, content);
  if (fields['v'] === VERSION) return fields;
  throw corrupt(doc, `${doc} is of a version that this program does not know`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isFork(value: unknown): value is ForkOrigin {
  if (typeof value !== 'object' || value === null) return false;
  const { from, at, sub } = value as Record<string, unknown>;
  return isText(from) && isCount(at) && isCount(sub);
}
