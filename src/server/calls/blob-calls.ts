import { z } from 'zod';
import type { Hash } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CallHandler } from './call-handler.ts';
import { answer } from './answer.ts';
import type { NamedHandler } from './answer.ts';
import { count, hash, parseArgs } from './check-args.ts';

/** The size of one piece. The client asks for pieces one by one, so a slow reader holds nobody up. */
const PIECE_BYTES_MAX = 1_048_576;

const pieceArgs = z.tuple([hash, count, count]);
const putArgs = z.tuple([z.strictObject({ sha256: z.boolean() })]);

export function blobCalls(engine: Engine): NamedHandler<CallHandler>[] {
  return [
    answer('engine.readBlob', { needs: 'read', args: pieceArgs }, ([blob, start, length]) =>
      readPiece(engine, blob, start, Math.min(length, PIECE_BYTES_MAX)),
    ),
    [
      'engine.putBlob',
      {
        kind: 'upload',
        needs: 'write',
        run: async (args, body) => {
          const [options] = parseArgs(putArgs, args, 'engine.putBlob');
          return engine.putBlob({ chunks: body, ...options });
        },
      },
    ],
  ];
}

/** Undefined when there is no such blob. `size` is the size of the whole blob. */
async function readPiece(
  engine: Engine,
  blob: Hash,
  start: number,
  length: number,
): Promise<{ size: number; bytes: Uint8Array } | undefined> {
  const stat = await engine.statBlob(blob);
  if (stat === undefined) return undefined;
  const { size } = stat;
  const end = Math.min(start + length, size);
  if (size <= PIECE_BYTES_MAX) {
    const whole = await engine.viewBlob(blob);
    return whole && { size, bytes: whole.subarray(start, end) };
  }
  const pieces: Uint8Array[] = [];
  if (start < end) {
    for await (const piece of engine.readBlob(blob, start, end)) pieces.push(piece);
  }
  return { size, bytes: Buffer.concat(pieces) };
}
