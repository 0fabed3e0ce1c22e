import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { FrameReader, encodeFrame, toReqId } from '../../src/wire/frame.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { MessageType, PUSHED, countingFlags } from '../../src/wire/message-type.ts';
import { documentedFrames } from './documented-frames.ts';
import { MESSAGES, messageNamed } from './messages.ts';
import { PUSHED_AND_CALLED } from './pushed-examples.ts';
import { REPLIED } from './replied-examples.ts';

const EXAMPLES = { ...REPLIED, ...PUSHED_AND_CALLED };
const frames = documentedFrames();

describe('the documented frames', () => {
  it('have one of every message, and none that nobody reads', () => {
    expect([...frames.keys()].toSorted()).toEqual(Object.keys(EXAMPLES).toSorted());
    const shown = new Set(Object.values(EXAMPLES).map(({ message }) => message));
    // Their replies are their requests again.
    const missing = [...MESSAGES.keys()].filter((name) => !shown.has(name));
    expect(missing).toEqual(['ATTACH_FS reply', 'UNSUBSCRIBE reply']);
  });

  it.each(Object.entries(EXAMPLES))('are what is sent: %s', (name, { message, req, value }) => {
    const { type, encode, flagsOf } = messageNamed(message);
    const frame = encodeFrame(type, flagsOf(value), toReqId(req), ...encode(value));
    expect(Buffer.from(frame).toString('hex')).toBe(frames.get(name)?.toString('hex'));
  });

  it.each(Object.entries(EXAMPLES))('are understood: %s', (name, { message, req, value }) => {
    const reader = new FrameReader(FRAME_PAYLOAD_MAX);
    reader.push(frames.get(name)!);
    const frame = reader.next()!;
    if (frame.kind !== 'frame') throw new Error('oversized');
    expect(reader.isMidFrame).toBe(false);
    expect(frame.type).toBe(messageNamed(message).type);
    expect(Buffer.from(frame.reqId).readBigUInt64LE()).toBe(req);
    expect(messageNamed(message).decode(frame.payload, frame.flags)).toEqual(value);
  });

  it('use flags that count', () => {
    for (const [name, frame] of frames) {
      const type = frame.readUInt16LE(4);
      const flags = frame.readUInt16LE(6);
      const { message } = EXAMPLES[name]!;
      const isPush = message === 'push' || message === 'STREAM';
      expect(isPush ? PUSHED : countingFlags(type, flags, true)).toBe(flags);
    }
  });

  it('cut short anywhere are INVALID, unless what is cut off is optional', () => {
    const accepted: string[] = [];
    for (const [name, frame] of frames) {
      const payload = frame.subarray(16);
      for (let length = 0; length < payload.length; length += 1) {
        const outcome = outcomeOf(name, payload.subarray(0, length));
        if (outcome !== 'INVALID') accepted.push(`${name} at ${length} of ${payload.length}`);
      }
    }
    expect(accepted).toEqual([
      'HELLO at 0 of 15',
      'HELLO with meta at 0 of 39',
      'HELLO reply with caps at 10 of 63',
      'GET_LAST reply with EXT at 211 of 263',
      'ERROR with the facts at 22 of 81',
      'STREAM error at 19 of 71',
    ]);
  });

  it('may be followed by bytes of a later version, except GET_BLOB', () => {
    const requests = Object.keys(EXAMPLES).filter((name) => {
      const { message } = EXAMPLES[name]!;
      return frames.get(name)!.length > 16 && message in MessageType && !NEVER_ASKED.has(message);
    });
    expect(requests.length).toBeGreaterThan(17);
    const later = Buffer.from([1, 2, 3]);
    const changed = requests.filter((name) => {
      const payload = frames.get(name)!.subarray(16);
      const outcome = outcomeOf(name, Buffer.concat([payload, later]));
      return !isDeepStrictEqual(outcome, outcomeOf(name, payload));
    });
    expect(changed).toEqual(['GET_BLOB']);
  });
});

const NEVER_ASKED = new Set(['ERROR', 'STREAM']);

/** What the message of that example makes of a payload: a value, or the code of the error. */
function outcomeOf(name: string, payload: Uint8Array): unknown {
  const { decode } = messageNamed(EXAMPLES[name]!.message);
  try {
    return decode(payload, frames.get(name)!.readUInt16LE(6));
  } catch (error) {
    return isQuipuError(error) ? error.code : error;
  }
}
