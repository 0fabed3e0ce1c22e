import { Option } from 'commander';
import { invalid } from '../base/errors.ts';
import type { EncodingName } from '../format/encoding.ts';
import { PAYLOAD_BYTES_MAX } from '../context/limits.ts';
import type { CommandIo } from './command.ts';
import { readInput, readWhole } from './input.ts';
import { option } from './verb.ts';

// The source of a payload. There is exactly one source. Its content is stored byte for byte, after a check that it
// matches its encoding.

export interface PayloadOptions {
  readonly jsonPayload?: string;
  readonly text?: string;
  readonly file?: string;
  readonly stdin?: boolean;
  readonly encoding?: EncodingName;
}

export interface PayloadGiven {
  readonly payload: unknown;
  readonly encoding: EncodingName;
}

const SOURCES = '--json-payload, --text, --file or --stdin';

const ENCODINGS: EncodingName[] = ['text', 'json', 'msgpack', 'bytes'];

export const PAYLOAD_OPTIONS: readonly Option[] = [
  option('--json-payload <json>', 'the payload as JSON text'),
  option('--text <text>', 'the payload as plain text'),
  option('--file <path>', 'the payload is what this file holds'),
  option('--stdin', 'the payload is what standard input gives'),
  new Option(
    '--encoding <name>',
    'what the payload is (default: json for --json-payload, else text)',
  ).choices(ENCODINGS),
];

/** Reads the one source that was named. Nothing is stored when the content is not valid. */
export async function readPayload(io: CommandIo, options: PayloadOptions): Promise<PayloadGiven> {
  const { jsonPayload, text, file, stdin } = options;
  const given = [jsonPayload, text, file, stdin].filter((source) => source !== undefined);
  if (given.length !== 1) {
    const problem = given.length === 0 ? 'is missing' : `was given ${given.length} times`;
    throw invalid('payload', `${problem}; name exactly one of ${SOURCES}`);
  }
  if (jsonPayload !== undefined) return fromJsonText(jsonPayload, options.encoding ?? 'json');
  if (text !== undefined) return fromText(text, options.encoding ?? 'text');

  const path = file ?? '-';
  const payload = await readWhole(readInput(io.shell, path), PAYLOAD_BYTES_MAX);
  return { payload, encoding: options.encoding ?? 'text' };
}

function fromJsonText(text: string, encoding: EncodingName): PayloadGiven {
  if (encoding === 'json') return { payload: Buffer.from(text), encoding };
  if (encoding !== 'msgpack') throw invalid('--encoding', 'is json or msgpack for --json-payload');
  try {
    return { payload: JSON.parse(text) as unknown, encoding };
  } catch (error) {
    throw invalid('--json-payload', `is not JSON: ${(error as SyntaxError).message}`);
  }
}

function fromText(text: string, encoding: EncodingName): PayloadGiven {
  if (encoding !== 'text') throw invalid('--encoding', 'is text for --text; use --stdin or --file');
  return { payload: text, encoding };
}
