import { basename, join } from 'node:path';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError, notFound, tooLarge, messageOf } from '../../base/errors.ts';
import { checkString } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { agentIdOf, artifactIdOf, compareAgentIds } from '../artifacts/artifacts.ts';
import { findChanged, readSums } from '../files/file-sums.ts';
import { isErrno, readBytes, toFileError, withOpen } from '../files/write-file.ts';
import { checkLineRange, readLineRange, type LineRange } from './read-range.ts';

/** The largest text that is resolved whole. */
export const RESOLVE_BYTES_MAX = 8_388_608;

/** A folder of artifacts that addresses may lead to. */
export interface UrlSource {
  readonly io: Io;
  readonly folder: string;
  /** The source exists without a folder: a session that leaves no trace. */
  readonly inMemory: boolean;
}

export interface Resource {
  readonly url: string;
  readonly contentType: 'text/plain' | 'text/markdown' | 'application/json';
  readonly content: string;
  /** The size of the stored text, in bytes. */
  readonly size: number;
  readonly notes: readonly string[];
}

/**
 * Returns the text at `artifact://<id>` or `agent://<id>`, from the first source that has it. Names are looked up in
 * listings and never made from the address, so an address leads nowhere else.
 */
export async function resolveUrl(
  sources: readonly UrlSource[],
  url: string,
  range: LineRange = {},
): Promise<Resource> {
  const wanted = parseInternalUrl(url);
  checkLineRange(range);
  const isRange = range.offset !== undefined || range.limit !== undefined;
  const { kind, id, query } = wanted;
  if (query !== undefined && isRange) {
    throw wrong('Cannot combine query extraction with offset/limit', 'offset');
  }
  const steps = query === undefined ? undefined : parseQuery(query);
  const found = await findText(sources, wanted);
  const name = `${KINDS[kind].name} ${id}`;
  const text = await readText(found, { name, range: isRange ? range : undefined });
  const notes = [...found.notes, ...text.notes];
  if (steps === undefined) return { url, contentType: KINDS[kind].contentType, ...text, notes };
  const value = extract(parseJson(id, text.content), steps) ?? null;
  const content = JSON.stringify(value, null, 2);
  const said = [`Extracted: ${query}`, ...notes];
  return { url, contentType: 'application/json', content, size: text.size, notes: said };
}

/** The texts that addresses lead to: `artifact://<number>` and `agent://<id>`. */
const KINDS = {
  artifact: {
    name: 'Artifact',
    all: 'artifacts',
    contentType: 'text/plain',
    idOf: artifactIdOf,
    compare: (a: string, b: string): number => Number(a) - Number(b),
    missing: (id: string, available: string) =>
      notFound('artifact', id, `Artifact ${id} not found. Available: ${available}`),
  },
  agent: {
    name: 'Output',
    all: 'agent outputs',
    contentType: 'text/markdown',
    idOf: agentIdOf,
    compare: compareAgentIds,
    missing: (id: string, available: string) =>
      notFound('agent output', id, `Not found: ${id}\nAvailable: ${available}`),
  },
} as const;

interface Found {
  readonly io: Io;
  readonly path: string;
  readonly notes: readonly string[];
}

interface Listing {
  readonly source: UrlSource;
  readonly names: readonly string[];
}

async function findText(sources: readonly UrlSource[], { kind, id }: InternalUrl): Promise<Found> {
  const { all, idOf, compare, missing } = KINDS[kind];
  const listings = await listSources(sources, all);
  for (const { source, names } of listings) {
    const matching = names.filter((name) => idOf(name) === id);
    for (const [at, name] of matching.entries()) {
      const path = join(source.folder, name);
      const found = (await source.io.stat(path))?.kind;
      if (found === 'folder' && kind === 'artifact') {
        throw wrong(`Artifact ${id} resolved to a directory, not a file`);
      }
      // Links lead elsewhere, and are not followed.
      if (found !== 'file') continue;
      const others = matching.length - 1 - at;
      const notes = others > 0 ? [`${others + 1} files have the id ${id}; this is ${name}`] : [];
      return { io: source.io, path, notes };
    }
  }
  const ids = listings.flatMap(({ names }) => names.flatMap((name) => idOf(name) ?? []));
  throw missing(id, [...new Set(ids)].toSorted(compare).join(', ') || 'none');
}

async function listSources(sources: readonly UrlSource[], what: string): Promise<Listing[]> {
  if (sources.length === 0) {
    throw notFound('session', '', `No session - ${what} unavailable`);
  }
  const listings: Listing[] = [];
  for (const source of sources) {
    try {
      listings.push({ source, names: await source.io.list(source.folder) });
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw toFileError(error, source.folder);
      if (source.inMemory) listings.push({ source, names: [] });
    }
  }
  if (listings.length > 0) return listings;
  throw notFound('folder', sources[0]?.folder ?? '', 'No artifacts directory found');
}

async function readText(
  { io, path }: Found,
  { name, range }: { name: string; range: LineRange | undefined },
): Promise<{ content: string; size: number; notes: readonly string[] }> {
  return withOpen(io, path, 'read', async (file) => {
    const size = await file.size();
    if (range !== undefined) {
      // A large text is not read as a whole for a few of its lines.
      const notes = size > RESOLVE_BYTES_MAX ? [] : await changesOf(io, path, file);
      return { content: await readLineRange(file, range), size, notes };
    }
    if (size > RESOLVE_BYTES_MAX) {
      const message = `${name} is ${size} bytes; full resolution is limited to ${RESOLVE_BYTES_MAX} bytes. Read it in parts with offset and limit.`;
      throw tooLarge(name, RESOLVE_BYTES_MAX, size, message);
    }
    const content = (await readBytes(file, size)).toString('utf8');
    return { content, size, notes: await changesOf(io, path, file) };
  });
}

async function changesOf(io: Io, path: string, file: IoFile): Promise<string[]> {
  const changed = await findChanged(file, await readSums(io, path), { from: 0, to: Infinity });
  return changed.map(
    ({ from, to }) => `${basename(path)} changed after it was written, in bytes ${from} to ${to}`,
  );
}

function parseJson(id: string, text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch (error) {
    const reason = messageOf(error);
    const message = `Output ${id} is not valid JSON: ${reason}`;
    throw new QuipuError('INVALID', message, { what: 'agent output' }, { cause: error });
  }
}

interface InternalUrl {
  readonly kind: 'artifact' | 'agent';
  readonly id: string;
  /** Of an agent's output. Undefined for the whole text. */
  readonly query?: string;
}

/** Parses an address, whether or not its text exists. */
export function parseInternalUrl(url: string): InternalUrl {
  checkString(url, 'url');
  const [, scheme = '', rest = ''] = /^([^:/]*):(?:\/\/)?([^]*)$/.exec(url) ?? ['', url];
  if (url.startsWith('artifact://')) return parseArtifact(rest);
  if (url.startsWith('agent://')) return parseAgent(rest);
  throw wrong(`Unknown protocol: ${scheme}://\nSupported: agent://, artifact://`);
}

function parseArtifact(rest: string): InternalUrl {
  if (rest === '') throw wrong('artifact:// URL requires a numeric ID: artifact://0');
  const id = decodePercent(rest);
  if (!/^\d+$/.test(id) || id.endsWith('\n')) {
    throw wrong(`artifact:// ID must be numeric, got: ${id}`);
  }
  return { kind: 'artifact', id };
}

function parseAgent(rest: string): InternalUrl {
  const mark = rest.indexOf('?');
  const before = mark === -1 ? rest : rest.slice(0, mark);
  const slash = before.indexOf('/');
  const id = decodePercent(slash === -1 ? before : before.slice(0, slash));
  if (id === '') throw wrong('agent:// URL requires an output ID: agent://<id>');
  const path = slash === -1 ? '' : before.slice(slash + 1);
  const asked = mark === -1 ? '' : queryParameter(rest.slice(mark + 1));
  if (path !== '' && asked !== '') {
    throw wrong('agent:// URL cannot combine path extraction with ?q=');
  }
  if (asked !== '') return { kind: 'agent', id, query: asked };
  return path === '' ? { kind: 'agent', id } : { kind: 'agent', id, query: pathToQuery(path) };
}

function queryParameter(text: string): string {
  const pair = text.split('&').find((part) => part.startsWith('q='));
  return pair === undefined ? '' : decodePercent(pair.slice(2).replaceAll('+', ' '));
}

function wrong(message: string, what = 'url'): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', message, { what });
}

/** A step into a document. A name made of digits is also a place in an array. */
type Step =
  | { readonly kind: 'name'; readonly key: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number };

/** Parses `.foo.bar[0]['a.b']`. Dots only separate, and nothing or a single dot is the whole document. */
export function parseQuery(query: string): Step[] {
  const steps: Step[] = [];
  const text = query.trim();
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '.') {
      at++;
    } else if (char === '[') {
      const { step, end } = parseBracket(text, at, query);
      steps.push(step);
      at = end;
    } else {
      const [name] = /^[A-Za-z0-9_-]+/.exec(text.slice(at)) ?? [];
      if (name === undefined) throw wrongQuery(`unexpected token '${char}'`, query);
      steps.push({ kind: 'name', key: name });
      at += name.length;
    }
  }
  return steps;
}

function parseBracket(text: string, open: number, query: string): { step: Step; end: number } {
  const inside = /^\[\s*/.exec(text.slice(open))?.[0].length ?? 1;
  const start = open + inside;
  const quote = text[start];
  if (quote === '"' || quote === "'") {
    const [whole, body] =
      (quote === '"' ? /^"((?:\\.|[^"\\])*)"\s*/ : /^'((?:\\.|[^'\\])*)'\s*/).exec(
        text.slice(start),
      ) ?? [];
    if (whole === undefined || body === undefined) throw wrongQuery('missing ]', query);
    const end = start + whole.length;
    if (end >= text.length) throw wrongQuery('missing ]', query);
    if (text[end] !== ']') throw wrongQuery(`unexpected token '${text[end]}'`, query);
    return { step: { kind: 'key', key: body.replaceAll(/\\(["'\\])/g, '$1') }, end: end + 1 };
  }
  const close = text.indexOf(']', start);
  if (close === -1) throw wrongQuery('missing ]', query);
  const body = text.slice(start, close).trim();
  if (body === '') throw wrongQuery('empty []', query);
  const step: Step = /^\d+$/.test(body)
    ? { kind: 'index', index: Number(body) }
    : { kind: 'key', key: body };
  return { step, end: close + 1 };
}

/** Returns the value at the end of the steps, or undefined. Only the document's own properties are visible. */
export function extract(document: unknown, steps: readonly Step[]): unknown {
  let value = document;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Array.isArray(value)
      ? intoArray(value, step)
      : intoObject(value as Record<string, unknown>, step);
  }
  return value;
}

function intoArray(array: readonly unknown[], step: Step): unknown {
  if (step.kind === 'index') return array[step.index];
  return step.kind === 'name' && /^\d+$/.test(step.key) ? array[Number(step.key)] : undefined;
}

function intoObject(object: Record<string, unknown>, step: Step): unknown {
  if (step.kind === 'index' || !Object.hasOwn(object, step.key)) return undefined;
  return object[step.key];
}

/** Turns `/foo/bar/0` into a query. */
export function pathToQuery(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePercent)
    .map((part) => {
      if (/^\d+$/.test(part)) return `[${part}]`;
      if (/^[A-Za-z0-9_-]+$/.test(part)) return `.${part}`;
      return `['${part.replaceAll(/[\\']/g, String.raw`\$&`)}']`;
    })
    .join('');
}

/** Returns the text itself when its encoding is malformed. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The text is not an encoding: somebody meant the percent sign.
    return text;
  }
}

function wrongQuery(problem: string, query: string): QuipuError<'INVALID'> {
  return wrong(`Invalid query: ${problem} in ${query}`, 'query');
}
