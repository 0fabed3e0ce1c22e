import { isFields, type Fields } from '../../base/fields.ts';
import { createReadStream, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import {
  QuipuError,
  invalid,
  isQuipuError,
  notFound,
  tooLarge,
  exists,
} from '../../base/errors.ts';
import type { QuipuShell } from './command.ts';
import { decodeUtf8 } from '../../base/text.ts';
import { option, type OptionOf } from './verb.ts';

const READ_BYTES = 256 * 1024;

/** Yields a file in pieces, or standard input for `-`. Errors name the file as it was given. */
export async function* readInput(shell: QuipuShell, path: string): AsyncIterable<Uint8Array> {
  if (path === '-') {
    yield* shell.stdin;
    return;
  }
  const file = createReadStream(resolve(shell.cwd, path), { highWaterMark: READ_BYTES });
  try {
    yield* file as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toFileError(error, path);
  }
}

/** Reads the whole source, or throws TOO_LARGE without reading on. */
export async function readWhole(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    size += piece.length;
    if (size > limit) {
      throw tooLarge('input', limit, size, `the input has more than ${limit} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Turns an error of the file system into an error of the store. */
export function toFileError(error: unknown, path: string): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return notFound('file', path);
  if (code === 'EISDIR') return invalid('file', `${path} is a directory`);
  if (code === 'ENOSPC') {
    return new QuipuError('DISK_FULL', `the disk is full, writing ${path}`, { path });
  }
  if (code === '') return error as Error;
  return new QuipuError(
    'IO',
    `cannot use ${path}: ${(error as Error).message}`,
    { path, errno: code },
    { cause: error },
  );
}

const LINE_FEED = 0x0a;

/** Yields the lines of a stream of bytes, without their line feeds. A last line without a line feed counts as well. */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  for await (const lines of readLineGroups(source, maxBytes)) yield* lines;
}

/** Yields at a time all lines that end within one piece of the stream: for many lines, waiting for each takes long. */
export async function* readLineGroups(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncIterable<readonly Uint8Array[]> {
  /** The parts of a line whose end has not come yet. */
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    const lines: Uint8Array[] = [];
    let start = 0;
    while (start < piece.length) {
      const found = piece.indexOf(LINE_FEED, start);
      const end = found === -1 ? piece.length : found;
      size += end - start;
      if (size > maxBytes) {
        yield lines;
        throw tooLong(maxBytes, size);
      }
      parts.push(piece.subarray(start, end));
      start = end + 1;
      if (found === -1) break;
      lines.push(join(parts));
      parts = [];
      size = 0;
    }
    yield lines;
  }
  if (size > 0) yield [join(parts)];
}

/** Most lines lie within one piece, and need no copy. */
function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}

function tooLong(limit: number, size: number): QuipuError<'TOO_LARGE'> {
  const message = `a line has more than ${limit} bytes`;
  return tooLarge('line', limit, size, message);
}

/**
 * Returns the value on a line, or undefined for a blank one. Throws INVALID, with the line's number, for text that is
 * not JSON.
 */
function parseJsonLine(line: Uint8Array, number: number): unknown {
  let text: string;
  try {
    text = decodeUtf8(line);
  } catch {
    throw invalid(`line ${number}`, 'is not valid UTF-8');
  }
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid(`line ${number}`, `is not JSON: ${(error as SyntaxError).message}`);
  }
}

/**
 * Returns the object on a line, or undefined for a blank one. Throws INVALID, with the line's number, for anything else,
 * and for an object that lacks a field or has one that is not known.
 */
export function parseLineFields(
  line: Uint8Array,
  number: number,
  fields: { readonly needed?: readonly string[]; isKnown(name: string): boolean },
): Fields | undefined {
  const value = parseJsonLine(line, number);
  if (value === undefined) return undefined;
  const where = `line ${number}`;
  if (!isFields(value)) throw invalid(where, 'is not a JSON object');
  const missing = fields.needed?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) throw invalid(where, `has no "${missing}"`);
  const unknown = Object.keys(value).find((name) => !fields.isKnown(name));
  if (unknown === undefined) return value;
  throw invalid(where, `has an unknown field ${JSON.stringify(unknown)}`);
}

/** Runs a check of one line, so that its error can name the line. */
export function namingLine<T>(number: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isQuipuError(error)) throw error;
    const message = `line ${number}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
}

export interface Output extends AsyncDisposable {
  write(data: string | Uint8Array): Promise<void>;
  /** Without this call, a file that was begun is removed again. */
  complete(): Promise<void>;
}

export interface OutGiven {
  readonly out?: string;
  readonly force?: boolean;
}

/** The options of every command that writes to a file. */
export const OUT_OPTIONS: readonly OptionOf<OutGiven>[] = [
  option('--out <file>', 'write to this file; it appears when it is complete'),
  option('--force', 'with --out: replace an existing file'),
];

/**
 * Standard output, or a file that appears under its name only when it is complete and on disk. EXISTS for a file that is
 * there, unless `force` is given.
 */
export async function openOutput(
  shell: QuipuShell,
  { out: path, force = false }: OutGiven,
): Promise<Output> {
  if (path === undefined || path === '-') {
    return {
      write: (data) => shell.out(data),
      complete: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const target = resolve(shell.cwd, path);
  const partial = `${target}.${randomBytes(4).toString('hex')}.partial`;
  const inFileWords = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw isQuipuError(error) ? error : toFileError(error, path);
    }
  };
  // Looked at first: an export may take an hour.
  if (!force && existsSync(target)) throw fileExists(path);
  const file = await inFileWords(() => open(partial, 'wx'));
  return {
    // `writeFile` on a handle goes on from its position and does not stop at a short write.
    write: (data) => inFileWords(() => file.writeFile(data)),
    complete: () =>
      inFileWords(async () => {
        await file.sync();
        await file.close();
        if (force) await rename(partial, target);
        else await moveToNew(partial, target, path);
      }),
    [Symbol.asyncDispose]: async () => {
      await file.close();
      await rm(partial, { force: true });
    },
  };
}

/** A link fails where a rename would take the place of a file that came meanwhile. */
async function moveToNew(partial: string, target: string, path: string): Promise<void> {
  try {
    await link(partial, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw fileExists(path);
    // The file system has no links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    await rename(partial, target);
    return;
  }
  await rm(partial);
}

function fileExists(path: string): QuipuError<'EXISTS'> {
  return exists('file', path, `there is a file ${path}; add --force to replace it`);
}
