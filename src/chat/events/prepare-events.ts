import { isFields } from '../../base/fields.ts';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { type QuipuError, invalid, tooLarge } from '../../base/errors.ts';
import { kindOf, shown } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { toBlob } from './chat-lines.ts';
import { checkType } from './custom-types.ts';
import { SCHEMA_VERSION, type ChatEvent, type JsonObject, type NewEvent } from './event.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_EVENTS_MAX,
  LINE_PAYLOAD_BYTES,
  PAYLOAD_BYTES_MAX,
} from './limits.ts';
import { newEventId } from './names.ts';
import { payloadProblem, toStub } from './payloads.ts';

/** An event that lacks its number, and the blob that its payload went to. */
export interface PreparedEvent {
  readonly event: Omit<ChatEvent, 'seq'>;
  readonly blob?: BlobPut;
  readonly bytes: number;
}

/** Checks events as callers give them, once. After this they are only numbered. */
export function prepareEvents(events: readonly NewEvent[], nowMs: number): PreparedEvent[] {
  if (events.length > BATCH_EVENTS_MAX) throw overLimit('events', BATCH_EVENTS_MAX, events.length);
  const prepared = events.map((event) => prepareEvent(event, nowMs));
  const bytes = prepared.reduce((sum, { bytes: size }) => sum + size, 0);
  if (bytes > BATCH_BYTES_MAX) throw overLimit('events', BATCH_BYTES_MAX, bytes);
  return prepared;
}

function prepareEvent(given: NewEvent, nowMs: number): PreparedEvent {
  const { type, payload, schemaVersion = SCHEMA_VERSION } = given;
  checkType(type);
  if (!Number.isSafeInteger(schemaVersion) || schemaVersion < SCHEMA_VERSION) {
    throw invalid('schemaVersion', `must be a whole number from 1, got ${shown(schemaVersion)}`);
  }
  if (!isFields(payload)) throw invalid('payload', `must be an object, got ${kindOf(payload)}`);
  const wrong = schemaVersion === SCHEMA_VERSION ? payloadProblem(type, payload) : undefined;
  if (wrong !== undefined) throw invalid('payload', `of ${type} does not fit: ${wrong}`);
  const text = toJson(payload);
  const bytes = Buffer.byteLength(text);
  if (bytes > PAYLOAD_BYTES_MAX) throw overLimit('payload', PAYLOAD_BYTES_MAX, bytes);
  const event = {
    schema_version: schemaVersion,
    event_id: newEventId(nowMs),
    at: new Date(nowMs).toISOString(),
    type,
  };
  // The given object may change before it is written; its text does not.
  const own = parsePayload(text);
  if (bytes <= LINE_PAYLOAD_BYTES) return { event: { ...event, payload: own }, bytes };
  const blob = toBlob(text);
  const stub = toStub(own, { hash: blob.hash, size: bytes });
  if (Buffer.byteLength(JSON.stringify(stub)) > LINE_PAYLOAD_BYTES) {
    throw overLimit('ids and names in the payload', LINE_PAYLOAD_BYTES, bytes);
  }
  return { event: { ...event, payload: stub }, blob, bytes };
}

/** Parses as readers will, so that no reader meets more than it accepts. */
function parsePayload(text: string): JsonObject {
  try {
    return parseBoundedJson(text) as JsonObject;
  } catch (error) {
    throw invalid('payload', `is too complex: ${error instanceof Error ? error.message : ''}`);
  }
}

function toJson(payload: JsonObject): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    throw invalid('payload', `has no JSON form: ${error instanceof Error ? error.message : ''}`);
  }
  // Half a character is the only one beyond ASCII that is written as an escape.
  if (/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/i.test(text)) {
    throw invalid('payload', 'has a lone surrogate and no UTF-8 form');
  }
  return text;
}

function overLimit(what: string, limit: number, size: number): QuipuError<'TOO_LARGE'> {
  return tooLarge(what, limit, size, `${what}: ${size} is more than the limit of ${limit}`);
}
