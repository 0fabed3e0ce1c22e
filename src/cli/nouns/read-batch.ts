import { invalid, tooLarge } from '../../base/errors.ts';
import { checkKey, checkType, checkVersion } from '../../context/check-input.ts';
import type { BatchTurn } from '../../context/contexts.ts';
import { encodePayload, findCodec, holdsBytes } from '../../context/payloads/codecs.ts';
import type { PayloadEncoding, PayloadRules } from '../../context/payloads/codecs.ts';
import { BATCH_TURNS_MAX, PAYLOAD_BYTES_MAX } from '../../context/limits.ts';
import type { TurnJson } from '../../context/turn.ts';
import { namingLine, parseLineFields, readLines } from '../kit/files.ts';

/** The fields of a line. An exported line also carries those that the store gives; a new turn gets its own. */
const FIELDS: Record<keyof TurnJson | 'bytes' | 'idempotencyKey', true> = {
  type: true,
  version: true,
  encoding: true,
  payload: true,
  idempotencyKey: true,
  bytes: true,
  id: true,
  context: true,
  parent: true,
  depth: true,
  payloadHash: true,
  size: true,
  createdAt: true,
  flags: true,
  state: true,
  outcome: true,
  patched: true,
  tombstone: true,
  reason: true,
  undecodable: true,
};

/** The fields of a line as they were given. */
export type TurnFields = { readonly [Name in keyof typeof FIELDS]?: unknown };

const RULES: PayloadRules = { maxPayloadBytes: PAYLOAD_BYTES_MAX };

/** A line is a payload in JSON: escapes and base64 make it longer than the stored bytes. */
export const LINE_BYTES_MAX: number = 2 * PAYLOAD_BYTES_MAX;

/** Reads new turns from JSON lines. An error names the first wrong line by its number. Blank lines do not count. */
export async function readBatch(source: AsyncIterable<Uint8Array>): Promise<BatchTurn[]> {
  const turns: BatchTurn[] = [];
  let number = 0;
  for await (const line of readLines(source, LINE_BYTES_MAX)) {
    number += 1;
    const turn = parseLine(line, number);
    if (turn !== undefined) turns.push(turn);
    if (turns.length > BATCH_TURNS_MAX) {
      const message = `a batch has at most ${BATCH_TURNS_MAX} turns`;
      throw tooLarge('batch', BATCH_TURNS_MAX, turns.length, message);
    }
  }
  if (turns.length === 0) throw invalid('batch', 'is empty; give one JSON object a line');
  return turns;
}

function parseLine(line: Uint8Array, number: number): BatchTurn | undefined {
  const fields = parseFields(line, number);
  return fields && toTurn(fields, number);
}

/** The fields of a line, all of which are known. Undefined for a blank line. */
export function parseFields(line: Uint8Array, number: number): TurnFields | undefined {
  return parseLineFields(line, number, { isKnown: (name) => Object.hasOwn(FIELDS, name) });
}

/** A turn with its payload as bytes. */
export type LineTurn = BatchTurn & { readonly payload: Uint8Array };

/** The turn that the fields of a line describe. */
export function toTurn(fields: TurnFields, number: number): LineTurn {
  const { type, payload } = fields;
  if (type === undefined) throw invalid(`line ${number}`, 'has no "type"');
  if (payload === undefined) throw invalid(`line ${number}`, 'has no "payload"');
  return namingLine(number, () => encodeTurn(fields));
}

function encodeTurn(fields: TurnFields): LineTurn {
  const { type, version, encoding = 'json', payload, bytes, idempotencyKey, undecodable } = fields;
  const codec = findCodec(encoding as PayloadEncoding);
  const isBytes = undecodable === true || holdsBytes(codec);
  const given = bytes === undefined ? (isBytes ? fromBase64(payload) : payload) : fromBase64(bytes);
  const key = checkKey({ idempotencyKey } as Pick<BatchTurn, 'idempotencyKey'>);
  return {
    ...(key !== undefined && { idempotencyKey: key }),
    type: checkType(type),
    version: checkVersion(version as number | undefined),
    encoding: codec.number as PayloadEncoding,
    payload: encodePayload(given, codec.number, RULES).bytes,
  };
}

function fromBase64(payload: unknown): Uint8Array {
  const { base64 } = (payload ?? {}) as { base64?: unknown };
  if (typeof base64 === 'string') {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') === base64) return bytes;
  }
  throw invalid('payload', 'is bytes and not of the form {"base64": "…"}');
}
