import { isQuipuError } from '../../src/base/errors.ts';
import { fromCall, toCall } from '../../src/wire/call-values.ts';
import type { CallBody } from '../../src/wire/call-values.ts';
import { toQuipuError } from '../../src/wire/error-message.ts';
import type { ErrorMessage } from '../../src/wire/error-message.ts';
import { FrameReader } from '../../src/wire/frame.ts';
import type { Frame } from '../../src/wire/frame.ts';
import { parseHelloMeta } from '../../src/wire/hello.ts';
import { MessageType, countingFlags } from '../../src/wire/message-type.ts';
import type { StreamPush } from '../../src/wire/call.ts';
import { documentedFrames } from './documented-frames.ts';
import { hostileStream } from './hostile-streams.ts';
import { MESSAGES } from './messages.ts';
import type { Message } from './messages.ts';
import { Random } from './random.ts';

// Streams of bytes through the frame reader and the decoders. Whatever arrives, a decoder gives a value
// or throws INVALID or TOO_LARGE; a value that it gave can be sent, and then reads as the same bytes.

export interface FuzzReport {
  /** Frames that came out of the reader. */
  frames: number;
  oversized: number;
  /** Payloads that a decoder took. */
  taken: number;
  refused: number;
  /** Memory in use at the worst of the samples, beyond that at the start. */
  grownBytes: number;
}

const MAX_PAYLOAD = 65_536;
const SAMPLE_EVERY = 5000;

/** Stream number n depends on `seed` and n alone, so that a failure names all that is needed. */
export function fuzz(seed: number, streams: number): FuzzReport {
  const report = { frames: 0, oversized: 0, taken: 0, refused: 0, grownBytes: 0 };
  const frames = [...documentedFrames().values()];
  const start = memoryInUse();
  for (let number = 0; number < streams; number += 1) {
    const random = new Random(seed + Math.imul(number, 0x9e37_79b1));
    const stream = hostileStream(random, frames);
    try {
      read(stream, random, report);
    } catch (error) {
      const where = `stream ${number} of seed ${seed}: ${stream.toString('hex')}`;
      throw new Error(where, { cause: error });
    }
    if (number % SAMPLE_EVERY === 0) {
      report.grownBytes = Math.max(report.grownBytes, memoryInUse() - start);
    }
  }
  return report;
}

function memoryInUse(): number {
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + Math.max(arrayBuffers, external);
}

function read(stream: Buffer, random: Random, report: FuzzReport): void {
  const reader = new FrameReader(MAX_PAYLOAD);
  let consumed = 0;
  for (let at = 0; at < stream.length;) {
    const length = 1 + random.below(random.below(4) === 0 ? 8 : stream.length);
    reader.push(stream.subarray(at, at + length));
    at += length;
    for (let event = reader.next(); event !== undefined; event = reader.next()) {
      consumed += 16;
      if (event.kind === 'oversized') {
        report.oversized += 1;
        if (event.length <= MAX_PAYLOAD) throw new Error('called oversized, and is not');
        consumed += Math.min(event.length, stream.length - consumed);
      } else {
        report.frames += 1;
        if (!event.payload.equals(stream.subarray(consumed, consumed + event.payload.length))) {
          throw new Error('the payload is not what was sent');
        }
        consumed += event.payload.length;
        decode(event, random, report);
      }
    }
  }
  if (consumed < stream.length && !reader.isMidFrame) throw new Error('bytes were lost');
}

type Named = readonly [name: string, message: Message];

const ALL: readonly Named[] = [...MESSAGES];
const BY_TYPE: ReadonlyMap<number, readonly Named[]> = new Map(
  ALL.map(([, { type }]) => [type, ALL.filter(([, other]) => other.type === type)]),
);

/** By every decoder of its type, and by one of any type. */
function decode(frame: Frame, random: Random, report: FuzzReport): void {
  for (const named of [...(BY_TYPE.get(frame.type) ?? []), random.pick(ALL)]) {
    if (accepts(named, frame)) report.taken += 1;
    else report.refused += 1;
  }
}

function accepts([name, message]: Named, { type, flags, payload }: Frame): boolean {
  try {
    const isRequest = name in MessageType && !PUSHED_OR_ERROR.has(type);
    const counting = isRequest ? countingFlags(type, flags, true) : flags;
    const value = message.decode(payload, counting);
    sendAgain(message, value);
    lookInto(name, value);
    return true;
  } catch (error) {
    if (isQuipuError(error, 'INVALID') || isQuipuError(error, 'TOO_LARGE')) return false;
    throw error;
  }
}

const PUSHED_OR_ERROR: ReadonlySet<number> = new Set([MessageType.STREAM, MessageType.ERROR]);

function sendAgain(message: Message, value: unknown): void {
  const once = Buffer.concat(message.encode(value));
  const twice = Buffer.concat(message.encode(message.decode(once, message.flagsOf(value))));
  if (!once.equals(twice)) throw new Error('the value does not survive being sent');
}

/** What a server or client reads next in a message that has more inside. */
function lookInto(name: string, value: unknown): void {
  switch (name) {
    case 'HELLO':
      parseHelloMeta((value as { meta: string }).meta);
      return;
    case 'ERROR':
      toQuipuError(value as ErrorMessage);
      return;
    case 'CALL':
      callAgain((value as { body: CallBody }).body);
      return;
    case 'STREAM':
      if ((value as StreamPush).kind === 'item') callAgain((value as { body: CallBody }).body);
      return;
    case 'CALL reply':
      callAgain(value as CallBody);
      return;
    default:
  }
}

function callAgain(body: CallBody): void {
  const again = toCall(fromCall(body));
  if (toCall(fromCall(again)).json !== again.json) throw new Error('the call does not survive');
}
