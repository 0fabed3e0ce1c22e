import { isFields } from '../../base/fields.ts';

// The text of a payload: strings of a value, whatever its shape, without the fields that name its shape and without
// encoded bytes. Messages of chat models say their role, their model and the tools that they call.

export interface Extracted {
  readonly texts: readonly string[];
  readonly role?: string;
  readonly model?: string;
  readonly tools?: readonly string[];
}

/** A caller may register one for a type of turn, entry or event. It returns the texts, or the texts with more. */
export type Extractor = (value: unknown) => string | readonly string[] | Extracted;

/** More text of one document is not indexed. */
export const TEXT_CHARS_MAX = 4_194_304;
const VALUES_MAX = 200_000;
const DEPTH_MAX = 64;
const TOOLS_MAX = 16;
const NAME_CHARS_MAX = 200;

/** Fields that name a shape or carry a signature. */
const SKIPPED: ReadonlySet<string> = new Set([
  'type',
  'role',
  'object',
  'signature',
  'thoughtSignature',
  'encrypted_content',
  'mimeType',
  'mime_type',
  'media_type',
  'mediaType',
  'encoding',
  'base64',
]);

const TOOL_TYPES: ReadonlySet<unknown> = new Set([
  'tool_use',
  'tool_call',
  'toolCall',
  'tool-call',
  'function_call',
  'function',
]);

/** A turn of an imported history: docs/format/import.md. */
const IMPORTED = /^import\.[\w-]+\.(?:message|marker|event)$/;

/**
 * Fields around the content of an imported record: ids, times, and the state of the program that wrote it. Each turn of
 * a session has them, so a search for `main` would find every turn that was written on that branch.
 */
const ENVELOPE: ReadonlySet<string> = new Set([
  'id',
  'uuid',
  'parent',
  'parentId',
  'parent_id',
  'parentID',
  'parentUuid',
  'logicalParentUuid',
  'parent_message_uuid',
  'sourceToolAssistantUUID',
  'children',
  'sessionId',
  'session_id',
  'sessionID',
  'sessionKind',
  'conversation_id',
  'messageId',
  'messageID',
  'requestId',
  'promptId',
  'turnId',
  'agentId',
  'slug',
  'timestamp',
  'created_at',
  'updated_at',
  'cwd',
  'gitBranch',
  'version',
  'userType',
  'entrypoint',
  'permissionMode',
  'model',
  'modelID',
  'providerID',
  'stop_reason',
  'status',
  'author',
  'sender',
  'recipient',
  'tool_use_id',
  'toolCallId',
  'call_id',
  'callID',
]);
/** A record, and the message in it. What is deeper is content, whatever its name. */
const ENVELOPE_DEPTH = 1;

/** The text of a payload of a type. */
export function extractOf(type: string, value: unknown): Extracted {
  if (!IMPORTED.test(type) || !isRecord(value) || !Array.isArray(value['records'])) {
    return extract(value);
  }
  const found = new Finding();
  found.walk(value['summary'], 0);
  for (const record of value['records'] as unknown[]) found.walk(record, 0, ENVELOPE_DEPTH);
  return toExtract(found, value);
}

export function extract(value: unknown): Extracted {
  const found = new Finding();
  found.walk(value, 0);
  return toExtract(found, value);
}

function toExtract(found: Finding, value: unknown): Extracted {
  const top = messageOf(value);
  const role = nameIn(top, 'role') ?? nameIn(value, 'role');
  const model = nameIn(top, 'model') ?? nameIn(value, 'model');
  return {
    texts: found.texts,
    ...(role !== undefined && { role }),
    ...(model !== undefined && { model }),
    ...(found.tools.size > 0 && { tools: [...found.tools] }),
  };
}

/** The result of a caller's extractor in one form, bounded. */
export function toExtracted(given: ReturnType<Extractor>): Extracted {
  const { texts, ...more } =
    typeof given === 'string' ? { texts: [given] } : isList(given) ? { texts: given } : given;
  let left = TEXT_CHARS_MAX;
  const kept = texts.map((text) => {
    const part = String(text).slice(0, Math.max(0, left));
    left -= part.length;
    return part;
  });
  return { ...more, texts: kept };
}

function isList(given: ReturnType<Extractor>): given is readonly string[] {
  return Array.isArray(given);
}

class Finding {
  readonly texts: string[] = [];
  readonly tools: Set<string> = new Set();
  #values = 0;
  #chars = 0;

  /** Down to the depth `envelope`, fields around the content are passed over. */
  walk(value: unknown, depth: number, envelope = -1): void {
    this.#values += 1;
    if (this.#values > VALUES_MAX || depth > DEPTH_MAX) return;
    if (typeof value === 'string') {
      this.#add(value);
    } else if (Array.isArray(value)) {
      for (const item of value as unknown[]) this.walk(item, depth + 1, envelope);
    } else if (isRecord(value)) {
      this.#noteTool(value);
      const isBytes = hasEncodedBytes(value);
      for (const [name, item] of Object.entries(value)) {
        if (SKIPPED.has(name) || (isBytes && name === 'data')) continue;
        if (depth <= envelope && ENVELOPE.has(name)) continue;
        this.walk(item, depth + 1, envelope);
      }
    }
  }

  #add(text: string): void {
    const left = TEXT_CHARS_MAX - this.#chars;
    if (left <= 0 || text === '' || isEncoded(text)) return;
    const kept = withoutDataUrls(text).slice(0, left);
    this.#chars += kept.length;
    if (kept !== '') this.texts.push(kept);
  }

  #noteTool(value: Readonly<Record<string, unknown>>): void {
    if (this.tools.size >= TOOLS_MAX) return;
    const called = isRecord(value['function']) ? value['function'] : value;
    const isCall = TOOL_TYPES.has(value['type']) || called !== value;
    const name = isCall ? nameIn(called, 'name') : undefined;
    const tool = name ?? nameIn(value, 'toolName') ?? nameIn(value, 'tool_name');
    if (tool !== undefined) this.tools.add(tool);
  }
}

/** Some programs keep a message inside an entry. */
function messageOf(value: unknown): unknown {
  return isRecord(value) ? value['message'] : undefined;
}

function nameIn(value: unknown, field: string): string | undefined {
  const name = isRecord(value) ? value[field] : undefined;
  const fits = typeof name === 'string' && name !== '' && name.length <= NAME_CHARS_MAX;
  return fits ? name : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isFields(value)) return false;
  return !ArrayBuffer.isView(value);
}

/** `{ type: 'image', data: '…' }` and `{ type: 'base64', data: '…' }`. */
function hasEncodedBytes(value: Readonly<Record<string, unknown>>): boolean {
  const { type, data } = value;
  if (typeof data !== 'string' || typeof type !== 'string') return false;
  return type === 'base64' || value['mimeType'] !== undefined || value['media_type'] !== undefined;
}

const ENCODED_CHARS_MIN = 256;
const DATA_URL = /data:[\w.+/-]{1,100}(?:;[\w=.-]{1,100}){0,4};base64,[A-Za-z0-9+/_=-]*/g;

/** A long text without a space in the letters of base64 or hex, as bytes are written. */
function isEncoded(text: string): boolean {
  if (text.length < ENCODED_CHARS_MIN) return false;
  const head = text.slice(0, ENCODED_CHARS_MIN);
  return /^[A-Za-z0-9+/_=\r\n-]+$/.test(head) && !/[\s]/.test(head.trim().slice(0, 64));
}

function withoutDataUrls(text: string): string {
  return text.includes(';base64,') ? text.replaceAll(DATA_URL, ' ') : text;
}
