import { Readable, pipeline } from 'node:stream';
import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** A way to compress an answer. */
export interface Coding {
  readonly name: string;
  readonly whole: (bytes: Uint8Array) => Promise<Uint8Array>;
  readonly stream: () => Transform;
}

/** The compressions that this Node offers, best first. */
const CODINGS: readonly Coding[] = [
  ...builtinZstd(zlib),
  {
    name: 'gzip',
    whole: promisify<Uint8Array, Buffer>(zlib.gzip),
    stream: () => zlib.createGzip(),
  },
];

/** Chooses a compression that the client accepts, from its `Accept-Encoding`. */
export function chooseCoding(accepted: string): Coding | undefined {
  const names = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]);
  return CODINGS.find(({ name }) => names.includes(name));
}

/** Asks for the next piece when the last one was taken. */
export function compressed(
  pieces: AsyncIterable<Uint8Array>,
  { stream }: Coding,
): AsyncIterable<Uint8Array> {
  const squeeze = stream();
  // The reader gets the error if compression fails.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), squeeze, () => undefined);
  return squeeze as AsyncIterable<Uint8Array>;
}

/** `node:zlib` has zstd from Node 22.15 on; the types of Node 20 do not know it. */
function builtinZstd(from: object): Coding[] {
  if (!('zstdCompress' in from)) return [];
  const { zstdCompress, createZstdCompress } = from as {
    zstdCompress: typeof zlib.gzip;
    createZstdCompress: () => Transform;
  };
  return [
    {
      name: 'zstd',
      whole: promisify<Uint8Array, Buffer>(zstdCompress),
      stream: createZstdCompress,
    },
  ];
}
