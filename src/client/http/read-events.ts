import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError } from '../../base/errors.ts';
import type { ErrorCode, ErrorData } from '../../base/errors.ts';
import { unavailable } from '../outcome.ts';
import { readChunks } from './read-framed.ts';

/** A server-sent event of a store. */
export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

const LINE_CHARS_MAX = 128 * 1024 * 1024;

/** The events of an answer until `end`. Throws the error of an `error` event, and UNAVAILABLE when cut off. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder();
  let waiting: string[] = [];
  let size = 0;
  for await (const chunk of readChunks(response)) {
    const text = decoder.decode(chunk, { stream: true });
    waiting.push(text);
    size += text.length;
    if (size > LINE_CHARS_MAX)
      throw unavailable('the answer is not from a Quipu server; check the address');
    // The blank line that ends an event may be split between two chunks.
    if (!`${waiting.at(-2)?.slice(-1) ?? ''}${text}`.includes('\n\n')) continue;
    const parts = waiting.join('').split('\n\n');
    const rest = parts.pop() ?? '';
    waiting = [rest];
    size = rest.length;
    for (const part of parts) {
      const event = parseEvent(part);
      if (event?.event === 'end') return;
      if (event?.event === 'error') throw toError(event.data);
      if (event !== undefined) yield event;
    }
  }
  throw unavailable('the server went away before the events had ended');
}

function parseEvent(text: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return {
    id: fields.get('id'),
    event: fields.get('event') ?? 'message',
    data: parseBoundedJson(data),
  };
}

function toError(data: unknown): QuipuError {
  const { error } = data as {
    error: { code: ErrorCode; message: string; data: ErrorData[ErrorCode] };
  };
  return new QuipuError(error.code, error.message, error.data);
}
