import { shown } from '../../base/text.ts';
import { isFields } from '../../base/fields.ts';
import { OverBounds, VALUE_BOUNDS, findExcess, parseBoundedJson } from '../../base/bounded-json.ts';
import { invalid, messageOf } from '../../base/errors.ts';
import { groupsOf } from '../../base/pages.ts';
import type { BlobPut } from '../../engine/batch.ts';
import { toBlob } from '../events/chat-lines.ts';
import { type ChatEvent, type JsonObject } from '../events/event.ts';
import { BATCH_EVENTS_MAX, LINE_PAYLOAD_BYTES, PAYLOAD_BYTES_MAX } from '../events/limits.ts';
import { metaChange, newMeta, parseMeta, type ChatMeta } from '../events/documents.ts';
import { checkId, eventsLog, metaDoc } from '../events/names.ts';
import { refOf, toStub } from '../events/payloads.ts';
import { formatLine } from '../events/read-line.ts';
import { chatExists } from '../handle/chat-view.ts';
import type { ChatsHome } from '../handle/chat-writer.ts';
import type { ChatInfo } from '../handle/chats.ts';
import { toInfo } from '../handle/info.ts';
import { EXPORT_VERSION } from './export-chat.ts';

const COMMIT_BYTES = 8_388_608;
const BYTES_PER_VALUE = 8;

interface ImportLine {
  readonly text: string;
  readonly blob?: BlobPut;
}

/** Makes a new chat with the lines of an exported one. All of it is checked before any is written. */
export async function importChat(
  { engine, clock }: ChatsHome,
  document: JsonObject | string,
  given: string | undefined,
): Promise<ChatInfo> {
  const found = typeof document === 'string' ? parse(document) : document;
  if (
    !isFields(found) ||
    found['quipu_chat'] !== EXPORT_VERSION ||
    !Array.isArray(found['events'])
  ) {
    throw invalid('document', 'is not a chat that was exported as JSON');
  }
  const said = isFields(found['meta']) ? found['meta'] : {};
  const id = checkId(given ?? said['session_id'], 'id');
  const lines = found['events'].map((item, at) => toLine(item, at + 1));
  const now = newMeta(id, '', clock());
  const { meta } = parseMeta(id, toText({ ...now, ...said, session_id: id }, 'meta'));
  const { past_archives: _, archive: __, archived_at: ___, ...fresh } = meta;
  const log = eventsLog(id);
  if (
    (await engine.getDoc(metaDoc(id))) !== undefined ||
    (await engine.getLog(log)) !== undefined
  ) {
    throw chatExists(id);
  }
  await writeAll(engine, fresh, lines);
  const row = await engine.getLog(log);
  return toInfo(fresh, { events: lines.length, bytes: row?.bytes ?? 0 });
}

/** The document is written with the first lines, so that nobody else takes the id. */
async function writeAll(
  engine: ChatsHome['engine'],
  meta: ChatMeta,
  lines: readonly ImportLine[],
): Promise<void> {
  const name = eventsLog(meta.session_id);
  const create = metaChange(meta, 0);
  if (lines.length === 0) await engine.commit({ docs: [create] });
  const sizeOf = ({ text, blob }: ImportLine): number =>
    Math.max(text.length + (blob?.bytes.length ?? 0), COMMIT_BYTES / BATCH_EVENTS_MAX);
  let from = 0;
  for (const page of groupsOf(lines, COMMIT_BYTES, sizeOf)) {
    await engine.commit({
      blobs: page.flatMap(({ blob }) => blob ?? []),
      logs: [{ do: 'append', name, lines: page.map(({ text }) => text), expectedLines: from }],
      docs: from === 0 ? [create] : [],
    });
    from += page.length;
  }
}

function toLine(item: unknown, seq: number): ImportLine {
  if (!isFields(item)) throw invalid(`event ${seq}`, 'is not an object');
  // The line was not an event; it may have been any JSON.
  if (typeof item['line'] === 'string') return { text: asJson(item['line']) };
  // The line was damaged: the import keeps only the fact that it is missing.
  if (item['kind'] === 'unreadable') return { text: JSON.stringify(item) };
  const { schema_version, event_id, at, type, payload } = item as Partial<ChatEvent>;
  const isWhole =
    typeof schema_version === 'number' &&
    typeof event_id === 'string' &&
    typeof at === 'string' &&
    typeof type === 'string' &&
    isFields(payload);
  if (!isWhole) throw invalid(`event ${seq}`, 'is not an event of a chat');
  if (item['seq'] !== seq) throw invalid(`event ${seq}`, `says that it is ${shown(item['seq'])}`);
  const event = { schema_version, seq, event_id, at, type, payload };
  const text = toText(payload, `event ${seq}`);
  const size = Buffer.byteLength(text);
  if (size > PAYLOAD_BYTES_MAX) {
    throw invalid(`event ${seq}`, `may have at most ${PAYLOAD_BYTES_MAX} bytes, got ${size}`);
  }
  if (size <= LINE_PAYLOAD_BYTES || refOf(payload) !== undefined)
    return { text: formatLine(event) };
  const blob = toBlob(text);
  const stub = { ...event, payload: toStub(payload, { hash: blob.hash, size }) };
  return { text: formatLine(stub), blob };
}

/** Refuses values that no reader would accept, or that nobody could write. */
function toText(value: object, what: string): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // The value is too deep for the stack, or holds itself.
    throw invalid(what, `cannot be written as JSON: ${messageOf(error)}`);
  }
  const excess = findExcess(text, VALUE_BOUNDS);
  if (excess !== undefined) throw invalid(what, new OverBounds(excess.of).message);
  return text;
}

function asJson(line: string): string {
  try {
    parseBoundedJson(line);
    if (!/[\r\n]/.test(line)) return line;
  } catch {
    // SyntaxError: the line is kept as a text.
  }
  return JSON.stringify(line);
}

function parse(text: string): unknown {
  // Events have a value in twenty bytes or so. A text with a value in every other byte is made to take memory.
  const values = VALUE_BOUNDS.values + text.length / BYTES_PER_VALUE;
  const excess = findExcess(text, { ...VALUE_BOUNDS, values });
  if (excess !== undefined) {
    const what = excess.of === 'depth' ? 'levels' : 'values';
    throw invalid('document', `is no chat: it has too many ${what}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid('document', `is not JSON: ${messageOf(error)}`);
  }
}
