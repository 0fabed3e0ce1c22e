import { randomFillSync } from 'node:crypto';
import { Payloads } from './payloads.ts';

export type MixName = 'json' | 'small' | 'large' | 'text';

interface Mix {
  readonly about: string;
  /** Payloads of about `bytes` bytes in all. */
  payloads(bytes: number): Iterable<Uint8Array>;
}

const JSON_BYTES = 10_000;
const SMALL_BYTES = 1000;
const LARGE_BYTES = 16 * 1024 * 1024;
const LINE = 'GET /v1/contexts/17/turns?limit=64 HTTP/1.1 200 4 ms 10.0.0.';

/** What a check meets: how much there is to find, to unpack and to hash differs between them. */
export const MIXES: Readonly<Record<MixName, Mix>> = {
  json: {
    about: '10 KB of JSON',
    payloads: (bytes) => new Payloads(JSON_BYTES).take(Math.ceil(bytes / JSON_BYTES)),
  },
  small: {
    about: '1 KB of JSON',
    payloads: (bytes) => new Payloads(SMALL_BYTES).take(Math.ceil(bytes / SMALL_BYTES)),
  },
  large: {
    about: '16 MB that does not compress, in chunks',
    payloads: (bytes) => random(LARGE_BYTES, Math.ceil(bytes / LARGE_BYTES)),
  },
  text: {
    about: '10 KB of log lines',
    payloads: (bytes) => logs(Math.ceil(bytes / JSON_BYTES)),
  },
};

function* random(bytes: number, count: number): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) yield randomFillSync(new Uint8Array(bytes));
}

function* logs(count: number): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) {
    let text = '';
    for (let line = 0; text.length < JSON_BYTES; line++) text += `${LINE}${i % 250}.${line} ${i}\n`;
    yield Buffer.from(text);
  }
}
