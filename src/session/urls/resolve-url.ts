import { basename, join } from 'node:path';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError, notFound, tooLarge, messageOf } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { agentIdOf, artifactIdOf, compareAgentIds } from '../artifacts/artifact-ids.ts';
import { findChanged, readSums } from '../files/file-sums.ts';
import { isErrno, readBytes, toFileError } from '../files/write-file.ts';
import { parseInternalUrl, extract, parseQuery } from './parse-url.ts';
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
  if (wanted.kind === 'artifact') {
    const found = await findArtifact(sources, wanted.id);
    const name = `Artifact ${wanted.id}`;
    const text = await readText(found, { name, range: isRange ? range : undefined });
    return { url, contentType: 'text/plain', ...text, notes: [...found.notes, ...text.notes] };
  }
  const { id, query } = wanted;
  if (query !== undefined && isRange) {
    const message = 'Cannot combine query extraction with offset/limit';
    throw new QuipuError('INVALID', message, { what: 'offset' });
  }
  const steps = query === undefined ? [] : parseQuery(query);
  const found = await findAgentOutput(sources, id);
  const text = await readText(found, { name: `Output ${id}`, range: isRange ? range : undefined });
  if (query === undefined) return { url, contentType: 'text/markdown', ...text };
  const value = extract(parseJson(id, text.content), steps) ?? null;
  const content = JSON.stringify(value, null, 2);
  const notes = [`Extracted: ${query}`, ...text.notes];
  return { url, contentType: 'application/json', content, size: text.size, notes };
}

interface Found {
  readonly io: Io;
  readonly path: string;
  readonly notes: readonly string[];
}

interface Listing {
  readonly source: UrlSource;
  readonly names: readonly string[];
}

async function findArtifact(sources: readonly UrlSource[], id: string): Promise<Found> {
  const listings = await listSources(sources, 'artifacts');
  for (const { source, names } of listings) {
    const matching = names.filter((name) => artifactIdOf(name) === id);
    for (const [at, name] of matching.entries()) {
      const path = join(source.folder, name);
      const kind = (await source.io.stat(path))?.kind;
      if (kind === 'folder') {
        const message = `Artifact ${id} resolved to a directory, not a file`;
        throw new QuipuError('INVALID', message, { what: 'url' });
      }
      // Links lead elsewhere, and are not followed.
      if (kind !== 'file') continue;
      const others = matching.length - 1 - at;
      const notes = others > 0 ? [`${others + 1} files have the id ${id}; this is ${name}`] : [];
      return { io: source.io, path, notes };
    }
  }
  const ids = listings.flatMap(({ names }) => names.map(artifactIdOf));
  const known = [...new Set(ids.filter((other) => other !== undefined))];
  const available = known.toSorted((a, b) => Number(a) - Number(b)).join(', ') || 'none';
  throw notFound('artifact', id, `Artifact ${id} not found. Available: ${available}`);
}

async function findAgentOutput(sources: readonly UrlSource[], id: string): Promise<Found> {
  const listings = await listSources(sources, 'agent outputs');
  for (const { source, names } of listings) {
    const name = names.find((other) => agentIdOf(other) === id);
    if (name === undefined) continue;
    const path = join(source.folder, name);
    if ((await source.io.stat(path))?.kind === 'file') return { io: source.io, path, notes: [] };
  }
  const ids = listings.flatMap(({ names }) => names.map(agentIdOf));
  const known = [...new Set(ids.filter((other) => other !== undefined))];
  const available = known.toSorted(compareAgentIds).join(', ') || 'none';
  throw notFound('agent output', id, `Not found: ${id}\nAvailable: ${available}`);
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
  const file = await io.open(path, 'read');
  try {
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
  } finally {
    await file.close();
  }
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
