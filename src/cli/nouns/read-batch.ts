import { QuipuError, invalid } from '../../base/errors.ts';
import { checkKey, checkType, checkVersion } from '../../context/check-input.ts';
import type { BatchTurn, NewTurn } from '../../context/contexts.ts';
import {
  type PayloadEncoding,
  type PayloadRules,
  encodePayload,
  findCodec,
  holdsBytes,
} from '../../context/payloads/codecs.ts';
import { BATCH_TURNS_MAX, PAYLOAD_BYTES_MAX } from '../../context/limits.ts';
import type { TurnJson } from '../../context/turn.ts';
import { namingLine, parseJsonLine, readLines } from '../kit/input.ts';

/** The store gives these fields, so an exported line carries them; a new turn gets its own. */
const OWN_FIELDS: Record<Exclude<keyof TurnJson, keyof NewTurn>, true> = {
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
const RULES: PayloadRules = { maxPayloadBytes: PAYLOAD_BYTES_MAX };

/** A line is a payload in JSON: escapes and base64 make it longer than the stored bytes. */
const LINE_BYTES_MAX = 2 * PAYLOAD_BYTES_MAX;

/** Reads new turns from JSON lines. An error names the first wrong line by its number. Blank lines do not count. */
export async function readBatch(source: AsyncIterable<Uint8Array>): Promise<BatchTurn[]> {
  const turns: BatchTurn[] = [];
  let number = 0;
  for await (const line of readLines(source, LINE_BYTES_MAX)) {
    number += 1;
    const turn = parseLine(line, number);
    if (turn !== undefined) turns.push(turn);
    if (turns.length > BATCH_TURNS_MAX) {
      throw new QuipuError('TOO_LARGE', `a batch has at most ${BATCH_TURNS_MAX} turns`, {
        what: 'batch',
        limit: BATCH_TURNS_MAX,
        size: turns.length,
      });
    }
  }
  if (turns.length === 0) throw invalid('batch', 'is empty; give one JSON object a line');
  return turns;
}

function parseLine(line: Uint8Array, number: number): BatchTurn | undefined {
  const value = parseJsonLine(line, number);
  if (value === undefined) return undefined;
  const where = `line ${number}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(where, 'is not a JSON object');
  }
  const { type, version, encoding, payload, idempotencyKey, ...rest } = value as Record<
    string,
    unknown
  >;
  const unknown = Object.keys(rest).find((name) => !Object.hasOwn(OWN_FIELDS, name));
  if (unknown !== undefined)
    throw invalid(where, `has an unknown field ${JSON.stringify(unknown)}`);
  if (type === undefined) throw invalid(where, 'has no "type"');
  if (payload === undefined) throw invalid(where, 'has no "payload"');
  return namingLine(number, () => {
    const codec = findCodec((encoding ?? 'json') as PayloadEncoding);
    const isBytes = rest['undecodable'] === true || holdsBytes(codec);
    const given = isBytes ? fromBase64(payload) : payload;
    const key = checkKey({ idempotencyKey } as Pick<BatchTurn, 'idempotencyKey'>);
    return {
      ...(key !== undefined && { idempotencyKey: key }),
      type: checkType(type),
      version: checkVersion(version as number | undefined),
      encoding: codec.number as PayloadEncoding,
      payload: encodePayload(given, codec.number, RULES).bytes,
    };
  });
}

function fromBase64(payload: unknown): Uint8Array {
  const { base64 } = (payload ?? {}) as { base64?: unknown };
  if (typeof base64 === 'string') {
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.toString('base64') === base64) return bytes;
  }
  throw invalid('payload', 'is bytes and not of the form {"base64": "…"}');
}
